package sandbox

import (
	"errors"
	"fmt"
	"math"

	"github.com/wasmstream/wasmstream/abi"
)

// StateCalls is what a guest's calls on list, map and broadcast states do, as the ABI has
// them. op is an index in the frame that is being performed, state one in the manifest.
// What is handed over is the guest's memory: good during the call. An error that is an
// *abi.Fault says what the guest did wrong.
type StateCalls interface {
	// Get is the value of a map's entry, a view until the next call.
	Get(op, state uint32, key []byte) (value []byte, ok bool, err error)
	// Put sets a map's entry; without a key it appends to a list.
	Put(op, state uint32, key, value []byte) error
	// Delete deletes an entry; without a key all of them.
	Delete(op, state uint32, key []byte) error
	// Scan copies entries behind one, and answers their bytes, or less those that are
	// needed for the next one.
	Scan(op, state uint32, after, into []byte) (n int, err error)
}

// CallStates says who answers the guest's calls on states; without, they are faults.
func (i *Instance) CallStates(s StateCalls) { i.states = s }

// stateFunctions are the imports of the ABI for states.
func stateFunctions() []hostFunction {
	return []hostFunction{
		{abi.ImportModule, abi.ImportStateGet, signature{"iiiiii", "i"}, (*Instance).hostStateGet},
		{abi.ImportModule, abi.ImportStatePut, signature{"iiiiii", ""}, (*Instance).hostStatePut},
		{abi.ImportModule, abi.ImportStateDelete, signature{"iiii", ""}, (*Instance).hostStateDelete},
		{abi.ImportModule, abi.ImportStateScan, signature{"iiiiii", "i"}, (*Instance).hostStateScan},
	}
}

// hostStateGet is wasmstream.state_get(op, state, key, key_length, into, into_length).
// It answers the value's length, and copies it if it is no longer than into_length; or
// -1, if there is no such entry.
func (i *Instance) hostStateGet(stack []uint64) {
	key := i.stateBytes(stack[2], stack[3], abi.ImportStateGet)
	into := i.stateBytes(stack[4], stack[5], abi.ImportStateGet)
	value, ok, err := i.stateCalls(abi.ImportStateGet).Get(uint32(stack[0]), uint32(stack[1]), key)
	i.settleStateCall(err)
	if !ok {
		stack[0] = math.MaxUint32 // -1
		return
	}
	if len(value) <= len(into) {
		copy(into, value)
	}
	stack[0] = uint64(uint32(len(value)))
}

// hostStatePut is wasmstream.state_put(op, state, key, key_length, value, value_length).
func (i *Instance) hostStatePut(stack []uint64) {
	key := i.stateBytes(stack[2], stack[3], abi.ImportStatePut)
	value := i.stateBytes(stack[4], stack[5], abi.ImportStatePut)
	i.settleStateCall(i.stateCalls(abi.ImportStatePut).Put(uint32(stack[0]), uint32(stack[1]), key, value))
}

// hostStateDelete is wasmstream.state_delete(op, state, key, key_length).
func (i *Instance) hostStateDelete(stack []uint64) {
	key := i.stateBytes(stack[2], stack[3], abi.ImportStateDelete)
	i.settleStateCall(i.stateCalls(abi.ImportStateDelete).Delete(uint32(stack[0]), uint32(stack[1]), key))
}

// hostStateScan is wasmstream.state_scan(op, state, after, after_length, into,
// into_length). It answers the bytes that it wrote, 0 at the end, and if not even the
// next entry fits, less the bytes that it needs.
func (i *Instance) hostStateScan(stack []uint64) {
	after := i.stateBytes(stack[2], stack[3], abi.ImportStateScan)
	into := i.stateBytes(stack[4], stack[5], abi.ImportStateScan)
	n, err := i.stateCalls(abi.ImportStateScan).Scan(uint32(stack[0]), uint32(stack[1]), after, into)
	i.settleStateCall(err)
	stack[0] = uint64(uint32(int32(n)))
}

// stateBytes is a part of the guest's memory, a view that shows writes.
func (i *Instance) stateBytes(pointer, length uint64, function string) []byte {
	b, ok := i.memory.Read(uint32(pointer), uint32(length))
	if !ok {
		panic(&stop{abi.FaultBadPointer, fmt.Sprintf("%s.%s got %d bytes at %d, which is outside its memory of %d bytes",
			abi.ImportModule, function, uint32(length), uint32(pointer), i.memory.Size())})
	}
	return b[:len(b):len(b)]
}

func (i *Instance) stateCalls(function string) StateCalls {
	if i.states == nil {
		panic(&stop{abi.FaultBadState, fmt.Sprintf("%s.%s was called, and the function has no state", abi.ImportModule, function)})
	}
	return i.states
}

// settleStateCall ends the guest's call if it did wrong.
func (*Instance) settleStateCall(err error) {
	if err == nil {
		return
	}
	var fault *abi.Fault
	if errors.As(err, &fault) {
		panic(&stop{fault.Kind, fault.Detail})
	}
	panic(&stop{abi.FaultBadState, err.Error()})
}
