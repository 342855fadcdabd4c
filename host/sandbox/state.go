package sandbox

import (
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
)

// StateCalls answers a guest's calls on list, map and broadcast states. Keys and values
// that it gets are views of the guest's memory, good until it returns. An error that is
// an *abi.Fault is the guest's fault; it ends the call.
type StateCalls interface {
	// Get is the value of a map's entry.
	Get(op, state uint32, key []byte) (value []byte, ok bool, err error)
	// Put sets a map's entry; without a key it appends to a list.
	Put(op, state uint32, key, value []byte) error
	// Delete takes an entry away; without a key all of them.
	Delete(op, state uint32, key []byte) error
	// Scan writes entries behind one as the ABI lays them out, as many whole ones as fit:
	// n is their bytes, 0 at the end, -(bytes needed) if not even one fits.
	Scan(op, state uint32, after, into []byte) (n int, err error)
}

// CallStates gives the instance whom its guest's calls on states go to; nil: they are faults.
func (i *Instance) CallStates(states StateCalls) { i.states = states }

// stateFunctions are the imports by which guests reach states.
func stateFunctions() []hostFunction {
	return []hostFunction{
		{abi.ImportModule, abi.ImportStateGet, signature{"iiiiii", "i"}, (*Instance).hostStateGet},
		{abi.ImportModule, abi.ImportStatePut, signature{"iiiiii", ""}, (*Instance).hostStatePut},
		{abi.ImportModule, abi.ImportStateDelete, signature{"iiii", ""}, (*Instance).hostStateDelete},
		{abi.ImportModule, abi.ImportStateScan, signature{"iiiiii", "i"}, (*Instance).hostStateScan},
	}
}

// hostStateGet is wasmstream.state_get(op, state, key, key_length, into, into_length).
func (i *Instance) hostStateGet(stack []uint64) {
	op, state := i.stateCall(stack, abi.ImportStateGet)
	key := i.charged(i.part(stack[2], stack[3], abi.ImportStateGet))
	into := i.part(stack[4], stack[5], abi.ImportStateGet)
	value, ok, err := i.states.Get(op, state, key)
	i.stateAnswer(err)
	i.charge(int64(min(len(value), len(into))) / hostCopyBytesPerFuel)
	length := int32(len(value))
	if !ok {
		length = -1
	} else if len(value) <= len(into) {
		copy(into, value)
	}
	stack[0] = uint64(uint32(length))
}

// hostStatePut is wasmstream.state_put(op, state, key, key_length, value, value_length).
func (i *Instance) hostStatePut(stack []uint64) {
	op, state := i.stateCall(stack, abi.ImportStatePut)
	key := i.charged(i.part(stack[2], stack[3], abi.ImportStatePut))
	i.stateAnswer(i.states.Put(op, state, key, i.charged(i.part(stack[4], stack[5], abi.ImportStatePut))))
}

// hostStateDelete is wasmstream.state_delete(op, state, key, key_length).
func (i *Instance) hostStateDelete(stack []uint64) {
	op, state := i.stateCall(stack, abi.ImportStateDelete)
	i.stateAnswer(i.states.Delete(op, state, i.charged(i.part(stack[2], stack[3], abi.ImportStateDelete))))
}

// hostStateScan is wasmstream.state_scan(op, state, after, after_length, into, into_length).
func (i *Instance) hostStateScan(stack []uint64) {
	op, state := i.stateCall(stack, abi.ImportStateScan)
	after := i.charged(i.part(stack[2], stack[3], abi.ImportStateScan))
	n, err := i.states.Scan(op, state, after, i.part(stack[4], stack[5], abi.ImportStateScan))
	i.stateAnswer(err)
	i.charge(int64(max(n, 0)) / hostCopyBytesPerFuel)
	stack[0] = uint64(uint32(int32(n)))
}

// stateCall refuses a call that nobody answers.
func (i *Instance) stateCall(stack []uint64, function string) (op, state uint32) {
	if i.states == nil {
		panic(&stop{abi.FaultBadState, fmt.Sprintf("%s.%s was called, and the function has no state", abi.ImportModule, function)})
	}
	i.charge(hostStateFuel)
	return uint32(stack[0]), uint32(stack[1])
}

// part is a range of the guest's memory, which may be empty wherever it is. Keys and
// values are charged for when they are known to be there; room to write to is charged
// for what is written.
func (i *Instance) part(pointer, length uint64, function string) []byte {
	if uint32(length) == 0 {
		return nil
	}
	b, ok := i.memory.Read(uint32(pointer), uint32(length))
	if !ok {
		panic(&stop{abi.FaultBadPointer, fmt.Sprintf("%s.%s got %d bytes at %d, which is outside its memory of %d bytes",
			abi.ImportModule, function, uint32(length), uint32(pointer), i.memory.Size())})
	}
	return b
}

func (i *Instance) charged(b []byte) []byte {
	i.charge(int64(len(b)) / hostCopyBytesPerFuel)
	return b
}

// stateAnswer ends the call if the state was not to be had.
func (i *Instance) stateAnswer(err error) {
	if err == nil {
		return
	}
	var refused *abi.Fault
	if errors.As(err, &refused) {
		panic(&stop{refused.Kind, refused.Detail})
	}
	panic(&stop{abi.FaultBadState, err.Error()})
}
