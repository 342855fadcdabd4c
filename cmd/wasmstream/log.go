package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// newLog makes the log of a run: plain lines for people on a terminal, slog's text
// for everything else.
func newLog(w io.Writer, terminal bool, level string) *slog.Logger {
	least := slog.LevelInfo
	if terminal {
		least = slog.LevelWarn
	}
	if level != "" {
		_ = least.UnmarshalText([]byte(level)) // the flag takes the levels' names only
	}
	if terminal {
		return slog.New(&plainHandler{w: w, least: least, mu: new(sync.Mutex)})
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: least}))
}

// plainHandler writes "warning: message: error (key value, …)".
type plainHandler struct {
	w     io.Writer
	least slog.Level
	attrs []slog.Attr
	mu    *sync.Mutex // guards w
}

// Enabled implements slog.Handler.
func (h *plainHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.least }

// Handle implements slog.Handler.
func (h *plainHandler) Handle(_ context.Context, r slog.Record) error {
	var b bytes.Buffer
	level := strings.ToLower(r.Level.String())
	if r.Level == slog.LevelWarn {
		level = "warning"
	}
	b.WriteString(level + ": " + oneLine(r.Message))
	var rest []string
	add := func(a slog.Attr) bool {
		value := oneLine(a.Value.String())
		if a.Key == "error" {
			b.WriteString(": " + value)
		} else {
			rest = append(rest, a.Key+" "+value)
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	if len(rest) > 0 {
		b.WriteString(" (" + strings.Join(rest, ", ") + ")")
	}
	b.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.w.Write(b.Bytes())
	return err
}

// WithAttrs implements slog.Handler.
func (h *plainHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = append(append([]slog.Attr(nil), h.attrs...), attrs...)
	return &c
}

// WithGroup implements slog.Handler; groups are not shown, nothing here uses them.
func (h *plainHandler) WithGroup(string) slog.Handler { return h }

// locatingHandler gives records that could not be decoded, which the engine knows
// by source and number, their place in a file.
type locatingHandler struct {
	slog.Handler
	plan *job.Job
}

// Handle implements slog.Handler.
func (h *locatingHandler) Handle(ctx context.Context, r slog.Record) error {
	located := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if e, ok := a.Value.Any().(*runtime.RecordError); ok {
			a.Value = slog.StringValue(locate(h.plan, e).Error())
		}
		located.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, located)
}

// WithAttrs implements slog.Handler.
func (h *locatingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &locatingHandler{h.Handler.WithAttrs(attrs), h.plan}
}

// WithGroup implements slog.Handler.
func (h *locatingHandler) WithGroup(name string) slog.Handler {
	return &locatingHandler{h.Handler.WithGroup(name), h.plan}
}
