package runtime

import (
	"math"

	"github.com/wasmstream/wasmstream/host/stream"
)

// outputs are all that an operator puts out. They get marks together.
type outputs []*output

// isFull tells whether one of them is to be handed on before more is added.
func (o outputs) isFull() bool {
	for _, out := range o {
		if out.isFull() {
			return true
		}
	}
	return false
}

func (o outputs) mark(kind stream.MarkKind, value int64) {
	for _, out := range o {
		out.batch.Mark(kind, value)
	}
}

func (o outputs) seal(epoch int64) {
	for _, out := range o {
		out.seal(epoch)
	}
}

// drain is a part of operator.
func (o outputs) drain(all bool) bool {
	ok := true
	for _, out := range o {
		ok = out.drain(all) && ok
	}
	return ok
}

// pendingMarks are watermarks that wait behind a number of ops.
type pendingMarks []pendingWatermark

type pendingWatermark struct {
	ops int
	at  stream.EventTime
}

// add has a watermark wait behind so many ops; without any it is put out at once.
func (p *pendingMarks) add(ops int, at stream.EventTime, outs outputs) {
	if n := len(*p); n > 0 && (*p)[n-1].ops == ops {
		(*p)[n-1].at = at // nothing between tells that the one before was there
		return
	}
	*p = append(*p, pendingWatermark{ops, at})
	if ops == 0 {
		p.pass(0, outs)
	}
}

// pass puts out what waits behind at most so many ops.
func (p *pendingMarks) pass(ops int, outs outputs) {
	n := 0
	for ; n < len(*p) && (*p)[n].ops <= ops; n++ {
		outs.mark(stream.MarkWatermark, int64((*p)[n].at))
	}
	if n > 0 {
		*p = (*p)[:copy(*p, (*p)[n:])]
	}
}

// bare is what operators without state have alike, as keeper is of those with it.
type bare struct {
	timeless
	outs outputs
	shot func(epoch int64)
}

func (o *bare) status(kind stream.MarkKind) { o.outs.mark(kind, 0) }

func (o *bare) barrier(epoch int64) error {
	o.shot(epoch)
	o.outs.seal(epoch)
	return nil
}

func (o *bare) end() error {
	o.status(stream.MarkEnd)
	return nil
}

func (o *bare) drain(all bool) bool { return o.outs.drain(all) }

// timeless is the part of an operator that sets no processing-time timers.
type timeless struct{}

func (timeless) tick(stream.ProcTime) (bool, error) { return true, nil }
func (timeless) nextTick() stream.ProcTime          { return math.MaxInt64 }
func (timeless) setClock(stream.ProcTime)           {}
