package runtime

import (
	"bytes"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/connector"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// guestEncoder has a function make records of rows. A row that it fails on fails the
// job: a sink has no other way. Keys for files are passed over.
type guestEncoder struct {
	stateless
	sink       *job.Sink
	caller     *guests.Caller
	input      *stream.Projection
	value, key stream.Column // of a message
	encoder    *recordEncoder
	lines      bool           // a record is a line
	now        guests.Context // what the next op is told of time

	to    *connector.Records // of the present frame
	batch *stream.Batch
	first int // row of the batch that is the first op
}

// message is a record that a function has made.
type message struct {
	value, key       []byte
	hasValue, hasKey bool
}

// frameRowsMax bounds the rows of a frame: what comes of it goes into one block.
const frameRowsMax = 512

// encode makes records of some of the rows from..to, and returns where it stopped.
func (g *guestEncoder) encode(to *connector.Records, b *stream.Batch, from, end int) (next int, err error) {
	g.to, g.batch, g.first = to, b, from
	next = from
	for ; next < min(end, from+frameRowsMax) && !g.caller.Due(); next++ {
		ctx := g.now
		ctx.Time = int64(b.Time(next))
		g.caller.Add(abi.OpEncode, guests.NoGroup, g.caller.Row(g.input, b.Row(next)), &ctx)
	}
	err = g.caller.Perform()
	return from + g.caller.Performed(), err
}

// isFull tells that the other rows are for another block.
func (g *guestEncoder) isFull() bool { return len(g.to.Data) >= blockBytes }

// Take implements guest.Role.
func (g *guestEncoder) Take(i int, e abi.Effect) error {
	var m message
	if m.hasValue = !g.value.IsNull(e.Payload); m.hasValue {
		m.value = g.value.Bytes(e.Payload)
	}
	if m.hasKey = !g.key.IsNull(e.Payload); m.hasKey {
		m.key = g.key.Bytes(e.Payload)
	}
	wrong := ""
	switch {
	case !g.lines:
	case !m.hasValue:
		wrong = "a record of a file has a value, and this one is NULL"
	case bytes.IndexByte(m.value, '\n') >= 0:
		wrong = "a record of a file is one line, and this one has a line break"
	}
	if wrong != "" {
		return g.Fault(i, &abi.Fault{Kind: abi.FaultBadAnswer, Op: i, Detail: wrong})
	}
	g.encoder.appendMessage(g.to, g.batch.Row(g.first+i), g.batch.Time(g.first+i), &m)
	return nil
}

// Done implements guest.Role.
func (g *guestEncoder) Done(int) error { return nil }

// Fault implements guest.Role.
func (g *guestEncoder) Fault(i int, err error) error {
	return &FunctionError{Function: g.sink.Encode, Err: err, Where: "the record " + g.sink.Input.Show(g.batch.Row(g.first+i))}
}

// guestEncoder makes the function that encodes a sink's rows ready.
func (b *builder) guestEncoder(s *job.Sink, op *sinkOperator) (err error) {
	f := s.Encode
	g := &guestEncoder{
		sink: s, input: stream.NewProjection(s.Input, f.Inputs[0].Columns), encoder: &op.encoder, lines: s.Connector.File != nil,
		value: job.MessageSchema.Column(job.MessageValue), key: job.MessageSchema.Column(job.MessageKey),
		now: guests.Context{Watermark: int64(stream.MinTime), Clock: int64(b.config.Clock.Now())},
	}
	g.caller, err = b.callerFor(f, guests.Options{Enough: g.isFull}, g)
	op.guest = g
	return err
}
