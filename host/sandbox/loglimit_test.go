package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
)

// TestLogLimit: so many lines a minute; that more come is told once, and how many did
// when the minute is over.
func TestLogLimit(t *testing.T) {
	now := int64(5_000)
	var got []string
	l := NewLogLimit(3, func() int64 { return now }, func(level int, message string) { got = append(got, fmt.Sprintf("%d %s", level, message)) })
	want := func(what string, lines ...string) {
		t.Helper()
		if !slices.EqualFunc(got, lines, strings.HasPrefix) {
			t.Errorf("%s: logged %q, want %q", what, got, lines)
		}
		got = nil
	}
	dropping := fmt.Sprintf("%d further lines of this minute are dropped: the function may log 3; limits: {log: …}", abi.LogWarn)
	for i := range 1000 {
		l.Log(abi.LogInfo, fmt.Sprint("line ", i))
	}
	want("the first minute", "1 line 0", "1 line 1", "1 line 2", dropping)
	now += minuteMillis - 1
	l.Log(abi.LogInfo, "x")
	want("its end")
	now++
	l.Log(abi.LogError, "y")
	want("the next minute", fmt.Sprintf("%d 998 lines of the function were dropped", abi.LogWarn), "3 y")
	now += 10 * minuteMillis
	l.Log(abi.LogInfo, "z")
	want("after a while", "1 z")
	now -= 20 * minuteMillis // a clock that is set back does not silence it
	for range 4 {
		l.Log(abi.LogInfo, "a")
	}
	want("after the clock was set back", "1 a", "1 a", "1 a", dropping)
	l.Close()
	l.Close()
	want("the end", fmt.Sprintf("%d 1 lines of the function were dropped", abi.LogWarn))
}
