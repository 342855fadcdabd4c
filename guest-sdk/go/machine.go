package wasmstream

import (
	"encoding/binary"
	"unsafe"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// sdkVersion is in the manifest, for people.
const sdkVersion = "0.0.0"

// Function is a function of any role: an *Aggregate.
type Function interface {
	prepare()
	run(*frame)
	describe(text []byte) []byte
}

// machine is the module at work: its functions and the two buffers that it shares with the host.
type machine struct {
	functions []Function
	// in is the frame's buffer; as a field it stays reachable, so that the collector leaves it where it is.
	in       []uint64
	effects  []byte
	scratch  []byte
	manifest []byte
	// frame is the one at work; on the stack it would escape and cost an allocation a call.
	frame frame
}

var guest machine

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
	if need := (int(size) + 7) / 8; need > len(m.in) || m.in == nil {
		m.in = make([]uint64, max(need, 1<<13))
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(m.in))), size)
}

// Call performs a frame's ops.
func (m *machine) Call(index uint32, bytes []byte) (effects []byte, fits bool) {
	m.effects, arena = m.effects[:0], arena[:0]
	defer m.recovered(&fits)
	m.open(index, bytes)
	m.functions[index].run(&m.frame)
	return m.effects, true
}

// open reads the header. The host is trusted, so this only finds what would be a mistake in its making.
func (m *machine) open(index uint32, bytes []byte) {
	if int(index) >= len(m.functions) {
		raw.Fail("wasmstream: the module has no function of that index")
	}
	if len(bytes) < raw.HeaderBytes {
		raw.Fail("wasmstream: a frame shorter than its header")
	}
	at := func(offset int) uint32 { return binary.LittleEndian.Uint32(bytes[offset:]) }
	if at(raw.HeaderAtVersion) != raw.Version || int(at(raw.HeaderAtTotalLength)) != len(bytes) {
		raw.Fail("wasmstream: a frame of another version or length")
	}
	base := unsafe.Pointer(unsafe.SliceData(bytes))
	m.frame = frame{
		base: base, ops: unsafe.Add(base, at(raw.HeaderAtOpsOffset)), slots: unsafe.Add(base, at(raw.HeaderAtSlotsOffset)),
		count: at(raw.HeaderAtOpsCount), slotsCount: at(raw.HeaderAtSlotsCount), stride: uintptr(at(raw.HeaderAtSlotStride)),
	}
}

// tooLarge is what grow panics with when the effects pass their limit.
type tooLarge struct{}

// recovered turns a panic into the answer "too large" or into fail with its message, so that the host can say more than
// that the guest trapped.
func (m *machine) recovered(fits *bool) {
	switch p := recover().(type) {
	case nil:
	case tooLarge:
		*fits = false
	case error:
		m.failed(p, p.Error())
	case string:
		m.failed(p, p)
	default:
		m.failed(p, "panic")
	}
}

// failed reports a panic. Natively it goes on, for the test to see.
func (m *machine) failed(cause any, message string) {
	if raw.Checked {
		panic(cause)
	}
	raw.Fail("panic: " + message)
}

// grow makes room for effects up to end.
func (m *machine) grow(end int) {
	if end > raw.EffectsBytesMax {
		panic(tooLarge{})
	}
	larger := make([]byte, len(m.effects), max(2*end, 1<<14))
	copy(larger, m.effects)
	m.effects = larger
}

// beginEffect opens an effect whose payload is then appended to m.effects.
func (m *machine) beginEffect(kind, op, aux uint32) int {
	at := len(m.effects)
	m.effects = binary.LittleEndian.AppendUint64(m.effects, uint64(kind)|uint64(op)<<32)
	m.effects = binary.LittleEndian.AppendUint64(m.effects, uint64(aux)<<32)
	return at
}

// endEffect closes the effect begun at at: its length, and padding to 8.
func (m *machine) endEffect(at int) {
	length := len(m.effects) - at - raw.EffectBytes
	binary.LittleEndian.PutUint32(m.effects[at+raw.EffectAtLength:], uint32(length))
	for len(m.effects)%8 != 0 {
		m.effects = append(m.effects, 0)
	}
	if len(m.effects) > raw.EffectsBytesMax {
		panic(tooLarge{})
	}
}
