package stream_test

import (
	"testing"

	"github.com/wasmstream/wasmstream/host/stream"
)

// A valve's history: watermarks of channels, changes of status, and what must
// come out (none: nothing).
type valveStep struct {
	channel int
	what    string // "w": watermark, "idle", "active"
	at      stream.EventTime
	want    stream.EventTime
	status  string // of the whole, if it changed
}

const none = stream.MinTime

// TestValve has case C40 (Flink's StatusWatermarkValveTest) and FLINK-7721,
// FLINK-18934; the flush rule is that of Flink 2.3.
func TestValve(t *testing.T) {
	for name, c := range map[string]struct {
		channels int
		steps    []valveStep
	}{
		"three channels": {3, []valveStep{
			{0, "w", 10, none, ""}, {1, "w", 7, none, ""}, {2, "w", 3, 3, ""},
			{2, "idle", 0, 7, ""}, {2, "active", 0, none, ""},
			{2, "w", 5, none, ""}, {2, "w", 9, none, ""}, {1, "w", 12, 9, ""},
		}},
		"flush when all are idle": {3, []valveStep{
			{0, "w", 10, none, ""}, {1, "w", 5, none, ""}, {2, "w", 3, 3, ""},
			{0, "idle", 0, none, ""}, {1, "idle", 0, none, ""}, {2, "idle", 0, 10, "idle"},
		}},
		"no flush when another fell idle last": {3, []valveStep{
			{2, "w", 5, none, ""}, {0, "w", 7, none, ""}, {1, "w", 7, 5, ""},
			{2, "idle", 0, 7, ""}, {0, "w", 30, none, ""}, {1, "w", 10, 10, ""},
			{2, "active", 0, none, ""}, {0, "idle", 0, none, ""}, {1, "idle", 0, none, ""}, {2, "idle", 0, none, "idle"},
		}},
		"an idle channel that held nothing back changes nothing": {3, []valveStep{ // checked against Flink 2.3
			{2, "w", 5, none, ""}, {0, "w", 30, none, ""}, {1, "w", 10, 5, ""},
			{2, "idle", 0, 10, ""}, {2, "active", 0, none, ""}, {0, "idle", 0, none, ""}, {1, "idle", 0, none, ""}, {2, "idle", 0, none, "idle"},
			{0, "active", 0, none, "active"}, {2, "active", 0, none, ""}, {2, "idle", 0, none, ""},
		}},
		"a channel that is behind does not count": {2, []valveStep{
			{0, "w", 7, none, ""}, {1, "w", 10, 7, ""},
			{0, "idle", 0, 10, ""}, {0, "active", 0, none, ""}, {0, "w", 9, none, ""}, {0, "idle", 0, none, ""},
		}},
		"all active and unaligned (FLINK-7721)": {3, []valveStep{
			{0, "w", 10, none, ""}, {1, "w", 7, none, ""}, {2, "idle", 0, 7, ""},
			{2, "active", 0, none, ""}, {0, "idle", 0, none, ""}, {1, "idle", 0, none, ""},
		}},
		"an idle channel's watermark is ignored": {1, []valveStep{
			{0, "w", 25, 25, ""}, {0, "w", 25, none, ""}, {0, "idle", 0, none, "idle"},
			{0, "w", 50, none, ""}, {0, "active", 0, none, "active"}, {0, "w", 50, 50, ""},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			v := stream.NewValve(c.channels)
			for i, s := range c.steps {
				var out stream.ValveOutput
				switch s.what {
				case "w":
					out = v.Advance(s.channel, s.at)
				case "idle":
					out = v.SetIdle(s.channel)
				case "active":
					out = v.SetActive(s.channel)
				}
				got, status := none, ""
				if out.Advanced {
					got = out.Watermark
				}
				if out.StatusChange {
					status = map[bool]string{true: "idle", false: "active"}[v.Idle()]
				}
				if got != s.want || status != s.status {
					t.Fatalf("step %d: watermark %v, status %q; want %v, %q", i, got, status, s.want, s.status)
				}
			}
		})
	}
}
