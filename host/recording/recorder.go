package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/stream"
)

// instance is an instance whose calls are recorded.
type instance struct {
	guest.Instance
	w        *Writer
	function Function
	key      stream.Row // nil: calls about any
	opened   bool
	calls    uint64
	call     Call   // that is under way, if it is recorded
	on       bool   // it is
	buffer   []byte // of the last record
	states   sandbox.StateCalls
}

// Wrap has the calls of an instance recorded. The function's ID, Instance, Open and Opened
// are filled in. With a key only calls with an op of that key are recorded.
func (w *Writer) Wrap(i guest.Instance, f Function, key stream.Row) guest.Instance {
	return &instance{Instance: i, w: w, function: f, key: key}
}

// callsStates is an instance whose guest asks for states.
type callsStates interface {
	CallStates(sandbox.StateCalls)
}

// CallStates says who answers the guest's calls on states: we listen.
func (i *instance) CallStates(s sandbox.StateCalls) {
	if of, ok := i.Instance.(callsStates); ok {
		i.states = s
		of.CallStates(i.listen())
	}
}

func (i *instance) listen() sandbox.StateCalls {
	if i.states == nil {
		return nil
	}
	return listener{i}
}

// Ops tells how many ops the next frame has, if the instance wants to know.
func (i *instance) Ops(n int) {
	if of, ok := i.Instance.(interface{ Ops(n int) }); ok {
		of.Ops(n)
	}
}

// Fuel is what the last call used, if the instance knows.
func (i *instance) Fuel() int64 {
	if of, ok := i.Instance.(interface{ Fuel() int64 }); ok {
		return of.Fuel()
	}
	return 0
}

// MemoryBytes is how large the guest's memory is, if the instance knows.
func (i *instance) MemoryBytes() int {
	if of, ok := i.Instance.(interface{ MemoryBytes() int }); ok {
		return of.MemoryBytes()
	}
	return 0
}

// Open implements guest.Instance.
func (i *instance) Open(function uint32, frame []byte) ([]byte, error) {
	effects, err := i.Instance.Open(function, frame)
	if err == nil && !i.opened {
		i.opened = true
		i.function.Open, i.function.Opened = bytes.Clone(frame), bytes.Clone(effects)
		i.w.function(&i.function)
	}
	return effects, err
}

// Call implements guest.Instance.
func (i *instance) Call(function, pointer uint32, length int) ([]byte, error) {
	n := i.calls
	i.calls++
	frame := i.Frame()
	if frame = frame[:min(length, len(frame))]; !i.opened || !i.selects(n, frame) {
		return i.Instance.Call(function, pointer, length)
	}
	i.call.Function, i.call.Number, i.call.Frame = i.function.ID, n, append(i.call.Frame[:0], frame...)
	i.call.States = i.call.States[:0]
	i.on = true
	effects, err := i.Instance.Call(function, pointer, length)
	i.on = false
	i.ended(effects, err)
	return effects, err
}

// ended writes the call that is under way.
func (i *instance) ended(effects []byte, err error) {
	c := &i.call
	c.Outcome, c.Fault, c.Message, c.Effects, c.Slots = Answered, 0, "", effects, nil
	var fault *sandbox.Fault
	var large *sandbox.TooLargeError
	switch {
	case err == nil:
		c.Slots = slotsOf(i.Frame())
	case errors.As(err, &fault):
		c.Outcome, c.Fault, c.Message = Faulted, fault.Kind, fault.Message
	case errors.As(err, &large):
		c.Outcome, c.Message = TooLarge, large.Reason
	default:
		return // it is not the guest's doing
	}
	i.buffer = i.w.call(c, i.buffer)
	c.Effects, c.Slots = nil, nil // views of the guest's memory
}

// slotsOf are a frame's slots of fixed width.
func slotsOf(frame []byte) []byte {
	h, err := abi.ReadHeader(frame)
	if err != nil || h.Stride == 0 {
		return nil
	}
	return frame[h.SlotsOffset : h.SlotsOffset+h.Slots*h.Stride]
}

// selects tells whether a call is recorded.
func (i *instance) selects(n uint64, frame []byte) bool {
	if sample := i.w.options.Sample; sample > 1 && n%uint64(sample) != 0 {
		return false
	}
	return i.key == nil || hasKey(frame, i.key)
}

// hasKey tells whether an op of a frame has that key in its context.
func hasKey(frame []byte, key stream.Row) bool {
	h, err := abi.ReadHeader(frame)
	if err != nil {
		return false
	}
	for i := range int(h.Ops) {
		if bytes.Equal(keyOf(frame, abi.ReadOp(frame, int(h.OpsOffset)+i*abi.OpBytes), len(key)), key) {
			return true
		}
	}
	return false
}

// keyed are the kinds of ops whose context has a key.
var keyed = []abi.OpKind{
	abi.OpOnRecord, abi.OpOnSecond, abi.OpOnTimer, abi.OpOnKey, abi.OpOnWindow, abi.OpOnElement, abi.OpOnEventTime,
	abi.OpOnProcessingTime, abi.OpOnMerge, abi.OpClear, abi.OpEvict, abi.OpOnGroup, abi.OpOnPair,
}

// keyOf is so many bytes of the key of an op; nil if it has none. A context without a key
// is another area's bytes or zeros there, which lie in the frame all the same or are passed
// over: that they are equal to a key by chance costs a record too many.
func keyOf(frame []byte, op abi.Op, length int) []byte {
	at := uint64(op.Arg) + abi.ContextAtKey
	if !slices.Contains(keyed, op.Kind) || op.Arg == 0 || at+4 > uint64(len(frame)) {
		return nil
	}
	key := uint64(binary.LittleEndian.Uint32(frame[at:]))
	if key == 0 || key+uint64(length) > uint64(len(frame)) {
		return nil
	}
	return frame[key : key+uint64(length)]
}

// listener records host calls on states.
type listener struct{ i *instance }

func (l listener) note(s StateCall, err error) {
	if !l.i.on {
		return
	}
	if err != nil {
		s.Refused = err.Error()
	}
	s.Key, s.Value = bytes.Clone(s.Key), bytes.Clone(s.Value)
	l.i.call.States = append(l.i.call.States, s)
}

// Get implements sandbox.StateCalls.
func (l listener) Get(op, state uint32, key []byte) ([]byte, bool, error) {
	value, ok, err := l.i.states.Get(op, state, key)
	l.note(StateCall{Call: StateGet, Op: op, State: state, Key: key, Value: value, Found: ok}, err)
	return value, ok, err
}

// Put implements sandbox.StateCalls.
func (l listener) Put(op, state uint32, key, value []byte) error {
	err := l.i.states.Put(op, state, key, value)
	l.note(StateCall{Call: StatePut, Op: op, State: state, Key: key, Value: value}, err)
	return err
}

// Delete implements sandbox.StateCalls.
func (l listener) Delete(op, state uint32, key []byte) error {
	err := l.i.states.Delete(op, state, key)
	l.note(StateCall{Call: StateDelete, Op: op, State: state, Key: key}, err)
	return err
}

// Scan implements sandbox.StateCalls.
func (l listener) Scan(op, state uint32, after, into []byte) (int, error) {
	n, err := l.i.states.Scan(op, state, after, into)
	l.note(StateCall{Call: StateScan, Op: op, State: state, Key: after, Value: into[:max(n, 0)], Room: uint32(len(into)), Needed: max(-n, 0)}, err)
	return n, err
}
