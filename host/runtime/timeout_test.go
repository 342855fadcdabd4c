package runtime_test

import (
	"bytes"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// TestBufferTimeout: a record on its way to a task that gets few does not wait
// for its batch to fill while others keep the source busy. The clock moves by a
// millisecond a chunk; the record is late, so it shows as soon as its task sees it.
func TestBufferTimeout(t *testing.T) {
	const chunksMax = 150
	clock := &manualClock{now: 1}
	var arrived atomic.Bool
	busy := strings.Repeat(`{"k":"a","v":1,"t":20000}`+"\n", 500)
	others := strings.Repeat(`{"k":"a","v":1,"t":20000}`+"\n{\"k\":\"e\",\"v\":1,\"t\":20000}\n", 250)
	chunks := 0
	src := newSource(func(c *connector.Chunk) error {
		switch chunks++; chunks {
		case 1: // and the only watermark
			appendLines(c, others)
		case 2: // late, for each of the keys, so one for each of the tasks that own them
			for _, k := range []string{"a", "b", "c", "d", "e"} {
				appendLines(c, `{"k":"`+k+`","v":1,"t":1}`+"\n")
			}
		case chunksMax:
			if !arrived.Load() {
				t.Error("the late record still waits for its batch to fill")
			}
			return io.EOF
		default:
			appendLines(c, busy)
			clock.advance(clock.Now() + 1)
		}
		return nil
	})
	late := []byte{}
	c := with(t, src, func(name string) connector.Sink {
		return &sinkFuncs{write: func(b []byte) error {
			if name == "late" {
				late = append(late, b...)
				arrived.Store(bytes.Count(late, []byte("\n")) == 5)
			}
			return nil
		}}
	})
	c.Clock = clock
	j, err := runtime.New(countPlan(t, "parallelism: 4", "fail", "on-event"), c)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}
