package wasmstream

import (
	"encoding/binary"
	"unsafe"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// sdkVersion is in the manifest, for people.
const sdkVersion = "0.0.0"

// Function is a function of any role: an *Aggregate, a *Map.
type Function interface {
	prepare()
	common() *base
	op(*Op)
}

// fast is a function that performs frames by itself, where it can.
type fast interface {
	run(frame) bool
}

// machine is the module at work: its functions and the two buffers that it shares with the host.
type machine struct {
	functions []Function
	// in is the frame's buffer; as a field it stays reachable, so that the collector leaves it where it is.
	in []uint64
	// effects is a buffer, of which so much is used by this call; what is not is zero.
	effects []byte
	used    int
	// open is the row that is being written in the effects, if it is of variable width.
	open openRow
	// slots are those of the frame, where they are answered by effects.
	slots    []variableSlot
	manifest []byte
	// tooLarge is whether the effects of this call passed their limit.
	tooLarge bool
	// busy is whether a call has begun and not ended.
	busy bool
}

// openRow is a row of variable width that is being written in the effects: longer values that are set in the order of the
// columns go right behind it. It is where the row is, shifted left by rowShift, and a bit that says that it is sound: no longer
// value went into the arena or was replaced; and below that, the first column that may still go there. 0 if there is none. It
// is one number, since that takes one load or store.
type openRow uint64

const (
	rowShift = 32
	rowSound = 1 << 31
)

func openRowAt(at int) openRow { return openRow(at)<<rowShift | rowSound }

func (r openRow) at() int { return int(r >> rowShift) }

func (r openRow) next() int { return int(r & (rowSound - 1)) }

func (r openRow) isSound() bool { return r&rowSound != 0 }

// isOpen tells the row that is being written, as long as it is sound.
func (m *machine) isOpen(row unsafe.Pointer) bool {
	return m.open.isSound() && row == unsafe.Add(unsafe.Pointer(unsafe.SliceData(m.effects)), m.open.at())
}

var guest machine

var le = binary.LittleEndian

func init() { raw.Guest = &guest }

// Register adds functions to the module; their order is their index. Call it in init: main does not run in Wasm.
func Register(functions ...Function) {
	for _, f := range functions {
		f.prepare()
		guest.functions = append(guest.functions, f)
	}
}

// Log levels.
const (
	Debug = raw.LogDebug
	Info  = raw.LogInfo
	Warn  = raw.LogWarn
	Error = raw.LogError
)

// Log writes a line to the job's log.
func Log(level uint32, line string) { raw.Log(level, line) }

// Fail refuses the record at hand with a message: nothing of this call's work on it is kept. It does not return.
func Fail(message string) { raw.Fail(message) }

// frame is a frame's header, read once.
type frame struct {
	base, ops, slots  unsafe.Pointer
	count, slotsCount uint32
	stride            uintptr
}

// In returns the buffer for frames.
func (m *machine) In(size uint32) []byte {
	if size > raw.FrameBytesMax {
		return nil
	}
	if need := (int(size) + 7) / 8; need >= len(m.in) {
		// A word more: loops over ops look at the kind of the one behind the last, too.
		m.in = make([]uint64, max(need, 1<<13)+1)
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(m.in))), size)
}

// Call performs a frame's ops. A panic is not recovered here, since the deferred call would cost more than a record: the
// runtime writes it to standard error, which the host takes for the fault's message, and exits.
func (m *machine) Call(index uint32, bytes []byte) (effects []byte, fits bool) {
	// Rows in the effects begin as zeros: cleared at once, since each clearing is a call into the engine.
	if m.busy {
		// Natively a test goes on after a function panicked; what that left behind the effects is not zero.
		m.effects = nil
	} else if m.used > 0 {
		clear(m.effects[:m.used])
	}
	m.used, arena, m.tooLarge, m.busy, m.open = 0, arena[:0], false, true, 0
	f, fr := m.functions[m.check(index, bytes)], open(bytes)
	if quick, ok := f.(fast); !ok || !quick.run(fr) {
		m.perform(f, fr)
	}
	m.busy = false
	return m.effects[:m.used], !m.tooLarge
}

// check finds what would be a mistake in the host's making; for the rest the host is trusted.
func (m *machine) check(index uint32, bytes []byte) uint32 {
	switch {
	case int(index) >= len(m.functions):
		raw.Fail("wasmstream: the module has no function of that index")
	case len(bytes) < raw.HeaderBytes:
		raw.Fail("wasmstream: a frame shorter than its header")
	case le.Uint32(bytes[raw.HeaderAtVersion:]) != raw.Version || int(le.Uint32(bytes[raw.HeaderAtTotalLength:])) != len(bytes):
		raw.Fail("wasmstream: a frame of another version or length")
	}
	return index
}

// open reads the header of a frame that was checked.
func open(bytes []byte) frame {
	base := unsafe.Pointer(unsafe.SliceData(bytes))
	at := func(offset uintptr) uint32 { return *(*uint32)(unsafe.Add(base, offset)) }
	return frame{
		base: base, ops: unsafe.Add(base, at(raw.HeaderAtOpsOffset)), slots: unsafe.Add(base, at(raw.HeaderAtSlotsOffset)),
		count: at(raw.HeaderAtOpsCount), slotsCount: at(raw.HeaderAtSlotsCount), stride: uintptr(at(raw.HeaderAtSlotStride)),
	}
}

// isOpening tells a frame that opens the function: there is nothing else in it.
func (f *frame) isOpening() bool { return f.count > 0 && *(*uint16)(f.ops) == raw.OpOpen }

// grow makes room for effects up to end; false where they would be too large. In the functions that seldom call it its code
// would make the rest slower.
//
//go:noinline
func (m *machine) grow(end int) bool {
	if end > raw.EffectsBytesMax {
		m.tooLarge = true
		return false
	}
	larger := make([]byte, max(min(2*end, raw.EffectsBytesMax), 1<<14))
	copy(larger, m.effects)
	m.effects = larger
	return true
}

// reserve makes room for n bytes of effects, which are zero. Where they do not fit they go nowhere, and the call says so.
func (m *machine) reserve(n int) unsafe.Pointer {
	at := m.used
	if at+n > len(m.effects) && !m.grow(at+n) {
		return unsafe.Pointer(unsafe.SliceData(make([]byte, n)))
	}
	m.used = at + n
	return unsafe.Pointer(&m.effects[at])
}
