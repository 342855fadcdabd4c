package kill

import (
	"math"
	"slices"
)

// Result is what a window comes to: what the functions of testdata/wasm called delays put out.
type Result struct {
	Key   string `json:"k"`
	Count int64  `json:"flights"`
	Sum   int64  `json:"delay_sum"`
	Max   int64  `json:"delay_max"`
	Start int64  `json:"window_start"`
	End   int64  `json:"window_end"`
}

func (r *Result) add(x Record) {
	if v := int64(x.Value); r.Count == 0 || v > r.Max {
		r.Max = v
	}
	r.Count++
	r.Sum += int64(x.Value)
}

// EndOfTime is the watermark of input that has ended.
const EndOfTime = math.MaxInt64

// FinalWatermark is the watermark behind records whose partitions do not end.
func FinalWatermark(partitions [][]Record) int64 {
	least := int64(EndOfTime)
	for _, records := range partitions {
		latest := int64(math.MinInt64)
		for _, r := range records {
			latest = max(latest, r.Time)
		}
		if len(records) == 0 {
			return math.MinInt64 // nothing is known of it
		}
		least = min(least, latest-OutOfOrderness.Milliseconds()-1)
	}
	return least
}

// Tumbling returns the results of tumbling windows that a watermark lets fire.
func Tumbling(partitions [][]Record, size, watermark int64) []Result {
	type window struct {
		key   string
		start int64
	}
	windows := map[window]*Result{}
	for _, records := range partitions {
		for _, r := range records {
			at := window{r.Key, r.Time - r.Time%size} // times are not negative here
			if windows[at] == nil {
				windows[at] = &Result{Key: r.Key, Start: at.start, End: at.start + size}
			}
			windows[at].add(r)
		}
	}
	var results []Result
	for _, r := range windows {
		if r.End-1 <= watermark {
			results = append(results, *r)
		}
	}
	return results
}

// Sessions returns the results of session windows that a watermark lets fire. Two records that are exactly a gap apart are
// of one session.
func Sessions(partitions [][]Record, gap, watermark int64) []Result {
	byKey := map[string][]Record{}
	for _, records := range partitions {
		for _, r := range records {
			byKey[r.Key] = append(byKey[r.Key], r)
		}
	}
	var results []Result
	for key, records := range byKey {
		slices.SortFunc(records, func(a, b Record) int { return int(a.Time - b.Time) })
		var session Result
		for i, r := range records {
			if i > 0 && r.Time > session.End {
				results = append(results, session)
				session = Result{}
			}
			if session.Count == 0 {
				session = Result{Key: key, Start: r.Time}
			}
			session.add(r)
			session.End = r.Time + gap
		}
		results = append(results, session)
	}
	return slices.DeleteFunc(results, func(r Result) bool { return r.End-1 > watermark })
}
