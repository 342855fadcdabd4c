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

func (s *screen) printf(format string, args ...any) {
	fmt.Fprint(s, printableLines(fmt.Sprintf(format, args...)))
}

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

// nameMin is to how many characters the live line shortens a job's name at most.
const nameMin = 8

// liveLine tells how far a job is. Where a terminal is too narrow for all of it, the
// watermark goes first, then the size of the input, then the end of the job's name.
func liveLine(name string, p runtime.Progress, rate float64, columns int) string {
	size, counts := shownBytes(p.Bytes), []string{grouped(p.Firings) + " firings", grouped(p.Late) + " late"}
	short := size
	if p.BytesTotal > 0 {
		short = fmt.Sprintf("%d%%", min(100, p.Bytes*100/p.BytesTotal))
		size = short + " of " + shownBytes(p.BytesTotal)
	}
	if p.Skipped > 0 {
		counts = append(counts, grouped(p.Skipped)+" skipped")
	}
	told, most := strings.Join(counts, "  "), columns-1
	perSecond := grouped(int64(rate)) + " records/s"
	line := strings.Join([]string{name, perSecond, size, told, "watermark " + shownTime(p.Watermark)}, "  ")
	for _, s := range []string{size, short} {
		if most < 1 || utf8.RuneCountInString(line) <= most {
			return line
		}
		line = strings.Join([]string{name, perSecond, s, told}, "  ")
	}
	over, length := utf8.RuneCountInString(line)-most, utf8.RuneCountInString(name)
	if over <= 0 || length <= nameMin {
		return cut(line, most)
	}
	return cut(cut(name, max(nameMin, length-over))+line[len(name):], most)
}

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	if most < 1 || utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
