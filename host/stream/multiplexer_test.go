package stream_test

import (
	"testing"

	"github.com/wasmstream/wasmstream/host/stream"
)

// splitStep is news of one split, and what the source puts out at that.
type splitStep struct {
	split int
	what  string // "add", "remove", "w", "idle", "active"
	at    stream.EventTime
	want  string
}

// TestMultiplexer has case C41 (Flink's WatermarkOutputMultiplexerTest) and the
// bugs that the names say.
func TestMultiplexer(t *testing.T) {
	for name, c := range map[string]struct {
		rules stream.CombineRules
		steps []splitStep
	}{
		"the least counts, an idle split does not": {stream.CombineRules{}, []splitStep{
			{0, "add", 0, ""}, {1, "add", 0, ""}, {0, "w", 2, ""}, {1, "w", 5, "2"}, {0, "idle", 0, "5"}, {0, "w", 3, ""}, {1, "w", 9, ""}, {0, "w", 7, "7"},
		}},
		"a watermark clears idleness": {stream.CombineRules{}, []splitStep{
			{0, "add", 0, ""}, {1, "add", 0, ""}, {0, "w", 5, ""}, {1, "idle", 0, "5"}, {1, "w", 6, ""}, {0, "w", 8, "6"},
		}},
		"all idle: the greatest (FLINK-38454)": {stream.CombineRules{}, []splitStep{
			{0, "add", 0, ""}, {1, "add", 0, ""}, {0, "w", 5, ""}, {1, "w", 4, "4"}, {0, "idle", 0, ""}, {1, "idle", 0, "5 idle"},
		}},
		"all idle: it stays (before FLINK-38454)": {stream.CombineRules{StayWhenAllIdle: true}, []splitStep{
			{0, "add", 0, ""}, {1, "add", 0, ""}, {0, "w", 5, ""}, {1, "w", 4, "4"}, {0, "idle", 0, ""}, {1, "idle", 0, "idle"},
		}},
		"one idle split of two: the source is active (FLINK-28975)": {stream.CombineRules{}, []splitStep{
			{0, "add", 0, ""}, {1, "add", 0, ""}, {1, "idle", 0, ""}, {0, "idle", 0, "idle"}, {1, "active", 0, ""}, {1, "w", 1, "active 1"},
		}},
		"active with the first watermark that rises": {stream.CombineRules{}, []splitStep{
			{0, "add", 0, ""}, {0, "w", 5, "5"}, {0, "idle", 0, "idle"}, {0, "w", 5, ""}, {0, "w", 6, "active 6"},
		}},
		"without splits it is not idle (FLINK-23011, FLINK-23767, FLINK-39586)": {stream.CombineRules{}, []splitStep{
			{0, "add", 0, ""}, {0, "w", 5, "5"}, {0, "idle", 0, "idle"}, {0, "remove", 0, "active"},
		}},
		"nor at the end of time (FLINK-8001)": {stream.CombineRules{}, []splitStep{
			{0, "add", 0, ""}, {0, "w", 5, "5"}, {0, "remove", 0, ""}, {0, "add", 0, ""}, {0, "w", 4, ""}, {0, "w", 6, "6"},
		}},
		"splits are there before the first watermark (FLINK-26018, FLINK-32828)": {stream.CombineRules{}, []splitStep{
			{0, "add", 0, ""}, {1, "add", 0, ""}, {0, "w", 100, ""}, {1, "w", 10, "10"},
		}},
		"a split that goes holds nothing back": {stream.CombineRules{}, []splitStep{
			{0, "add", 0, ""}, {1, "add", 0, ""}, {0, "w", 100, ""}, {1, "remove", 0, "100"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := stream.NewMultiplexer(c.rules)
			for i, s := range c.steps {
				var out stream.ValveOutput
				switch s.what {
				case "add":
					if got := m.Add(); got != s.split {
						t.Fatalf("step %d: handle %d", i, got)
					}
				case "remove":
					out = m.Remove(s.split)
				case "w":
					out = m.Advance(s.split, s.at)
				case "idle":
					out = m.SetIdle(s.split)
				case "active":
					out = m.SetActive(s.split)
				}
				if got := told(out, m.Idle()); got != s.want {
					t.Fatalf("step %d: %q, want %q", i, got, s.want)
				}
			}
		})
	}
}

// TestIdleTimer: the timeout is 30; probes say whether the source is idle.
func TestIdleTimer(t *testing.T) {
	type step struct {
		now  stream.ProcTime
		what string // "probe", "record", "hold", "go on"
		idle bool
	}
	for name, steps := range map[string][]step{
		"the first quiet probe starts the clock, and more than the timeout must pass": {
			{100, "record", false}, {200, "probe", false}, {300, "probe", false}, {330, "probe", false}, {331, "probe", true}, {400, "probe", true},
		},
		"without any record": {{200, "probe", false}, {231, "probe", true}},
		"a record counts at the next probe": {
			{200, "probe", false}, {231, "probe", true}, {240, "record", false}, {250, "probe", false}, {300, "probe", false}, {330, "probe", false}, {331, "probe", true},
		},
		"held back (FLINK-35886, FLINK-36751)": {
			{200, "probe", false}, {210, "hold", false}, {900, "probe", false}, {1000, "hold", false}, {1000, "go on", false},
			{1020, "probe", false}, {1021, "probe", true},
		},
		"held twice": {
			{200, "probe", false}, {210, "hold", false}, {310, "go on", false}, {320, "hold", false}, {420, "go on", false},
			{430, "probe", false}, {431, "probe", true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			timer := stream.NewIdleTimer(30)
			for i, s := range steps {
				switch s.what {
				case "record":
					timer.Activity()
				case "hold", "go on":
					timer.Hold(s.what == "hold", s.now)
				default:
					if got := timer.Probe(s.now); got != s.idle {
						t.Fatalf("step %d: idle %v", i, got)
					}
				}
			}
		})
	}
	never := stream.NewIdleTimer(0)
	if never.Probe(0) || never.Probe(1<<62) {
		t.Error("idle without a timeout")
	}
}
