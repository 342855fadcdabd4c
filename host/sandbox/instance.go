package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmstream/wasmstream/abi"
)

// InstanceOptions are what one instance gets from its owner.
type InstanceOptions struct {
	// Log receives the guest's lines, with the ABI's log levels; nil drops them. It
	// is called during calls and must not call the instance.
	Log func(level int, message string)
	// FuelPerCall, FuelPerOp, EffectsBytesMax and MemoryPagesMax stand in the place of
	// the engine's options; 0: those hold. More pages than the engine's there are not.
	FuelPerCall, FuelPerOp, EffectsBytesMax int
	MemoryPagesMax                          uint32
}

// withDefaults fills in what is 0 from an engine's options.
func (o InstanceOptions) withDefaults(of *Options) InstanceOptions {
	o.FuelPerCall = orDefault(o.FuelPerCall, of.FuelPerCall)
	o.FuelPerOp = orDefault(o.FuelPerOp, of.FuelPerOp)
	o.EffectsBytesMax = orDefault(o.EffectsBytesMax, of.EffectsBytesMax)
	o.MemoryPagesMax = min(orDefault(o.MemoryPagesMax, of.MemoryPagesMax), of.MemoryPagesMax)
	return o
}

// Instance is one guest with a memory of its own. A call is a pair: In gives room
// for the frame, which the caller fills, and Call lets the guest work on it.
type Instance struct {
	module  *Module
	options InstanceOptions
	ctx     context.Context // carries the instance to host functions; never cancelled

	guest    api.Module
	room     guestMemory // for the guest's memory, and that of the next
	memory   api.Memory
	in, call api.Function
	stack    [3]uint64
	meters   meters

	// The frame of the last In.
	pointer, size uint32

	closed  bool
	busy    bool
	running bool   // the guest's code runs, or what it called
	entry   string // that was called last
	used    bool   // a call has ended: with FreshInstance, the next starts anew
	cause   *Fault // why the instance is dead, or nil
	opened  []opening
	ops     int        // of the next frame; 0: not told
	rebuilt int64      // fuel of the last Rebuild
	states  StateCalls // nil: the function has none

	// What host functions keep; begin resets it.
	random  uint64
	lines   int
	dropped int
	waits   int
	partial [2][]byte // unfinished lines of stdout and stderr
	stderr  []byte
}

// opening is the opening call of a function, kept to be repeated.
type opening struct {
	function uint32
	frame    []byte
}

// noFunction is Fault.Function of a fault that was in no function.
const noFunction = -1

// start makes the guest, in place of one that there was, and runs its
// initialization.
func (i *Instance) start() error {
	i.release()
	guest, err := i.module.newGuest(i.ctx, &i.room, i.options.MemoryPagesMax)
	if err != nil {
		return i.die(&Fault{Kind: abi.FaultTrap, Module: i.module.name, Entry: "instantiation", Function: noFunction, Message: err.Error()})
	}
	i.guest, i.memory, i.cause, i.used = guest, guest.Memory(), nil, false
	i.meters.find(guest, &i.module.options)
	i.meters.whole = i.options.FuelPerCall / i.options.FuelPerOp
	i.pointer, i.size = 0, 0
	i.in, i.call = guest.ExportedFunction(abi.ExportIn), guest.ExportedFunction(abi.ExportCall)
	initialize := guest.ExportedFunction(abi.ExportInitialize)
	if initialize == nil {
		return nil
	}
	return i.enter(initialize, i.stack[:0], abi.ExportInitialize, noFunction)
}

// release ends the guest. Views of its memory are invalid from here on.
func (i *Instance) release() {
	if i.guest != nil {
		_ = i.guest.Close(i.ctx) // it holds no files, so that nothing can fail
		i.guest, i.memory, i.in, i.call = nil, nil, nil, nil
	}
}

// enter runs guest code: the only place that does.
func (i *Instance) enter(f api.Function, stack []uint64, entry string, function int) error {
	i.random, i.lines, i.dropped, i.waits, i.room.starved = randomSeed, 0, 0, 0, false
	i.stderr = i.stderr[:0]
	i.busy, i.entry = true, entry
	i.refuel(entry)
	i.running = true
	err := f.CallWithStack(i.ctx, stack)
	i.running = false
	switch {
	case err != nil:
		err = i.fault(entry, function, err)
	case entry != abi.ExportIn && i.meters.left() < 0:
		err = i.die(i.outOfFuel(entry, function)) // what it did last was not looked at any more
	}
	i.settle()
	i.busy = false
	return err
}

// settle logs what the call left unsaid.
func (i *Instance) settle() {
	if len(i.partial[0])+len(i.partial[1]) > 0 {
		i.flushLine(1)
		i.flushLine(2)
	}
	if i.dropped > 0 && i.options.Log != nil {
		i.options.Log(abi.LogWarn, fmt.Sprintf("%d more lines of this call were dropped; the limit is %d a call",
			i.dropped, i.module.options.LogLinesMax))
	}
}

// usable returns the reason why no call can be made, or nil.
func (i *Instance) usable(entry string) error {
	switch {
	case i.busy:
		return &Fault{Kind: abi.FaultReentered, Module: i.module.name, Entry: entry, Function: noFunction, Message: ErrReentered.Error()}
	case i.closed:
		return &DeadError{Module: i.module.name}
	case i.cause != nil:
		return &DeadError{Module: i.module.name, Cause: i.cause}
	}
	return nil
}

