package runtime

import (
	"errors"
	"fmt"
	"io"

	"github.com/wasmstream/wasmstream/host/connector"
)

// readTask is the I/O task of a source: it fills chunks and deals them out to
// the decoders in turn.
type readTask struct {
	name   string
	source connector.Source
	start  []connector.SplitPosition
	pipes  []*pipe[*chunk] // one for each decoder
	next   int
	opened *opening
	ended  bool
}

// chunk is a connector's chunk, or the end of the input.
type chunk struct {
	connector.Chunk
	end bool
}

func (t *readTask) step() (outcome, error) {
	if !t.opened.done.Load() {
		if err := t.source.Open(t.start); err != nil {
			return outcome{}, fmt.Errorf("source %s: %w", t.name, err)
		}
		t.opened.done.Store(true)
	}
	if t.ended {
		return outcome{}, nil
	}
	c, ok := t.pipes[t.next].take()
	if !ok {
		return outcome{}, nil
	}
	c.Reset()
	c.end = false
	if err := t.source.Read(&c.Chunk); errors.Is(err, io.EOF) {
		c.end, t.ended = true, true
	} else if err != nil {
		return outcome{}, fmt.Errorf("source %s: %w", t.name, err)
	}
	t.pipes[t.next].send(c)
	t.next = (t.next + 1) % len(t.pipes)
	return outcome{more: !t.ended}, nil
}
