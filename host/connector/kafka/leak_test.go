package kafka_test

import (
	"io"
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmstream/wasmstream/host/connector/kafka"
)

// What a source and a sink start ends with them, however far they came.
func TestNothingRunsOnAfterClose(t *testing.T) {
	_, b := fakeOf(t, 1, 2)
	b.produce(t, "t", 0, "a")
	running := goleak.IgnoreCurrent()
	o := b.live("t")
	o.Group = "g"
	read := open(t, o)
	read.until(1)
	must(t, read.source.Close())
	if err := read.once(); err == nil || err == io.EOF {
		t.Errorf("a closed source reads on: %v", err)
	}
	never, err := kafka.NewSource(b.live("t"))
	must(t, err)
	must(t, never.Close())
	for _, o := range []kafka.SinkOptions{b.exactly("t"), b.atLeast("t")} {
		s := openSink(t, o, nil)
		again(t, s, "b")
		must(t, s.Write(records([]string{"c"})))
		must(t, s.Close())
		must(t, newSink(t, o).Close())
		s = openSink(t, o, nil)
		must(t, s.Write(records([]string{"d"})))
		must(t, s.Abort())
	}
	// The fake broker reads each request in a goroutine of its own, also those of the
	// client that has written the record.
	goleak.VerifyNone(t, running, goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kfake.(*clientConn).read.func1"))
}
