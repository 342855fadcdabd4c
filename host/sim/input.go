package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// newSourceLog draws a source's input. Times grow from record to record of a split by less than a second, less a disorder
// that the watermark allows for.
func newSourceLog(w *world, s *job.Source, spec *Spec, random *rand.Rand) *sourceLog {
	l := &sourceLog{world: w, name: s.Name, file: s.Connector.File != nil}
	splits := 1 + random.IntN(spec.SplitsMax)
	if l.file {
		splits = 1
	}
	g := generated{random: random, spec: spec, source: s, last: make([]stream.EventTime, splits)}
	for i := range splits {
		split := &splitLog{appears: stream.MinTime, there: true}
		if !l.file {
			split.name = fmt.Sprintf("%s/%d", s.Name, i)
		}
		if i > 0 && random.IntN(2) == 0 {
			split.appears, split.there = stream.EventTime(random.IntN(10*spec.Records)), false
			g.last[i] = split.appears
		}
		l.splits = append(l.splits, split)
	}
	for range spec.Records {
		i := random.IntN(splits)
		l.splits[i].records = append(l.splits[i].records, g.next(i, l.splits[i].end(), l.file))
	}
	return l
}

// generated draws records.
type generated struct {
	random *rand.Rand
	spec   *Spec
	source *job.Source
	last   []stream.EventTime // of each split
}

// stepMax is how much later than the one before a record is at most, in ms.
const stepMax = 20

func (g *generated) next(split int, offset int64, bytes bool) sourceRecord {
	g.last[split] += stream.EventTime(g.random.IntN(stepMax))
	at := g.last[split]
	if w := g.source.Watermark; w != nil && w.MaxOutOfOrderness > 0 {
		at -= stream.EventTime(g.random.Int64N(w.MaxOutOfOrderness))
	}
	// Times are even and gaps of sessions odd where there are several splits. A record at the very end of a session extends
	// it, or comes when it is over and is not late all the same: it would hang on the watermark.
	at &^= 1
	if g.random.IntN(100) < g.spec.Late {
		at -= stream.EventTime(g.random.IntN(500))
	}
	if !bytes && g.random.IntN(10) == 0 {
		offset += 1 + g.random.Int64N(3) // a gap, as compaction and transactions leave
	}
	r := sourceRecord{line: g.line(at), offset: offset, time: at}
	if g.random.IntN(100) < g.spec.Faulty {
		r.line = [...]string{"", "no json\n", "\n", `{"k": 5}` + "\n"}[g.random.IntN(4)]
	}
	return r
}

// line writes a record by the source's schema.
func (g *generated) line(at stream.EventTime) string {
	var fields []string
	for _, f := range g.source.Schema.Fields() {
		value := "null"
		switch {
		case f.Name == "t":
			value = fmt.Sprint(at)
		case (f.Name == "k" || f.Name == "user") && g.random.IntN(30) > 0:
			value = fmt.Sprintf(`"key %d"`, g.random.IntN(12))
		case f.Name == "gap":
			value = fmt.Sprint(10 + g.random.IntN(100))
		case f.Name != "k" && f.Name != "user" && g.random.IntN(15) > 0:
			value = fmt.Sprint(g.random.IntN(100))
		}
		fields = append(fields, fmt.Sprintf("%q:%s", f.Name, value))
	}
	return "{" + strings.Join(fields, ",") + "}\n"
}
