package runtime

import (
	"slices"

	"github.com/wasmstream/wasmstream/abi"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/process"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// functionInputs brings the rows of each side of a step into the form that a function
// takes.
type functionInputs struct {
	sides [2]*stream.Projection // nil: it reads nothing of rows
	key   bool                  // it reads the key
}

// row takes in a record for the next op.
func (in *functionInputs) row(c *guests.Caller, s side, row stream.Row) uint32 {
	if in.sides[s] == nil || row == nil {
		return guests.NoRow()
	}
	return c.Row(in.sides[s], row)
}

// element takes in a record of a list; it has a row in any case.
func (in *functionInputs) element(c *guests.Caller, e listedRow) uint32 {
	if in.sides[e.side] == nil {
		return c.WholeRow(noColumns[:])
	}
	return c.Row(in.sides[e.side], e.row)
}

// noColumns is a row without columns.
var noColumns [8]byte

// keyRow takes in the key for the next op.
func (in *functionInputs) keyRow(c *guests.Caller, key stream.Row) uint32 {
	if !in.key {
		return guests.NoRow()
	}
	return c.WholeRow(key)
}

// assigner is an assigner that is a function: the windows of a run of records.
type assigner struct {
	stateless
	caller   *guests.Caller
	function *job.Function
	inputs   functionInputs
	windows  []window.Window // of all records
	ends     []int           // by record: where its windows end
	faulty   []int           // records that it failed on, and that are left out
	failed   firstFailure
	given    int64 // windows that the present op was answered
	fault    func(op int, err error) error

	side      side // of the records that are asked about
	batch     *stream.Batch
	first     int // row of batch
	originals *originals
}

// firstFailure is the first op of a run of records that fails the step. What the records
// before it lead to is done first; those behind it are not asked about any more.
type firstFailure struct {
	at  int
	err error // nil: there is none
}

func (f *firstFailure) note(at int, err error) {
	if f.err == nil && err != nil {
		*f = firstFailure{at, err}
	}
}

// stateless is the part of a role that has no slots.
type stateless struct{}

func (stateless) Load(dst []byte, _ uint32, _ int) []byte { return dst }
func (stateless) Store(uint32, int, stream.Row) error     { return nil }

// windowsRunMax is how many windows the records of a run may have before it is cut: they
// are memory.
const windowsRunMax = 1 << 18

func (a *assigner) Take(_ int, e abi.Effect) error {
	if a.given++; a.given <= a.function.Limits.Windows {
		a.windows = append(a.windows, window.Window{Start: guests.Int64(e.Payload, 0), End: guests.Int64(e.Payload, 8)})
	}
	return nil
}

func (a *assigner) Done(op int) error {
	given := a.given
	a.given = 0
	if limit := a.function.Limits.Windows; given > limit {
		a.windows = a.windows[:a.begin()]
		return a.Fault(op, overLimit("it put the record into %d windows, and the limit is %d: %s", given, limit, raise("windows")))
	}
	a.ends = append(a.ends, len(a.windows))
	return nil
}

// begin is where the windows of the next record do.
func (a *assigner) begin() int {
	if n := len(a.ends); n > 0 {
		return a.ends[n-1]
	}
	return 0
}

// Fault leaves the record out, unless the step is to fail.
func (a *assigner) Fault(op int, err error) error {
	a.failed.note(len(a.ends), a.fault(op, err))
	a.faulty = append(a.faulty, len(a.ends))
	a.ends = append(a.ends, len(a.windows))
	return nil
}

// isFull tells that the rest is to be asked about in another run, or not at all.
func (a *assigner) isFull() bool { return len(a.windows) >= windowsRunMax || a.failed.err != nil }

// ask asks for the windows of rows from..to of a batch, and returns behind which row it
// stopped: at least one was asked about. An assigner has no state, so those that follow
// may be asked about again.
func (a *assigner) ask(s side, b *stream.Batch, from, to int, now window.Now) (asked int, err error) {
	a.windows, a.ends, a.faulty, a.failed = a.windows[:0], a.ends[:0], a.faulty[:0], firstFailure{}
	a.side, a.batch, a.first = s, b, from
	ctx := guests.Context{Watermark: int64(now.Watermark), Clock: int64(now.Clock)}
	for i := from; i < to && !a.isFull(); i++ {
		ctx.Time = int64(b.Time(i))
		a.caller.Add(abi.OpAssign, guests.NoGroup, a.inputs.row(a.caller, s, b.Row(i)), &ctx)
		if a.caller.Due() {
			if err := a.caller.Perform(); err != nil {
				return from, err
			}
		}
	}
	err = a.caller.Perform()
	return from + len(a.ends), err
}

// of are the windows of record i of those that were asked about; false if it is left
// out.
func (a *assigner) of(i int) ([]window.Window, bool) {
	from := 0
	if i > 0 {
		from = a.ends[i-1]
	}
	return a.windows[from:a.ends[i]], len(a.faulty) == 0 || !slices.Contains(a.faulty, i)
}

// trigger is a trigger that is a function. Its questions are gathered, asked in
// frames, and the answers taken one by one.
type trigger struct {
	windowStates
	*stateLimit
	backend  state.Backend
	caller   *guests.Caller
	instance Guest
	inputs   functionInputs
	fault    func(op int, err error) error

	clock   stream.ProcTime    // of what is pending
	ctx     guests.Context     // scratch
	unions  unions             // the windows that pending ops are about the merging of
	inFrame map[state.Ref]bool // windows that pending ops are about; nil: it does not matter

	function *job.Function
	chains   chains
	undone   func() int // bytes that are kept to take decisions back

	originals *originals

	wishes   []timerWish // of all answers
	answers  []triggerAnswer
	decision uint32 // of the op whose effects are being taken
	taken    int    // answers that were taken
	failed   firstFailure
	askedAgain
}

// timerWish is a timer that a trigger sets or deletes.
type timerWish struct {
	at      int64
	domain  state.Domain
	deletes bool
}

// triggerAnswer is what a trigger's function answered to one question.
type triggerAnswer struct {
	wishes   int // where those of it end
	decision uint32
	faulty   bool // there is none
}

// What a trigger decides, as bits.
const (
	decidesFire  = 1
	decidesPurge = 2
)

// keep says where its states are kept.
func (t *trigger) keep(backend state.Backend) error {
	t.backend = backend
	err := t.keepIn(backend, t.stateLimit, [stateScopes]state.Cell{ofWindow: triggerCell}, triggerParts, t.instance, t.function, t.subject)
	if t.readsOnce() {
		t.inFrame = map[state.Ref]bool{}
	}
	return err
}

func (t *trigger) Load(dst []byte, group uint32, i int) []byte {
	return t.load(dst, state.Ref(group), i)
}

func (t *trigger) Store(group uint32, i int, row stream.Row) error {
	t.store(state.Ref(group), i, row)
	return nil
}

// subject is what host calls of an op of the present frame work on.
func (t *trigger) subject(op uint32) (process.Subject, bool) {
	i, ok := t.opOf(op)
	if !ok {
		return process.Subject{}, false
	}
	_, group := t.caller.Op(i)
	return process.Subject{Window: state.Ref(group), Keyed: true, Merged: t.unions.of(i)}, true
}

func (t *trigger) Take(_ int, e abi.Effect) error {
	switch e.Kind {
	case abi.EffectDecide:
		t.decision = e.Aux
	case abi.EffectTouch:
		group, slot := t.caller.Slot(e.Aux)
		t.touch(state.Ref(group), slot)
	default:
		t.wishes = append(t.wishes, timerWish{guests.Int64(e.Payload, 0), state.Domain(e.Aux), e.Kind == abi.EffectDeleteTimer})
	}
	return nil
}

func (t *trigger) Done(int) error {
	t.answers = append(t.answers, triggerAnswer{wishes: len(t.wishes), decision: t.decision})
	t.decision = 0
	return nil
}

// Fault leaves the window as it is, unless the step is to fail.
func (t *trigger) Fault(op int, err error) error {
	n := len(t.answers)
	t.answers = append(t.answers, triggerAnswer{wishes: len(t.wishes), faulty: true})
	if t.isTold(n) {
		return nil
	}
	t.failed.note(n, t.fault(op, err))
	kind, _ := t.caller.Op(op)
	t.tell(n, kind == abi.OpOnElement)
	return nil
}

// isOver tells that no more questions are to be asked: what is behind the last answer fails
// with it, or is asked again.
func (t *trigger) isOver() bool { return t.failed.err != nil || t.isLost }

// Near is a part of guests.Limited. What waits to be carried out, and what is kept to take
// decisions back, is memory as state is.
func (t *trigger) Near(bytes int) bool { return t.isNear(bytes, t.undone(), len(t.wishes)) }

// Over is a part of it.
func (t *trigger) Over(bytes, entries, timers int) string {
	if timers > 0 {
		timers += len(t.wishes)
	}
	if bytes > 0 {
		bytes += t.undone()
	}
	return t.stateLimit.Over(bytes, entries, timers)
}

// AddsTimer is a part of it: a timer that is deleted waits, too.
func (t *trigger) AddsTimer(int, abi.Effect) bool { return true }

// reset forgets answers that were taken.
func (t *trigger) reset() {
	t.wishes, t.answers, t.taken, t.failed, t.isLost = t.wishes[:0], t.answers[:0], 0, firstFailure{}, false
}

// next is the next answer; it is not sound where the function failed, and that is to
// be left out.
func (t *trigger) next() (wishes []timerWish, decision uint32, sound bool, err error) {
	if t.failed.err != nil && t.failed.at == t.taken {
		return nil, 0, false, t.failed.err
	}
	from := 0
	if t.taken > 0 {
		from = t.answers[t.taken-1].wishes
	}
	a := t.answers[t.taken]
	t.taken++
	return t.wishes[from:a.wishes], a.decision, !a.faulty, nil
}

// unite says that a window is merged into the one that the next question is about.
func (t *trigger) unite(from state.Ref) {
	t.unions.windows = append(t.unions.windows, from)
}

// question adds what the core asks. Row and time are of the record that led to it;
// there is none of a timer.
func (t *trigger) question(e *window.Effect, r state.Ref, s side, row stream.Row, at stream.EventTime, now window.Now) error {
	if t.isOver() {
		return nil
	}
	if err := t.enter(r); err != nil || t.isOver() {
		return err
	}
	ctx := &t.ctx
	ctx.Time, ctx.Watermark, ctx.Clock = int64(at), int64(now.Watermark), int64(now.Clock)
	ctx.Start, ctx.End, ctx.Second = e.Window.Start, e.Window.End, guests.NoRow()
	t.clock = now.Clock
	kind, in := abi.OpOnElement, guests.NoRow()
	switch e.Question {
	case window.AboutRecord:
		if t.originals != nil {
			t.originals.keep(t.caller.Len(), s, row)
		}
		in = t.inputs.row(t.caller, s, row)
	case window.AboutTimer:
		ctx.Time, kind = e.Time, abi.OpOnEventTime
		if e.Domain == window.ProcDomain {
			kind = abi.OpOnProcessingTime
		}
	case window.AboutMerge:
		kind = abi.OpOnMerge
		for _, from := range t.unions.pending() {
			t.caller.Merged(uint32(from))
		}
		t.unions.add(t.caller.Len())
	case window.AboutEnd:
		kind = abi.OpClear
	}
	ctx.Key = t.inputs.keyRow(t.caller, t.backend.Key(r))
	group := guests.NoGroup
	if t.has() {
		group = uint32(r)
	}
	t.caller.Add(kind, group, in, ctx)
	if t.caller.Due() {
		return t.perform()
	}
	return nil
}

// enter comes before an op about a window, and about those that are merged into it.
func (t *trigger) enter(r state.Ref) error {
	if t.inFrame == nil {
		return nil
	}
	merged := t.unions.pending()
	if t.inFrame[r] || slices.ContainsFunc(merged, func(from state.Ref) bool { return t.inFrame[from] }) {
		// A read in the frame may remove what this one would see.
		merged = slices.Clone(merged)
		if err := t.perform(); err != nil {
			return err
		}
		t.unions.windows = append(t.unions.windows, merged...)
	}
	t.inFrame[r] = true
	for _, from := range merged {
		t.inFrame[from] = true
	}
	return nil
}

// perform has what is pending answered.
func (t *trigger) perform() error {
	ops := t.caller.Len()
	t.setClock(t.clock)
	err := t.caller.Perform()
	t.sweep(ops)
	t.unions.reset()
	clear(t.inFrame)
	return err
}

// evictor is an evictor that is a function.
type evictor struct {
	stateless
	caller *guests.Caller
	inputs functionInputs
	now    *window.Now
	after  bool
	keep   []bool
	key    stream.Row // of the window
	fault  func(op int, err error) error

	elements  []listedRow // that it is asked about
	lost      []int       // that it failed on
	originals *originals
	failed    func(n int, err error) error
}

// evict appends for each element whether it stays. It is asked at once: what a firing
// sees, and what the window holds after it, depends on the answer.
func (v *evictor) evict(keep []bool, key stream.Row, w window.Window, elements []listedRow) ([]bool, error) {
	ctx := guests.Context{
		Time: w.MaxTimestamp(), Watermark: int64(v.now.Watermark), Clock: int64(v.now.Clock), Key: v.inputs.keyRow(v.caller, key),
		Start: w.Start, End: w.End, Second: guests.NoRow(),
	}
	if v.after {
		ctx.Detail = 1
	}
	v.keep, v.key, v.elements, v.lost = keep, key, elements, v.lost[:0]
	for _, e := range elements {
		v.keep = append(v.keep, true)
		v.caller.Element(guests.Element{Time: int64(e.time), Row: v.inputs.element(v.caller, e), Input: uint32(e.side)})
	}
	v.caller.Add(abi.OpEvict, guests.NoGroup, guests.NoRow(), &ctx)
	err := v.caller.Perform()
	return v.keep, err
}

func (v *evictor) Take(_ int, e abi.Effect) error {
	n := int(e.Aux)
	for _, lost := range v.lost { // it was asked without them
		if n >= lost {
			n++
		}
	}
	v.keep[n] = false
	return nil
}

// Sifted implements guests.Sifting: a record that it fails on leaves the window.
func (v *evictor) Sifted(_, n int, err error) error {
	v.lost, v.keep[n] = append(v.lost, n), false
	return v.failed(n, err)
}

func (v *evictor) Done(int) error { return nil }

// Fault leaves all elements in that it does not fail on alone, unless the step is to fail.
func (v *evictor) Fault(op int, err error) error { return v.fault(op, err) }
