package runtime

import (
	"math"

	"github.com/wasmstream/wasmstream/abi"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/process"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// processOperator asks a function about each record of a key, and about timers that
// it has set: Flink's KeyedProcessOperator, and with two inputs its
// KeyedCoProcessOperator and CoBroadcastWithKeyedOperator.
//
// Ops are put off until a frame is full, or their answer is needed: before a
// watermark is put out, which may be what timers wait for that they set, before timers
// of the clock, when the clock moves, and behind a broadcast record, which may ask for a
// visit of all keys. A timer is the first op of its key in a frame: what records and
// other timers do to it comes before.
type processOperator struct {
	keeper
	caller  *guests.Caller
	states  *process.States
	sides   [2]processSide
	results []*output // by the aux of an emit
	failing
	function *job.Function

	now   stream.EventTime // the watermark
	clock stream.ProcTime
	ended bool

	ops      []processOp
	began    stream.ProcTime // the clock of ops
	from, to int             // of ops: those in the present frame
	inFrame  []uint32        // by entry: round in which it got its last op
	round    uint32
	context  guests.Context
	keyBuf   []byte
	shows    *stream.Schema // of keys, for errors
	readsKey bool           // the function does
	visiting bool           // all keys are to be visited
	chains   chains
	record   []byte // the broadcast record's row, as the function takes it

	originals *originals
}

// processSide is what a step needs to know of the records of one input.
type processSide struct {
	key   *stream.Projection // nil: a broadcast input
	input *stream.Projection // to the columns that the function declares
	kind  abi.OpKind
	side  side
}

// processOp is an op that was put off.
type processOp struct {
	kind abi.OpKind
	ref  state.Ref        // of its key
	time stream.EventTime // of what it puts out
}

func (o *processOperator) rows(s side, b *stream.Batch, from, to int) (int, error) {
	side := &o.sides[s]
	for i := from; i < to; i++ {
		if o.outs.isFull() {
			return i, nil
		}
		if err := o.settleClock(); err != nil {
			return i, err
		}
		o.faults.came(b, i)
		if side.key == nil {
			if err := o.broadcast(side, b.Row(i), b.Time(i)); err != nil {
				return i, err
			}
			continue
		}
		if err := o.element(side, b.Row(i), b.Time(i)); err != nil {
			return i, err
		}
	}
	return to, nil
}

// element asks about a record of a key.
func (o *processOperator) element(s *processSide, row stream.Row, t stream.EventTime) error {
	o.keyBuf = s.key.AppendTo(o.keyBuf[:0], row, stream.Insert)
	key := stream.Row(o.keyBuf)
	hash := key.Hash()
	ref := o.backend.Entry(hash, key, state.Namespace{})
	if o.states.HasOnce() && o.isInFrame(ref) {
		// A read in the frame may remove what this one would see.
		if err := o.perform(); err != nil {
			return err
		}
		ref = o.backend.Entry(hash, key, state.Namespace{}) // the other was good until the frame's end
	}
	if o.originals != nil {
		o.originals.keep(o.caller.Len(), s.side, row)
	}
	return o.ask(processOp{s.kind, ref, t}, o.caller.Row(s.input, row), int64(t), 0)
}

// ask adds an op of a key, and has the frame performed if it is full.
func (o *processOperator) ask(op processOp, row uint32, time int64, domain state.Domain) error {
	x := &o.context // field by field: a literal is made elsewhere first, and copying it has to wait
	x.Time, x.Watermark, x.Clock, x.Detail = time, int64(o.now), int64(o.clock), uint32(domain)
	x.Key, x.Second = guests.NoRow(), guests.NoRow()
	if o.readsKey {
		o.context.Key = o.caller.WholeRow(o.backend.Key(op.ref))
	}
	o.caller.Add(op.kind, uint32(op.ref), row, &o.context)
	o.add(op)
	for int(op.ref) >= len(o.inFrame) {
		o.inFrame = append(o.inFrame, 0)
	}
	o.inFrame[op.ref] = o.round
	if o.caller.Due() {
		return o.perform()
	}
	return nil
}

func (o *processOperator) add(op processOp) {
	if len(o.ops) == 0 {
		o.began = o.clock
	}
	o.ops = append(o.ops, op)
}

func (o *processOperator) isInFrame(r state.Ref) bool {
	return int(r) < len(o.inFrame) && o.inFrame[r] == o.round
}

// settleClock makes sure that all ops of a frame have the same time.
func (o *processOperator) settleClock() error {
	if len(o.ops) > 0 && o.began != o.clock {
		return o.perform()
	}
	return nil
}

// perform has the ops performed that were put off.
func (o *processOperator) perform() error {
	if len(o.ops) == 0 {
		return nil
	}
	o.states.SetClock(o.began)
	o.limit.begin()
	err := o.caller.Perform()
	o.states.Sweep(len(o.ops))
	o.ops = o.ops[:0]
	o.round++
	o.backend.Release()
	o.limit.settle()
	return err
}

// broadcast asks about a record of the broadcast input, and visits all keys if the
// answer says so.
func (o *processOperator) broadcast(s *processSide, row stream.Row, t stream.EventTime) error {
	o.record = s.input.AppendTo(o.record[:0], row, stream.Insert)
	o.context = guests.Context{Time: int64(t), Watermark: int64(o.now), Clock: int64(o.clock), Key: guests.NoRow(), Second: guests.NoRow()}
	if o.originals != nil {
		o.originals.keep(o.caller.Len(), s.side, row)
	}
	o.caller.Add(s.kind, guests.NoGroup, o.caller.WholeRow(o.record), &o.context)
	o.add(processOp{kind: s.kind, time: t})
	if err := o.perform(); err != nil || !o.visiting {
		return err
	}
	o.visiting = false
	return o.visitKeys(t)
}

// visitKeys asks about each key that has state. Its answers have no rows.
func (o *processOperator) visitKeys(t stream.EventTime) (err error) {
	const pieceEntries = 4096
	visit := func(r state.Ref) {
		if err == nil && o.states.Holds(r) {
			err = o.ask(processOp{abi.OpOnKey, r, t}, o.caller.WholeRow(o.record), int64(t), 0)
		}
	}
	at := o.backend.Walk(0, pieceEntries, visit)
	for at != 0 && err == nil {
		at = o.backend.Walk(at, pieceEntries, visit)
	}
	if err != nil {
		return err
	}
	return o.perform()
}

func (o *processOperator) advance(t stream.EventTime) (bool, error) {
	o.now = t // of ops from here on
	if done, err := o.fireTimers(state.EventTimer, int64(t)); err != nil || !done {
		return false, err
	}
	o.outs.mark(stream.MarkWatermark, int64(t))
	return true, nil
}

// settleOps performs what was put off; false if there is no room for its output.
func (o *processOperator) settleOps() (bool, error) {
	if len(o.ops) == 0 {
		return true, nil
	}
	if o.outs.isFull() {
		return false, nil
	}
	return true, o.perform()
}

// fireTimers performs what was put off and asks about all due timers, those among them
// that callbacks set, in order of their times for each key; false if there is no room
// for more output. Timers share frames with records of other keys.
func (o *processOperator) fireTimers(d state.Domain, upTo int64) (bool, error) {
	o.chains.begin(d, upTo)
	for {
		if o.outs.isFull() {
			return false, nil
		}
		if err := o.settleClock(); err != nil {
			return false, err
		}
		pending := len(o.ops) > 0
		asked, err := o.askTimers(d, upTo)
		if err == nil {
			err = o.perform()
		}
		if err != nil {
			return false, err
		}
		if !asked && !pending {
			o.chains.end(d)
			return true, nil
		}
	}
}

// askTimers fills a frame with due timers, up to one of a key that is in it already;
// false if it adds none.
func (o *processOperator) askTimers(d state.Domain, upTo int64) (asked bool, err error) {
	for round := o.round; o.round == round; asked = true {
		at, r, ok := o.backend.PopTimer(d, upTo)
		if !ok {
			break
		}
		if o.isInFrame(r) {
			o.backend.SetTimer(d, at, r)
			break
		}
		if o.chains.isOver(d, r) {
			if err := o.drop(d, at, r); err != nil {
				return true, err
			}
			continue
		}
		op := processOp{abi.OpOnTimer, r, stream.MinTime}
		if d == state.EventTimer {
			op.time = stream.EventTime(at)
		}
		if err := o.ask(op, guests.NoRow(), at, d); err != nil {
			return true, err
		}
	}
	return asked, nil
}

// drop leaves a timer out that would be one call too many.
func (o *processOperator) drop(d state.Domain, at int64, r state.Ref) error {
	shown := "the timer of " + stream.EventTime(at).Show()
	x := failure{function: o.function, key: o.shows.Show(o.backend.Key(r)), time: stream.MinTime, within: shown, where: shown, err: o.chains.fault()}
	if d == state.EventTimer {
		x.time = stream.EventTime(at)
	}
	return o.faults.take(&x)
}

func (o *processOperator) tick(upTo stream.ProcTime) (bool, error) {
	if o.ended {
		return true, nil // as in Flink, what is still pending at the end of input is dropped
	}
	if done, err := o.settleOps(); err != nil || !done {
		return false, err
	}
	return o.fireTimers(state.ProcTimer, int64(upTo))
}

func (o *processOperator) nextTick() stream.ProcTime {
	if o.ended {
		return math.MaxInt64
	}
	return stream.ProcTime(o.backend.NextTimer(state.ProcTimer))
}

// setLeast: no record is late, whatever the watermark is.
func (o *processOperator) setLeast(func() stream.EventTime) {}

func (o *processOperator) setClock(now stream.ProcTime) { o.clock = now }

func (o *processOperator) complete() (bool, error) {
	done, err := o.settleOps()
	if done && err == nil {
		o.backend.Release()
	}
	return done, err
}

func (o *processOperator) end() error {
	o.ended = true
	return o.keeper.end()
}

// processRole is what the guest's caller sees of the operator.
type processRole struct{ o *processOperator }

// Load implements guest.Role.
func (p processRole) Load(dst []byte, group uint32, i int) []byte {
	return p.o.states.Load(dst, state.Ref(group), i)
}

// Store implements guest.Role.
func (p processRole) Store(group uint32, i int, row stream.Row) error {
	if len(row) > 0 {
		p.o.claim(state.Ref(group))
	}
	p.o.states.Store(state.Ref(group), i, row)
	return nil
}

// Take implements guest.Role.
func (p processRole) Take(i int, e abi.Effect) error {
	o, op := p.o, &p.o.ops[i]
	switch e.Kind {
	case abi.EffectEmit:
		o.results[e.Aux].batch.Append(e.Payload, op.time)
	case abi.EffectSetTimer:
		o.setTimer(state.Domain(e.Aux), guests.Int64(e.Payload, 0), op.ref)
	case abi.EffectDeleteTimer:
		o.backend.DeleteTimer(state.Domain(e.Aux), guests.Int64(e.Payload, 0), op.ref)
	case abi.EffectTouch:
		group, slot := o.caller.Slot(e.Aux)
		o.states.Touch(state.Ref(group), slot)
	case abi.EffectVisitKeys:
		o.visiting = true
	}
	return nil
}

// setTimer sets a timer as a function wants it.
func (o *processOperator) setTimer(d state.Domain, at int64, r state.Ref) {
	o.claim(r)
	o.chains.set(o.backend, d, at, r)
	o.backend.SetTimer(d, at, r)
}

// claim says that a key is about to have something kept for it.
func (o *processOperator) claim(r state.Ref) {
	if o.limit.near && o.backend.IsEmpty(r) {
		o.limit.fill()
	}
}

// Near, Room, Over and AddsTimer implement guest.Limited.
func (p processRole) Near(bytes int) bool { return p.o.limit.Near(bytes) }

// Room is a part of it.
func (p processRole) Room(bytes int) int { return p.o.limit.Room(bytes) }

// Over is a part of it.
func (p processRole) Over(bytes, entries, timers int) string {
	return p.o.limit.Over(bytes, entries, timers)
}

// AddsTimer is a part of it.
func (p processRole) AddsTimer(i int, e abi.Effect) bool {
	return e.Kind == abi.EffectSetTimer && !p.o.backend.HasTimer(state.Domain(e.Aux), guests.Int64(e.Payload, 0), p.o.ops[i].ref)
}

// Done implements guest.Role.
func (processRole) Done(int) error { return nil }

// Fault implements guest.Role.
func (p processRole) Fault(i int, err error) error {
	o, op := p.o, &p.o.ops[i]
	x := failureOf(o.function, o.caller, i, err)
	switch op.kind {
	case abi.OpOnRecord, abi.OpOnSecond, abi.OpOnBroadcast:
		o.originals.show(&x, i)
	}
	if x.time = op.time; op.kind != abi.OpOnBroadcast {
		x.key = o.shows.Show(o.backend.Key(op.ref))
	}
	return o.faults.take(&x)
}

// Begin implements guest.Framed.
func (p processRole) Begin(from, to int) { p.o.from, p.o.to = from, to }

// End implements guest.Framed.
func (p processRole) End(sound bool) {
	if sound {
		p.o.states.Keep()
	} else {
		p.o.states.Undo()
	}
	p.o.from, p.o.to = 0, 0
}

// subject is what host calls of an op of the present frame work on.
func (o *processOperator) subject(op uint32) (process.Subject, bool) {
	if uint64(op) >= uint64(o.to-o.from) {
		return process.Subject{}, false
	}
	p := &o.ops[o.from+int(op)]
	isBroadcast := p.kind == abi.OpOnBroadcast
	return process.Subject{Entry: p.ref, Keyed: !isBroadcast, Writes: isBroadcast}, true
}
