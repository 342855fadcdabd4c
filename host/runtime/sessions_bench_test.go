package runtime_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
)

// openSessionsText counts by key in sessions that all stay open: none is over before the
// input ends.
const openSessionsText = `version: 1
name: sessions
sources:
  in:
    file: {path: in, format: json}
    schema: {auction: BIGINT, at: TIMESTAMP(3)}
    event-time: at
    watermark: {max-out-of-orderness: 1000d, emit: on-event}
steps:
  result: {from: in, key-by: [auction], window: {session: {gap: 10s}}, aggregate: {n: count}}
sinks:
  out: {from: result, file: {path: out, format: json}}
`

// openSessions makes records of some keys in turn, whose times go round the sessions of
// each key, each time one millisecond further.
type openSessions struct {
	eventSource
	keys, sessions, records int64
}

// sessionStep lies between the beginnings of two sessions of a key, more than the gap and
// what they grow by.
const sessionStep = 60_000

func (s *openSessions) Read(c *connector.Chunk) error {
	if s.id >= s.records {
		return io.EOF
	}
	for to := min(s.id+chunkEvents, s.records); s.id < to; s.id++ {
		round, key := s.id/s.keys, s.id%s.keys
		s.put(c, event{key: key, at: round%s.sessions*sessionStep + round/s.sessions})
	}
	return nil
}

// want is one row for each key and session.
func (s *openSessions) want() (sum rowSum) {
	counts, last := map[[2]int64]int64{}, map[[2]int64]int64{}
	for id := range s.records {
		at := [2]int64{id % s.keys, id / s.keys % s.sessions}
		counts[at]++
		last[at] = id / s.keys / s.sessions
	}
	for at, n := range counts {
		sum.add(at[0], n, at[1]*sessionStep, at[1]*sessionStep+last[at]+10_000)
	}
	return sum
}

// BenchmarkOpenSessions is what a record costs by how many sessions its key has open.
func BenchmarkOpenSessions(b *testing.B) {
	for _, sessions := range []int64{1, 4, 16, 17, 100, 3000} {
		b.Run(fmt.Sprint(sessions), func(b *testing.B) {
			in := openSessions{keys: 50, sessions: sessions, records: 400_000}
			plan, want := parsePlan(b, openSessionsText, "."), in.want()
			before := userTime(b)
			records := int64(0)
			for b.Loop() {
				runOpenSessions(b, plan, in, want)
				records += in.records
			}
			b.ReportMetric(float64(records)/(userTime(b)-before).Seconds(), "records/user-s")
		})
	}
}

func runOpenSessions(t testing.TB, plan *job.Job, in openSessions, want rowSum) {
	t.Helper()
	runSummed(t, "open sessions", plan, want, func(*job.Source) connector.Source { return &in })
}