// In asks the guest for room for a frame of size bytes and returns it, with the
// guest's pointer to it for Call. It ends the life of the last call's effects. A
// guest that has no room gives a TooLargeError; a Fault kills the instance, and a
// Fault of the kind FaultOutOfMemory here means the same as a TooLargeError: Go's
// runtime dies where C answers 0.
func (i *Instance) In(size int) (frame []byte, pointer uint32, err error) {
	if err := i.usable(abi.ExportIn); err != nil {
		return nil, 0, err
	}
	if i.used && i.module.options.FreshInstance {
		if err := i.Rebuild(); err != nil {
			return nil, 0, err
		}
	}
	if size < 0 || size > i.module.options.FrameBytesMax {
		return nil, 0, &TooLargeError{Module: i.module.name, Bytes: size,
			Reason: fmt.Sprintf("a frame may have %d bytes (FrameBytesMax), which no field of limits raises", i.module.options.FrameBytesMax)}
	}
	i.stack[0] = uint64(size)
	if err := i.enter(i.in, i.stack[:1], abi.ExportIn, noFunction); err != nil {
		return nil, 0, err
	}
	i.pointer, i.size = uint32(i.stack[0]), uint32(size)
	if i.pointer == 0 {
		return nil, 0, &TooLargeError{Module: i.module.name, Bytes: size, Reason: "the guest has no room for it"}
	}
	if err := abi.CheckBuffer(i.pointer, i.size, uint64(i.memory.Size())); err != nil {
		return nil, 0, i.badAnswer(abi.ExportIn, noFunction, err)
	}
	return i.Frame(), i.pointer, nil
}

// Frame returns the range of the last In as it is now. After a Call it holds what
// the guest has edited; the slice that In returned may be stale by then.
func (i *Instance) Frame() []byte {
	if i.memory == nil {
		return nil
	}
	frame, ok := i.memory.Read(i.pointer, i.size)
	if !ok {
		return nil // no In has succeeded yet: memory does not shrink
	}
	return frame
}

// Call runs a function, by its index in the manifest, on the frame at pointer. The
// effects are a view of the guest's memory, valid until the next In. A
// TooLargeError says that they had no room; a Fault kills the instance.
func (i *Instance) Call(function, pointer uint32, length int) (effects []byte, err error) {
	if err := i.usable(abi.ExportCall); err != nil {
		return nil, err
	}
	i.stack = [3]uint64{uint64(function), uint64(pointer), uint64(uint32(length))}
	i.used = true
	if err := i.enter(i.call, i.stack[:], abi.ExportCall, int(function)); err != nil {
		return nil, err
	}
	answer := i.stack[0]
	if answer == abi.TooLarge {
		return nil, &TooLargeError{Module: i.module.name, Effects: true, Bytes: length, Reason: "the guest has no room for them"}
	}
	memory, _ := i.memory.Read(0, i.memory.Size())
	if effects, err = abi.EffectsBytes(memory, answer, pointer, uint32(length)); err != nil {
		return nil, i.badAnswer(abi.ExportCall, int(function), err)
	}
	if len(effects) > i.options.EffectsBytesMax {
		return nil, &TooLargeError{Module: i.module.name, Effects: true, Bytes: length,
			Reason: fmt.Sprintf("they are %d bytes, and the limit is %d: limits: {output: …} of the step or the job raises it", len(effects), i.options.EffectsBytesMax)}
	}
	return effects, nil
}

// Open makes the opening call of a function: In and Call with a copy of the frame.
// The instance keeps the frame and repeats the call whenever it is rebuilt, so
// that a function is open as long as its instance can be used. The effects are as
// in Call.
func (i *Instance) Open(function uint32, frame []byte) (effects []byte, err error) {
	kept := opening{function, append([]byte(nil), frame...)}
	if effects, err = i.open(kept); err != nil {
		return nil, err
	}
	i.opened = append(i.opened, kept)
	return effects, nil
}

func (i *Instance) open(o opening) ([]byte, error) {
	room, pointer, err := i.In(len(o.frame))
	if err != nil {
		return nil, err
	}
	copy(room, o.frame)
	return i.Call(o.function, pointer, len(o.frame))
}

// Rebuild throws the guest away and makes a new one, initialized and with the same
// functions open: what is to be done after a fault. All views of the old guest's
// memory are invalid.
func (i *Instance) Rebuild() error {
	switch {
	case i.busy:
		return ErrReentered
	case i.closed:
		return &DeadError{Module: i.module.name}
	}
	if err := i.start(); err != nil {
		return err
	}
	i.rebuilt = i.Fuel()
	for _, o := range i.opened {
		// Until all functions are open, no call counts as the one after which a
		// fresh instance is due.
		i.used = false
		if _, err := i.open(o); err != nil {
			return i.reopenFailed(o, err)
		}
		i.rebuilt += i.Fuel()
	}
	i.used = false
	return nil
}

// RebuildFuel is what the last Rebuild has spent: on the start, and on opening functions.
func (i *Instance) RebuildFuel() int64 { return i.rebuilt }

// reopenFailed makes sure that a half-opened instance is dead, whatever the error.
func (i *Instance) reopenFailed(o opening, err error) error {
	var tooLarge *TooLargeError
	if errors.As(err, &tooLarge) {
		return i.die(&Fault{Kind: abi.FaultTooLarge, Module: i.module.name, Entry: abi.ExportCall, Function: int(o.function), Message: err.Error()})
	}
	return err
}

// MemoryBytes returns the size of the guest's memory as it is now.
func (i *Instance) MemoryBytes() int {
	if i.memory == nil {
		return 0
	}
	return int(i.memory.Size())
}

// Close gives back all that the instance has. It is legal to close a dead or a
// closed instance. Views of its memory are invalid.
func (i *Instance) Close() error {
	if i.busy {
		return ErrReentered
	}
	if i.closed {
		return nil
	}
	i.closed = true
	i.release()
	i.room.giveBack()
	return i.module.unuse()
}
