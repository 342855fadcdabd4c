package reference

import (
	"maps"
	"slices"
)

// waiting is a record of an interval join that may still find partners.
type waiting struct {
	record  record
	matched *bool // shared between the copies that one run works on
}

// intervalStep pairs the records of two sides by their times. Inner as Flink's
// IntervalJoinOperator; the outer ones add the rows that never matched.
type intervalStep struct {
	*step
	history map[string][]waiting // by key, in order of arrival
	inputs  [2]schema
	keyed   [2][]int
	outputs outputs
	pair    pair
	lost    int64
	ended   int // inputs
	doubts  *doubts
}

func newIntervalStep(s *step, inputs [2]schema, d *doubts) *intervalStep {
	j := &intervalStep{step: s, inputs: inputs, history: map[string][]waiting{}, pair: newPair(), doubts: d}
	j.keyed = [2][]int{inputs[0].indexes(s.keys[0]), inputs[1].indexes(s.keys[1])}
	j.outputs = outputs{"": {schema: schema{}.plus("left_", inputs[0]).plus("right_", inputs[1])}}
	for side, name := range s.late {
		if name != "" {
			j.outputs[name] = &outlet{schema: inputs[side]}
		}
	}
	return j
}

// side is one of the two inputs.
type side struct {
	*intervalStep
	number int
}

func (s side) record(r record) { s.take(r) }

func (s side) watermark(t int64) {
	s.pair.idle[s.number] = false
	s.pair.watermarks[s.number] = max(s.pair.watermarks[s.number], t)
	s.advance()
}

// status: the watermark that the status leads to goes before it.
func (s side) status(idle bool) {
	was := s.pair.idle == [2]bool{true, true}
	s.pair.idle[s.number] = idle
	s.advance()
	if is := s.pair.idle == [2]bool{true, true}; is != was {
		s.outputs.status(is)
	}
}

func (s side) end() {
	if s.ended++; s.ended == 2 {
		s.outputs.end()
	}
}

// take pairs a record with all that wait on the other side. One whose time is the
// watermark is not late (FLINK-33524).
func (j *intervalStep) take(r record) {
	if r.time == minTime {
		panic(failure("timestamp")) // caught where the script's action began
	}
	if r.time < j.pair.out {
		if name := j.late[r.side]; name != "" {
			j.outputs[name].record(r)
		} else {
			j.lost++
		}
		return
	}
	key := r.row.pick(j.keyed[r.side]).text()
	mine := waiting{r, new(bool)}
	for _, other := range j.history[key] {
		pair := [2]record{r, other.record}
		if r.side == 1 {
			pair = [2]record{other.record, r}
		}
		if other.record.side == r.side || !j.near(pair[0].time, pair[1].time) {
			continue
		}
		*mine.matched, *other.matched = true, true
		j.send(pair[0].row, pair[1].row, max(r.time, other.record.time))
	}
	j.history[key] = append(j.history[key], mine)
}

func (j *intervalStep) near(left, right int64) bool {
	return right >= saturating(left, j.bounds[0]) && right <= saturating(left, j.bounds[1])
}

func (j *intervalStep) send(left, right row, t int64) {
	j.outputs[""].record(record{row: slices.Concat(left, right), time: t})
}

// forgotten is the watermark at which a record can find no partner any more: a
// record of the other side is late then, or too far away. A watermark that is
// there already does nothing: the next one does.
func (j *intervalStep) forgotten(r record) int64 {
	reach := j.bounds[1]
	if r.side == 1 {
		reach = -j.bounds[0]
	}
	return saturating(r.time, max(0, reach))
}

// advance forgets records, and puts those out that never matched, with nulls
// beside them.
func (j *intervalStep) advance() {
	t, rose := j.pair.combined()
	if !rose {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(j.history)) {
		var stay []waiting
		for _, w := range j.history[key] {
			if j.forgotten(w.record) > t {
				stay = append(stay, w)
				continue
			}
			if !*w.matched {
				j.pad(w.record)
			}
		}
		j.history[key] = stay
	}
	if t != maxTime {
		t = saturating(t, -j.patience())
	}
	j.outputs.watermark(t)
}

// patience is how long watermarks are held back: a row that is put out because it
// found no partner is as old as that, and must not be late behind the join. Flink
// SQL delays them likewise.
func (j *intervalStep) patience() int64 {
	longest := int64(0)
	if j.joinType == "left" || j.joinType == "full" {
		longest = max(longest, j.bounds[1])
	}
	if j.joinType == "right" || j.joinType == "full" {
		longest = max(longest, -j.bounds[0])
	}
	return longest
}

func (j *intervalStep) pad(r record) {
	switch {
	case r.side == 0 && (j.joinType == "left" || j.joinType == "full"):
		j.send(r.row, make(row, len(j.inputs[1].names)), r.time)
	case r.side == 1 && (j.joinType == "right" || j.joinType == "full"):
		j.send(make(row, len(j.inputs[0].names)), r.row, r.time)
	}
}

func (j *intervalStep) clock(int64) {}

func (j *intervalStep) dropped() int64 { return j.lost }

func (j *intervalStep) outlets() outputs { return j.outputs }

func (j *intervalStep) save() any { return copyWaiting(j.history) }

func (j *intervalStep) load(saved any) { j.history = copyWaiting(saved.(map[string][]waiting)) }

func copyWaiting(history map[string][]waiting) map[string][]waiting {
	out := map[string][]waiting{}
	for key, list := range history {
		for _, w := range list {
			matched := *w.matched
			out[key] = append(out[key], waiting{w.record, &matched})
		}
	}
	return out
}
