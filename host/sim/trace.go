package sim

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// trace writes what happens, a line each, for people.
type trace struct {
	to io.Writer // nil: nothing is written
	w  *world
}

func (t *trace) say(format string, args ...any) {
	if t.to == nil {
		return
	}
	beat, number := 0, 0
	if l := t.w.life; l != nil {
		beat, number = l.beats, l.number
	}
	fmt.Fprintf(t.to, "life %d step %5d %6d ms  %s\n", number, beat, t.w.clock.now, fmt.Sprintf(format, args...))
}

// handler is where the engine's log goes.
type handler struct{ t *trace }

// Enabled implements slog.Handler.
func (h handler) Enabled(context.Context, slog.Level) bool { return h.t.to != nil }

// Handle implements slog.Handler.
func (h handler) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	h.t.say("log: %s", text)
	return nil
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h handler) WithGroup(string) slog.Handler { return h }
