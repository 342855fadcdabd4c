package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// screen is stderr with a live line below whatever else is written: a write takes
// the line away, and it comes back behind it. Without a live line it only passes
// on what is written.
type screen struct {
	clock stream.Clock

	mu   sync.Mutex
	w    io.Writer
	line string // shown now, "" if none is

	records int64 // at the last rate
	at      stream.ProcTime
	smooth  float64 // records/s
}

func newScreen(e *Env) *screen { return &screen{w: e.Stderr, clock: e.Clock} }

// eraseLine moves to the line's beginning and clears it.
const eraseLine = "\r\x1b[K"

// Write implements io.Writer for whole lines.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == "" {
		return s.w.Write(b)
	}
	var all bytes.Buffer // in one write, so that nothing flickers
	all.WriteString(eraseLine)
	all.Write(b)
	all.WriteString(s.line)
	if _, err := s.w.Write(all.Bytes()); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (s *screen) printf(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// show puts a line in the place of the one that is shown.
func (s *screen) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line = line; line != "" {
		fmt.Fprint(s.w, eraseLine, line)
	}
}

// hide takes the live line away.
func (s *screen) hide() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line != "" {
		fmt.Fprint(s.w, eraseLine)
	}
	s.line = ""
}

// rateMemory is the weight of the past in the rate that is shown.
const rateMemory = 0.7

// begin is when records begin to be counted.
func (s *screen) begin() { s.at = s.clock.Now() }

// rate takes how many records there have been so far and returns a smoothed rate
// per second.
func (s *screen) rate(records int64) float64 {
	now := s.clock.Now()
	if now == s.at {
		return s.smooth
	}
	present := float64(records-s.records) * 1000 / float64(now-s.at)
	if s.records == 0 {
		s.smooth = present
	}
	s.smooth = rateMemory*s.smooth + (1-rateMemory)*present
	s.records, s.at = records, now
	return s.smooth
}

// liveLine tells how far a job is, cut to a terminal's width.
func liveLine(name string, p runtime.Progress, rate float64, columns int) string {
	parts := []string{name, grouped(int64(rate)) + " records/s", shownBytes(p.Bytes)}
	if p.BytesTotal > 0 {
		parts[2] = fmt.Sprintf("%d%% of %s", min(100, p.Bytes*100/p.BytesTotal), shownBytes(p.BytesTotal))
	}
	parts = append(parts, "watermark "+shownTime(p.Watermark), grouped(p.Firings)+" firings", grouped(p.Late)+" late")
	if p.Skipped > 0 {
		parts = append(parts, grouped(p.Skipped)+" skipped")
	}
	return cut(strings.Join(parts, "  "), columns-1)
}

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	if most < 1 || utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
