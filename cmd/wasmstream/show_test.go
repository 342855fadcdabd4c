package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// handClock is moved by hand.
type handClock struct{ now stream.ProcTime }

func (c *handClock) Now() stream.ProcTime          { return c.now }
func (c *handClock) Alarm(stream.ProcTime, func()) {}

// terminal keeps what a terminal of one width would show: it knows lines, carriage
// returns and the erasing of a line's rest.
type terminal struct {
	lines  []string
	column int
}

func (t *terminal) Write(b []byte) (int, error) {
	rest := string(b)
	for rest != "" {
		if len(t.lines) == 0 {
			t.lines = []string{""}
		}
		line := &t.lines[len(t.lines)-1]
		switch {
		case strings.HasPrefix(rest, "\x1b[K"):
			*line, rest = string([]rune(*line)[:t.column]), rest[3:]
			continue
		case rest[0] == '\r':
			t.column = 0
		case rest[0] == '\n':
			t.lines, t.column = append(t.lines, ""), 0
		default:
			r := []rune(rest)[0]
			*line = string([]rune(*line)[:t.column]) + string(r)
			t.column++
			rest = rest[len(string(r)):]
			continue
		}
		rest = rest[1:]
	}
	return len(b), nil
}

func (t *terminal) check(test *testing.T, want ...string) {
	test.Helper()
	if diff := cmp.Diff(want, t.lines); diff != "" {
		test.Errorf("the terminal shows (-want +got):\n%s", diff)
	}
}

func TestTheLiveLineStaysBelowEverythingElse(t *testing.T) {
	shown := new(terminal)
	s := newScreen(&Env{Stderr: shown, Clock: new(handClock)})
	s.printf("before\n")
	s.show("a long line")
	shown.check(t, "before", "a long line")
	s.show("short")
	shown.check(t, "before", "short")
	s.printf("warning: %s\n", "something")
	shown.check(t, "before", "warning: something", "short")
	s.hide()
	shown.check(t, "before", "warning: something", "")
	s.hide()
	s.printf("after\n")
	shown.check(t, "before", "warning: something", "after", "")
}

func TestLiveLine(t *testing.T) {
	p := runtime.Progress{Records: 20000, Bytes: 1 << 20, BytesTotal: 3 << 20, Firings: 1234567, Late: 12, Watermark: 978310800000}
	for _, c := range []struct {
		edit    func(*runtime.Progress)
		columns int
		want    string
	}{
		{func(*runtime.Progress) {}, 200, "job  1,500,000 records/s  33% of 3.1 MB  1,234,567 firings  12 late  watermark 2001-01-01 01:00:00"},
		{func(p *runtime.Progress) { p.Skipped = 3 }, 200, "job  1,500,000 records/s  33% of 3.1 MB  1,234,567 firings  12 late  3 skipped  watermark 2001-01-01 01:00:00"},
		{func(p *runtime.Progress) { p.BytesTotal, p.Watermark = 0, stream.MinTime }, 200, "job  1,500,000 records/s  1.0 MB  1,234,567 firings  12 late  watermark none yet"},
		{func(p *runtime.Progress) { p.Bytes, p.Watermark = 4<<20, stream.MaxTime }, 200, "job  1,500,000 records/s  100% of 3.1 MB  1,234,567 firings  12 late  watermark end"},
		{func(p *runtime.Progress) { p.Watermark = stream.MaxTime }, 84, "job  1,500,000 records/s  33% of 3.1 MB  1,234,567 firings  12 late  watermark end"},
		{func(*runtime.Progress) {}, 80, "job  1,500,000 records/s  33% of 3.1 MB  1,234,567 firings  12 late"},
		{func(p *runtime.Progress) { p.Late, p.Skipped = 1234567, 3 }, 80, "job  1,500,000 records/s  33%  1,234,567 firings  1,234,567 late  3 skipped"},
		{func(p *runtime.Progress) { p.Firings = 1e9 }, 58, "job  1,500,000 records/s  33%  1,000,000,000 firings  12…"},
		{func(*runtime.Progress) {}, 31, "job  1,500,000 records/s  33%…"},
		{func(*runtime.Progress) {}, 0, "job  1,500,000 records/s  33% of 3.1 MB  1,234,567 firings  12 late  watermark 2001-01-01 01:00:00"},
	} {
		q := p
		c.edit(&q)
		if got := liveLine("job", q, 1_500_000, c.columns); got != c.want {
			t.Errorf("%d columns: %q, want %q", c.columns, got, c.want)
		}
	}
}

