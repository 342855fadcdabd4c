package stream_test

import (
	"fmt"
	"strings"
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
// FLINK-18934, FLINK-38477; the flush rule is that of Flink 2.3, or where the name
// says so that of FLINK-40475.
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
		"flush whichever fell idle last (FLINK-7728, FLINK-40475)": {3, []valveStep{
			{2, "w", 5, none, ""}, {0, "w", 7, none, ""}, {1, "w", 7, 5, ""},
			{2, "idle", 0, 7, ""}, {0, "w", 30, none, ""}, {1, "w", 10, 10, ""},
			{2, "active", 0, none, ""}, {0, "idle", 0, none, ""}, {1, "idle", 0, none, ""}, {2, "idle", 0, 30, "idle"},
			{1, "active", 0, none, "active"}, {1, "w", 29, none, ""}, {1, "w", 31, 31, ""},
		}},
		"the least is looked for again (FLINK-40475)": {3, []valveStep{
			{0, "w", 10, none, ""}, {1, "w", 7, none, ""}, {2, "idle", 0, 7, ""},
			{2, "active", 0, none, ""}, {0, "idle", 0, none, ""}, {1, "idle", 0, none, ""}, {0, "active", 0, 10, ""},
		}},
		"one of two is idle (FLINK-18934)": {2, []valveStep{
			{0, "w", 10, none, ""}, {1, "idle", 0, 10, ""}, {0, "w", 20, 20, ""},
		}},
		"a channel has ended, the others are idle (FLINK-38477)": {2, []valveStep{
			{0, "w", 10, none, ""}, {1, "w", 7, 7, ""}, {0, "w", stream.MaxTime, none, ""}, {1, "idle", 0, stream.MaxTime, ""},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			v := stream.NewValve(c.channels, stream.CombineRules{FlushWhenAllIdle: strings.Contains(name, "FLINK-40475")})
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

// told writes an answer in the order in which it goes out.
func told(out stream.ValveOutput, isIdle bool) string {
	var words []string
	if out.StatusChange && !isIdle {
		words = append(words, "active")
	}
	if out.Advanced {
		words = append(words, fmt.Sprint(out.Watermark))
	}
	if out.StatusChange && isIdle {
		words = append(words, "idle")
	}
	return strings.Join(words, " ")
}

// TestCombined: each step is the input, its valve's watermark (none: it has not
// risen), whether it is idle, and what must come out.
func TestCombined(t *testing.T) {
	type step struct {
		input  int
		at     stream.EventTime
		isIdle bool
		want   string
	}
	const end = stream.MaxTime
	for name, c := range map[string]struct {
		rules  stream.CombineRules
		inputs int
		steps  []step
	}{
		"the idle one of two does not count (FLINK-18934)": {stream.CombineRules{}, 2, []step{
			{0, 10, false, ""}, {1, none, true, "10"}, {0, 20, false, "20"}, {1, 15, false, ""}, {0, 30, false, ""}, {1, 25, false, "25"},
		}},
		"all idle: the greatest (FLINK-38454)": {stream.CombineRules{}, 2, []step{
			{0, 5, false, ""}, {1, 4, false, "4"}, {0, none, true, ""}, {1, none, true, "5 idle"}, {1, none, false, "active"},
		}},
		"all idle: it stays (before FLINK-38454)": {stream.CombineRules{StayWhenAllIdle: true}, 2, []step{
			{0, 5, false, ""}, {1, 4, false, "4"}, {0, none, true, ""}, {1, none, true, "idle"}, {0, none, false, "active 5"},
		}},
		"one has ended, the other is idle (FLINK-38477)": {stream.CombineRules{}, 2, []step{
			{0, 5, false, ""}, {1, 4, false, "4"}, {0, end, false, ""}, {1, none, true, "max"},
		}},
		"max: nothing waits": {stream.CombineRules{Max: true}, 3, []step{
			{0, 5, false, "5"}, {1, 4, false, ""}, {2, 9, false, "9"}, {0, 7, true, ""}, {1, 10, false, "10"},
			{1, none, true, ""}, {2, none, true, "idle"}, {0, 11, false, "active 11"},
		}},
		"max: the end of one is not the end of all": {stream.CombineRules{Max: true}, 2, []step{
			{0, 5, false, "5"}, {0, end, false, ""}, {1, 4, false, ""}, {1, 6, false, "6"}, {1, end, false, "max"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			combined := stream.NewCombined(c.inputs, c.rules)
			for i, s := range c.steps {
				got := told(combined.Apply(s.input, stream.ValveOutput{Watermark: s.at, Advanced: s.at != none}, s.isIdle))
				if got != s.want {
					t.Fatalf("step %d: %q, want %q", i, got, s.want)
				}
			}
		})
	}
}

// TestCombinedLeast: what combine: min would have put out is known under max too.
func TestCombinedLeast(t *testing.T) {
	c := stream.NewCombined(2, stream.CombineRules{Max: true})
	for _, s := range []struct {
		input    int
		at, want stream.EventTime
	}{{0, 100, none}, {1, 30, 30}, {1, 40, 40}, {0, 110, 40}, {1, 200, 110}} {
		c.Apply(s.input, stream.ValveOutput{Watermark: s.at, Advanced: true}, false)
		if got := c.Least(); got != s.want {
			t.Fatalf("after %v: %v, want %v", s, got, s.want)
		}
	}
}
