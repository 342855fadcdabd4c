package checkpoint_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/stream"
)

// course plays events, one a line as "TIME EVENT", and writes behind each what there is to do.
func course(t *testing.T, o checkpoint.ScheduleOptions, events string) string {
	t.Helper()
	s, err := checkpoint.NewSchedule(o, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(events) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " =>")
		var now stream.ProcTime
		var event string
		var epoch int64
		if n, _ := fmt.Sscan(line, &now, &event, &epoch); n == 0 {
			continue
		}
		switch event {
		case "started":
			s.Started(now, epoch, 3)
		case "part":
			s.PartDone(epoch)
		case "completed":
			s.Completed(now, epoch)
		case "failed":
			s.Failed(now, epoch, "no room")
		case "demand":
			s.Demand()
		case "":
		default:
			t.Fatalf("no event %q", event)
		}
		d := s.Next(now)
		fmt.Fprintf(&b, "%s => %s", line, d.Do)
		if d.Epoch != 0 {
			fmt.Fprintf(&b, " %d", d.Epoch)
		}
		switch {
		case d.At == checkpoint.Never:
			b.WriteString(" for ever")
		case d.At != 0:
			fmt.Fprintf(&b, " until %d", d.At)
		}
		if d.Reason != "" {
			fmt.Fprintf(&b, ": %s", d.Reason)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestSchedule(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name    string
		options checkpoint.ScheduleOptions
		course  string
	}{
		{"interval from start to start", checkpoint.ScheduleOptions{Interval: 100 * ms}, `
			0 => wait until 100
			99 => wait until 100
			100 => start
			103 started 1 => wait until 600103
			120 completed 1 => wait until 203
			203 => start
		`},
		{"longer than the interval", checkpoint.ScheduleOptions{Interval: 100 * ms}, `
			100 started 1 => wait until 600100
			350 => wait until 600100
			350 completed 1 => start
		`},
		{"pause", checkpoint.ScheduleOptions{Interval: 100 * ms, MinPause: 80 * ms}, `
			100 started 1 => wait until 600100
			150 completed 1 => wait until 230
			230 => start
			230 started 2 => wait until 600230
			240 completed 2 => wait until 330
			330 started 3 => wait until 600330
			600 completed 3 => wait until 680
			680 => start
		`},
		{"timeout", checkpoint.ScheduleOptions{Interval: 100 * ms, Timeout: 50 * ms, TolerableFailures: 1}, `
			100 started 1 => wait until 150
			110 part 1 => wait until 150
			149 part 1 => wait until 150
			150 => abort 1: checkpoint 1 was not complete after 50ms: 2 of 3 parts were done
			151 failed 1 => wait until 200
			200 started 2 => wait until 250
			210 part 1 => wait until 250
			251 completed 1 => abort 2: checkpoint 2 was not complete after 50ms: 0 of 3 parts were done
			251 failed 2 => fail job: 2 checkpoints in a row came to nothing, and 1 are tolerable; the last: no room
			999 => fail job: 2 checkpoints in a row came to nothing, and 1 are tolerable; the last: no room
		`},
		{"a clock at the end of time", checkpoint.ScheduleOptions{Interval: 100 * ms}, `
			9223372036854775807 => start
			9223372036854775807 started 1 => wait for ever
			9223372036854775807 completed 1 => wait for ever
		`},
		{"none tolerable, as in Flink", checkpoint.ScheduleOptions{Interval: 100 * ms}, `
			100 started 1 => wait until 600100
			110 failed 1 => fail job: 1 checkpoints in a row came to nothing, and 0 are tolerable; the last: no room
		`},
		{"any number tolerable", checkpoint.ScheduleOptions{Interval: 100 * ms, TolerableFailures: -1}, `
			100 started 1 => wait until 600100
			110 failed 1 => wait until 200
			200 started 2 => wait until 600200
			210 failed 2 => wait until 300
		`},
		{"a success forgives", checkpoint.ScheduleOptions{Interval: 100 * ms, TolerableFailures: 1}, `
			100 started 1 => wait until 600100
			110 failed 1 => wait until 200
			200 started 2 => wait until 600200
			210 completed 2 => wait until 300
			300 started 3 => wait until 600300
			310 failed 3 => wait until 400
		`},
		{"news of others", checkpoint.ScheduleOptions{Interval: 100 * ms}, `
			50 completed 0 => wait until 100
			50 failed 7 => wait until 100
			100 started 8 => wait until 600100
			110 failed 7 => wait until 600100
			120 completed 9 => wait until 600100
		`},
		{"on demand", checkpoint.ScheduleOptions{MinPause: 1000 * ms}, `
			0 => wait for ever
			10 demand => start
			10 started 1 => wait until 600010
			11 demand => wait until 600010
			12 completed 1 => start
			12 started 2 => wait until 600012
			13 completed 2 => wait for ever
		`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want strings.Builder
			for line := range strings.Lines(c.course) {
				if line = strings.TrimSpace(line); line != "" {
					want.WriteString(line + "\n")
				}
			}
			if d := cmp.Diff(want.String(), course(t, c.options, c.course)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	_, err := checkpoint.NewSchedule(checkpoint.ScheduleOptions{Interval: -1, MinPause: time.Microsecond, Timeout: time.Second}, 0)
	if err == nil || !strings.Contains(err.Error(), "interval") || !strings.Contains(err.Error(), "min-pause") || strings.Contains(err.Error(), "timeout") {
		t.Errorf("schedule: %v", err)
	}
	_, err = checkpoint.NewRestarts(checkpoint.RestartOptions{
		Strategy: "sometimes", Attempts: -1, Delay: -1, InitialDelay: -1, MaxDelay: -2, Multiplier: 0.5, ResetAfter: -1, Jitter: 2,
		Failures: -1, Interval: -1,
	}, nil)
	for _, field := range []string{
		"strategy", "attempts", "\ndelay", "initial-delay", "max-delay", "multiplier", "reset-after", "jitter", "failures", "interval",
	} {
		if err == nil || !strings.Contains(err.Error(), field+":") {
			t.Errorf("restart: %s is not in %q", strings.TrimSpace(field), err)
		}
	}
}

// TestRestarts: times of failures in ms, and after each the delay until the restart, or -1. Those of exponential-delay
// are from Flink's rule: max(initial, min(initial * multiplier^attempt * (1 ± jitter), max)).
func TestRestarts(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, c := range []struct {
		name     string
		options  checkpoint.RestartOptions
		random   float64
		failures []stream.ProcTime
		want     []int64
	}{
		{"none", checkpoint.RestartOptions{Strategy: checkpoint.RestartNone}, 0, []stream.ProcTime{5}, []int64{-1}},
		{
			"fixed", checkpoint.RestartOptions{Strategy: checkpoint.RestartFixedDelay, Attempts: 3, Delay: 2 * s}, 0,
			[]stream.ProcTime{0, 10_000, 1_000_000_000, 2_000_000_000}, []int64{2000, 2000, 2000, -1},
		},
		{
			"fixed by default", checkpoint.RestartOptions{Strategy: checkpoint.RestartFixedDelay}, 0,
			[]stream.ProcTime{0, 10_000}, []int64{1000, -1},
		},
		{
			"fails again while it waits", checkpoint.RestartOptions{Strategy: checkpoint.RestartFixedDelay, Delay: 2 * s}, 0,
			[]stream.ProcTime{100, 600, 2100, 2101}, []int64{2000, 1500, 0, -1},
		},
		{
			"exponential by default, jitter in the middle", checkpoint.RestartOptions{}, 0.5,
			[]stream.ProcTime{0, 10_000, 20_000, 30_000, 40_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000},
			[]int64{1000, 1500, 2250, 3375, 5062, 7593, 11390, 17085, 25628, 38443, 57665, 60000, 60000},
		},
		{
			"exponential, jitter down: never below the initial delay", checkpoint.RestartOptions{}, 0,
			[]stream.ProcTime{0, 10_000, 20_000}, []int64{1000, 1350, 2025},
		},
		{
			"exponential, reset after an hour from the last restart", checkpoint.RestartOptions{Jitter: -1}, 0,
			[]stream.ProcTime{0, 10_000, 10_000 + 1_500 + 3_599_999, 3_700_000, 3_700_000 + 3375 + 3_600_000},
			[]int64{1000, 1500, 2250, 3375, 1000},
		},
		{
			"exponential, limited", checkpoint.RestartOptions{
				Attempts: 2, InitialDelay: 100 * ms, MaxDelay: 150 * ms, Multiplier: 10, Jitter: -1, ResetAfter: 5 * s,
			}, 0,
			[]stream.ProcTime{0, 200, 6000, 7000, 7200}, []int64{100, 150, 100, 150, -1},
		},
		{
			"failure rate", checkpoint.RestartOptions{
				Strategy: checkpoint.RestartFailureRate, Failures: 2, Interval: 10 * s, Delay: 1 * ms,
			}, 0,
			[]stream.ProcTime{0, 9_000, 10_001, 19_001, 19_500}, []int64{1, 1, 1, 1, -1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := checkpoint.NewRestarts(c.options, func() float64 { return c.random })
			if err != nil {
				t.Fatal(err)
			}
			for i, now := range c.failures {
				delay, ok := r.Failed(now)
				got := delay.Milliseconds()
				if !ok {
					got = -1
				}
				if got != c.want[i] {
					t.Errorf("failure %d, at %d: %d, not %d", i+1, now, got, c.want[i])
				}
			}
		})
	}
}
