package runtime_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// manySessionsJob has sessions that stay open until the input ends. The second step's
// trigger is a function, which is asked about many records at once.
const manySessionsJob = `
version: 1
name: crash
parallelism: 2
modules: {m: {file: windows-c.wasm}}
sources:
  a:
    file: {path: in, format: json}
    schema: {k: STRING, v: BIGINT, g: BIGINT, t: TIMESTAMP(3)}
    event-time: t
    watermark: {max-out-of-orderness: 100d, emit: on-event}
steps:
  sessions:
    from: a
    key-by: [k]
    window: {session: {gap-field: g}}
    aggregate: {n: count, v: sum(v)}
  asked:
    from: a
    key-by: [k]
    window: {session: {gap-field: g}, trigger: {wasm: m.at-end}}
    on-fault: skip
    aggregate: {n: count, v: sum(v)}
sinks:
  sessions: {from: sessions, file: {path: sessions, format: json}}
  asked: {from: asked, file: {path: asked, format: json}}
`

// sessionRecord is a record and its gap.
type sessionRecord struct {
	key     string
	v, t, g int64
}

// manySessions opens thousands of sessions of two keys in any order, has some grow at
// either end, and then has single records bridge hundreds of them.
func manySessions() (records []sessionRecord) {
	const sessions = 1500
	r := rand.New(rand.NewPCG(4, 4))
	for _, round := range []struct{ n, shift, g int64 }{{sessions, 50, 20}, {sessions / 3, 40, 20}, {sessions / 3, 60, 25}, {20, 45, 8_000}, {200, 52, 20}} {
		for _, i := range r.Perm(sessions)[:round.n] {
			for _, key := range []string{"many", "others", "few"} {
				at := int64(i)
				if key == "few" {
					at %= 3
				}
				records = append(records, sessionRecord{key, r.Int64N(100), 100*at + round.shift, round.g - at%7})
			}
		}
	}
	return records
}

// manySessionsWant is the union of the records' spans, by key.
func manySessionsWant(records []sessionRecord) (lines []string) {
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b sessionRecord) int { return int(a.t - b.t) })
	type session struct{ n, v, start, end int64 }
	open := map[string]session{}
	put := func(key string, s session) {
		lines = append(lines, fmt.Sprintf(`{"k":%q,"n":%d,"v":%d,"window_start":%d,"window_end":%d}`+"\n", key, s.n, s.v, s.start, s.end))
	}
	for _, r := range records {
		s, ok := open[r.key]
		if ok && r.t > s.end {
			put(r.key, s)
			ok = false
		}
		if !ok {
			s = session{start: r.t}
		}
		open[r.key] = session{s.n + 1, s.v + r.v, s.start, max(s.end, r.t+r.g)}
	}
	for key, s := range open {
		put(key, s)
	}
	slices.Sort(lines)
	return lines
}

// sessionSource reads records, and asks for checkpoints on the way.
type sessionSource struct {
	crashSource
	records []sessionRecord
	resumed *int64 // the greatest position that it was opened at
}

func (s *sessionSource) Open(at []connector.SplitPosition) error {
	err := s.crashSource.Open(at)
	*s.resumed = max(*s.resumed, s.next)
	return err
}

func (s *sessionSource) Read(c *connector.Chunk) error {
	if err := s.world.died(); err != nil {
		return err
	}
	c.Start = connector.Position{Offset: s.next, Record: s.next}
	for ; s.next < int64(len(s.records)) && len(c.Ends) < s.piece; s.next++ {
		r := s.records[s.next]
		c.Data = fmt.Appendf(c.Data, `{"k":%q,"v":%d,"g":%d,"t":%d}`+"\n", r.key, r.v, r.g, r.t)
		c.Ends = append(c.Ends, uint32(len(c.Data)))
	}
	c.Next = connector.Position{Offset: s.next, Record: s.next}
	if len(c.Ends) == 0 {
		return io.EOF
	}
	s.ask(s.next)
	return nil
}

// TestManySessionsOfAKey: with thousands of sessions of a key, merged by records that
// bridge hundreds, each is put out once, though the job dies four times and goes on with
// another number of tasks.
func TestManySessionsOfAKey(t *testing.T) {
	records := manySessions()
	lines := manySessionsWant(records)
	for seed := range uint64(3) {
		w, r, resumed := newWorld(seed), rand.New(rand.NewPCG(seed, 8)), int64(0)
		const lives = 5
		for i := range int64(lives) {
			last := i == lives-1
			l := manySessionsLife(t, w, r.Uint64(), records, &resumed)
			if l.death = (i + 1) * int64(len(records)) / lives; last {
				l.death = math.MaxInt64
			}
			if err := w.live(t, spread(t, r, manySessionsJob), &l.life); last {
				must(t, err)
			}
			w.end(i%2 == 0)
		}
		w.check(t, map[string][]string{"sessions": lines, "asked": lines})
		if resumed < int64(len(records))/2 {
			t.Errorf("the job went on at record %d of %d at most", resumed, len(records))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// dyingLife is a run of the job that ends before it reads a record.
type dyingLife struct {
	life
	death int64
}

func manySessionsLife(t *testing.T, w *world, order uint64, records []sessionRecord, resumed *int64) *dyingLife {
	l := &dyingLife{life: life{order: order, piece: 40}}
	ask := func(next int64) {
		if next >= l.death {
			w.die()
		} else if next%400 < int64(l.piece) {
			must(t, l.job.Checkpoint(func(error) {}))
		}
	}
	l.adapt = func(c *runtime.Config) {
		c.Source = func(s *job.Source) (connector.Source, error) {
			return &sessionSource{records: records, resumed: resumed, crashSource: crashSource{world: w, name: s.Name, piece: l.piece, ask: ask}}, nil
		}
	}
	return l
}
