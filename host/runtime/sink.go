package runtime

import (
	"fmt"
	"sync/atomic"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/stream"
)

// SinkStats counts what a sink has taken so far.
type SinkStats struct {
	Records, Bytes, Watermark atomic.Int64
}

// sinkOperator encodes rows for a sink's writer.
type sinkOperator struct {
	timeless
	encoder recordEncoder
	guest   *guestEncoder // instead of the encoder's format; nil: that is built in
	pipe    *pipe[*block]
	block   *block // being filled; nil: none
	stats   *SinkStats
}

// block is what a sink's writer gets: encoded records, then perhaps a barrier or
// the end.
type block struct {
	connector.Records
	barrier int64 // epoch, 0: none
	end     bool
}

// blockBytes is when a block is handed to the writer.
const blockBytes = 256 << 10

func (o *sinkOperator) rows(_ side, b *stream.Batch, from, to int) (int, error) {
	for i := from; i < to; i++ {
		if !o.hasRoom() {
			o.stats.Records.Add(int64(i - from))
			return i, nil
		}
		if o.guest != nil {
			next, err := o.guest.encode(&o.block.Records, b, i, to)
			if err != nil {
				return i, err
			}
			i = next - 1
			continue
		}
		o.encoder.append(&o.block.Records, b.Row(i), b.Time(i))
	}
	o.stats.Records.Add(int64(to - from))
	return to, nil
}

// hasRoom makes sure that there is a block that takes another record.
func (o *sinkOperator) hasRoom() bool {
	if o.block != nil && o.isDue() {
		return false
	}
	if o.block == nil {
		b, ok := o.pipe.take()
		if !ok {
			return false
		}
		b.Reset()
		b.barrier, b.end = 0, false
		o.block = b
	}
	return true
}

func (o *sinkOperator) isDue() bool {
	return len(o.block.Data) >= blockBytes || o.block.barrier != 0 || o.block.end
}

func (o *sinkOperator) advance(t stream.EventTime) (bool, error) {
	o.stats.Watermark.Store(int64(t))
	if o.guest != nil {
		o.guest.now.Watermark = int64(t)
	}
	return true, nil
}

func (o *sinkOperator) setClock(now stream.ProcTime) {
	if o.guest != nil {
		o.guest.now.Clock = int64(now)
	}
}

func (o *sinkOperator) complete() (bool, error) { return true, nil }

func (o *sinkOperator) status(stream.MarkKind) {}

func (o *sinkOperator) barrier(epoch int64) error {
	o.block.barrier = epoch
	return nil
}

func (o *sinkOperator) end() error {
	o.block.end = true
	return nil
}

// drain hands the block on when it is full, and makes sure that there is one: a
// barrier or the end needs a place to stand.
func (o *sinkOperator) drain(all bool) bool {
	if o.block != nil && (o.isDue() || all && len(o.block.Data) > 0) {
		o.stats.Bytes.Add(int64(len(o.block.Data)))
		o.pipe.send(o.block)
		o.block = nil
	}
	return o.hasRoom()
}

// writeTask is the I/O task of a sink.
type writeTask struct {
	name    string
	node    *node
	sink    connector.Sink
	start   []byte // the hand-over to go on from
	pipe    *pipe[*block]
	check   *checkpoints
	config  *Checkpoints // nil: the job has none
	commits int64        // the last epoch that was committed
	opened  *opening
	ended   bool
	onEnded func()
}

func (t *writeTask) step() (outcome, error) {
	more, err := t.work()
	if err != nil {
		return outcome{}, fmt.Errorf("sink %s: %w", t.name, err)
	}
	return outcome{more: more}, nil
}

func (t *writeTask) work() (more bool, err error) {
	if !t.opened.done.Load() {
		if err := t.sink.Open(t.start); err != nil {
			return false, err
		}
		t.opened.done.Store(true)
	}
	if epoch := t.check.toCommit(t.commits); epoch != 0 {
		if err := t.commit(epoch); err != nil {
			return false, err
		}
	}
	b, ok := t.pipe.receive()
	if !ok {
		return false, nil
	}
	if err := t.write(b); err != nil {
		return false, err
	}
	t.pipe.giveBack(b)
	return true, nil
}

func (t *writeTask) commit(epoch int64) error {
	t.config.reached(CommitBefore)
	if err := t.sink.Commit(); err != nil {
		return err
	}
	t.config.reached(CommitAfter)
	t.commits = epoch
	t.check.committed(t.name, epoch)
	return nil
}

func (t *writeTask) write(b *block) error {
	if b.Len() > 0 {
		if err := t.sink.Write(&b.Records); err != nil {
			return err
		}
	}
	if b.barrier != 0 {
		t.config.reached(HandoverBefore)
		handover, err := t.sink.Handover(t.ended)
		if err != nil {
			return err
		}
		t.config.reached(HandoverAfter)
		t.check.sink(t.name, b.barrier, handover)
	}
	if b.end {
		t.ended = true
		t.onEnded()
	}
	return nil
}