// TestLiveLineOfALongName: it is the name that is shortened, not the counts.
func TestLiveLineOfALongName(t *testing.T) {
	p := runtime.Progress{Bytes: 1, BytesTotal: 3, Firings: 123_456_789, Late: 12_345_678}
	const want = "delays-of-fli…  12,345,678 records/s  33%  123,456,789 firings  12,345,678 late"
	if got := liveLine("delays-of-flights-by-hour", p, 12_345_678, 80); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRateIsSmooth(t *testing.T) {
	clock := &handClock{now: 1000}
	s := newScreen(&Env{Clock: clock})
	s.begin()
	var got []float64
	for _, records := range []int64{100, 100, 200, 200} {
		clock.now += 500
		got = append(got, s.rate(records), s.rate(records))
	}
	if diff := cmp.Diff([]float64{200, 200, 140, 140, 158, 158, 110.6, 110.6}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestShown(t *testing.T) {
	for want, got := range map[string]string{
		"0": grouped(0), "999": grouped(999), "1,000": grouped(1000), "-1,234,567": grouped(-1234567), "-9,223,372,036,854,775,808": grouped(-1 << 63),
		"999 B": shownBytes(999), "1.0 kB": shownBytes(1000), "140 MB": shownBytes(140025360), "9.2 EB": shownBytes(1<<63 - 1),
		"5 ms": shownDuration(0.005), "1.50 s": shownDuration(1.5), "12.3 s": shownDuration(12.34), "2m5s": shownDuration(125),
		"1969-12-31 23:59:59": shownTime(-1), "abc…": cut("abcdef", 4), "äöü": cut("äöü", 3),
		"1h": milliseconds(3_600_000), "1h30m": milliseconds(5_400_000), "1m30s": milliseconds(90_000), "500ms": milliseconds(500), "10s": milliseconds(10_000),
		"640 KiB": binaryBytes(640 << 10), "64 MiB": binaryBytes(64 << 20),
		"a<1b>[2Jb c<202e>d": oneLine("a\x1b[2Jb\nc\u202ed"), "a<1b>\nb": printableLines("a\x1b\nb"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTableIsAligned(t *testing.T) {
	table := newTable(textColumn, numberColumn, textColumn)
	table.add("käse", "1", "x")
	table.add("a", "1,000", "")
	var b bytes.Buffer
	table.write(&b)
	if want := "  käse      1  x\n  a     1,000\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestEndsOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	for _, c := range []struct {
		lines, width int
		head, tail   int
	}{
		{0, 3, 0, 0}, {1, 3, 1, 0}, {10, 3, 10, 0}, {11, 3, 5, 5}, {100_000, 3, 5, 5},
		{20, 20_000, 3, 3}, // few fit into what is read
		{20, 100_000, 0, 0},
	} {
		var b strings.Builder
		for i := range c.lines {
			fmt.Fprintf(&b, "%0*d\n", c.width, i)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		head, tail, err := ends(file, int64(c.lines))
		if err != nil || len(head) != c.head || len(tail) != c.tail {
			t.Errorf("%d lines of %d bytes: %d at the head, %d at the tail, %v", c.lines, c.width, len(head), len(tail), err)
		}
		if c.tail > 0 && !bytes.HasSuffix(tail[c.tail-1], fmt.Appendf(nil, "%d\n", c.lines-1)) {
			t.Errorf("%d lines: the last is not the last", c.lines)
		}
	}
}

func TestCells(t *testing.T) {
	fields := []stream.Field{
		{Name: "name", Type: stream.Type{Kind: stream.String}},
		{Name: "n", Type: stream.Type{Kind: stream.BigInt}},
		{Name: "at", Type: stream.Type{Kind: stream.Timestamp, Precision: 3}},
		{Name: "window_start", Type: stream.Type{Kind: stream.BigInt}},
	}
	rows := [][]string{
		cells([]byte(`{"name":"a\u001bb","n":-5,"at":"2001-02-16T17:55:00.000Z","window_start":978310800000}`), fields),
		cells([]byte(`{"name":null,"n":null,"at":"2001-02-16T17:55:00.000Z","window_start":-9223372036854775808}`), fields),
	}
	shortenTimes(rows, fields)
	want := [][]string{
		{"a<1b>b", "-5", "2001-02-16 17:55", "2001-01-01 01:00:00"},
		{"null", "null", "2001-02-16 17:55", "none yet"},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlainLog(t *testing.T) {
	var b bytes.Buffer
	log := newLog(&b, true, "")
	log.Info("not worth it")
	log.With("module", "m").Warn("record\nskipped", "error", errors.New("bad\x1b[2J"), "source", "s")
	log.Error("no")
	if want := "warning: record skipped: bad<1b>[2J (module m, source s)\nerror: no\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	if newLog(&b, true, "info").Enabled(t.Context(), slog.LevelDebug) || !newLog(&b, false, "debug").Enabled(t.Context(), slog.LevelDebug) {
		t.Error("the level of the flag does not hold")
	}
}

func TestTheLogNamesTheLineOfARecord(t *testing.T) {
	var b bytes.Buffer
	plan := &job.Job{Sources: []*job.Source{{Name: "s", Connector: job.Connector{File: &job.FileConnector{Path: "in.ndjson"}}}}}
	log := slog.New(&locatingHandler{newLog(&b, true, "").Handler(), plan})
	log.With("x", 1).WithGroup("").Warn("record skipped", "error", &runtime.RecordError{Source: "s", Record: 16, Err: errors.New("bad")})
	if want := "warning: record skipped: in.ndjson:17: bad (x 1)\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestExitCode(t *testing.T) {
	wrapped := fmt.Errorf("about: %w", errors.Join(errors.New("x"), &exitError{exitRefused, errors.New("y")}))
	for _, c := range []struct {
		err  error
		want int
	}{{nil, exitOK}, {errors.New("x"), exitFailed}, {&exitError{exitBadInput, nil}, exitBadInput}, {wrapped, exitRefused}} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}
