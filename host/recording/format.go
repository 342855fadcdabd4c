package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/wasmstream/wasmstream/abi"
)

// magic is the first line of a recording; the number is the version of the format.
const magic = family + " 0\n"

// family is how recordings of all versions begin.
const family = "wasmstream recording"

// Looks tells whether a file that begins so may be a recording, of any version.
func Looks(beginning []byte) bool { return bytes.HasPrefix(beginning, []byte(family)) }

// The kinds of records.
const (
	kindHeader   = 1 // JSON
	kindFunction = 2 // JSON
	kindCall     = 3
	kindEnd      = 4 // JSON
)

// recordBytesMax bounds a record: a frame, effects and state calls of a call, all at
// their limits, are less.
const recordBytesMax = 64 << 20

// recordHead is what stands before a record's payload.
const recordHead = 4 + 4 + 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header is about the whole recording.
type Header struct {
	Job     string   `json:"job"`
	Version string   `json:"wasmstream"`
	ABI     uint32   `json:"abi"`
	Modules []Module `json:"modules"`
	// What was recorded, as the command line had it.
	Step   string `json:"step,omitempty"`
	Key    string `json:"key,omitempty"`
	Sample int    `json:"sample,omitempty"`
}

// Module is a module that was recorded.
type Module struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Digest string `json:"digest"` // sha256:…
}

// Function is an instance of a function whose calls were recorded.
type Function struct {
	ID       uint32 `json:"id"`
	Step     string `json:"step"`
	Module   string `json:"module"`
	Name     string `json:"name"`
	Role     string `json:"role"`
	Index    int    `json:"index"` // in the manifest
	Instance int    `json:"instance"`
	// Manifest is the module's as JSON, with this function alone.
	Manifest string `json:"manifest"`
	Limits   Limits `json:"limits,omitzero"`
	// Open is the frame that opened it, and Opened what it answered.
	Open   []byte `json:"open"`
	Opened []byte `json:"opened"`
}

// Limits are what a function's calls were held to; those that are 0 are not known.
type Limits struct {
	Fuel        int64 `json:"fuel,omitempty"`        // of a call
	FuelPerOp   int64 `json:"fuelPerOp,omitempty"`   // for each op of it
	OutputBytes int64 `json:"outputBytes,omitempty"` // of what it answers
	MemoryBytes int64 `json:"memoryBytes,omitempty"` // of the instance
}

// end says why a recording ends, if the run was not killed.
type end struct {
	Reason string `json:"reason"` // empty: the run ended
	Calls  uint64 `json:"calls"`
}

// How a call ended.
const (
	Answered = 0
	TooLarge = 1 // for the guest's buffers: the host halves the frame
	Faulted  = 2
)

// Call is a recorded call.
type Call struct {
	Function uint32
	Number   uint64 // of the instance's calls, counted from 0; those that were not recorded count
	Outcome  uint8
	Fault    abi.FaultKind // of Faulted
	Message  string        // of Faulted and TooLarge
	Frame    []byte        // as the guest got it
	Slots    []byte        // those of fixed width, as it left them
	Effects  []byte
	States   []StateCall
}

// The host calls on states.
const (
	StateGet uint8 = iota
	StatePut
	StateDelete
	StateScan
)

// StateCall is a host call on a state, with its answer.
type StateCall struct {
	Call      uint8
	Op, State uint32
	Key       []byte // state_scan: the one after which it begins
	Value     []byte // what it put or got; state_scan: the entries
	Room      uint32 // state_scan: how large the guest's buffer was
	Found     bool   // state_get
	Needed    int    // state_scan: the bytes that the next entry needs, if not even one fitted
	Refused   string // why it ended the guest's call
}

// seal puts head and payload together; payload begins with recordHead free bytes.
func seal(record []byte, kind uint8) []byte {
	record[8] = kind
	binary.LittleEndian.PutUint32(record, uint32(len(record)-recordHead))
	binary.LittleEndian.PutUint32(record[4:], crc32.Checksum(record[8:], castagnoli))
	return record
}

func appendBytes(b, v []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(v)))
	return append(b, v...)
}

// appendTo writes the call.
func (c *Call) appendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(c.Function))
	b = binary.AppendUvarint(b, c.Number)
	b = append(b, c.Outcome, uint8(c.Fault))
	b = appendBytes(b, []byte(c.Message))
	b = appendBytes(b, c.Frame)
	b = appendBytes(b, c.Slots)
	b = appendBytes(b, c.Effects)
	b = binary.AppendUvarint(b, uint64(len(c.States)))
	for i := range c.States {
		s := &c.States[i]
		found := uint8(0)
		if s.Found {
			found = 1
		}
		b = append(b, s.Call, found)
		b = binary.AppendUvarint(b, uint64(s.Op))
		b = binary.AppendUvarint(b, uint64(s.State))
		b = binary.AppendUvarint(b, uint64(s.Room))
		b = binary.AppendUvarint(b, uint64(s.Needed))
		b = appendBytes(b, s.Key)
		b = appendBytes(b, s.Value)
		b = appendBytes(b, []byte(s.Refused))
	}
	return b
}

var errShort = errors.New("it ends too early")

// cursor reads a payload; after an error it gives zeros.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) byte() uint8 {
	if len(c.rest) == 0 {
		c.err = errShort
		return 0
	}
	v := c.rest[0]
	c.rest = c.rest[1:]
	return v
}

func (c *cursor) number(most uint64) uint64 {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		c.err, c.rest = errShort, nil
		return 0
	}
	c.rest = c.rest[n:]
	if v > most {
		c.err = fmt.Errorf("a number of %d, where %d is the most", v, most)
		return 0
	}
	return v
}

func (c *cursor) bytes() []byte {
	n := c.number(recordBytesMax)
	if n > uint64(len(c.rest)) {
		c.err, c.rest = errShort, nil
		return nil
	}
	v := c.rest[:n:n]
	c.rest = c.rest[n:]
	return v
}

// stateCallBytesMin is what a state call takes at least: its numbers and lengths.
const stateCallBytesMin = 9

// readCall reads a call; its bytes are views of the payload.
func readCall(payload []byte) (Call, error) {
	r := cursor{rest: payload}
	c := Call{Function: uint32(r.number(1<<32 - 1)), Number: r.number(1<<64 - 1), Outcome: r.byte(), Fault: abi.FaultKind(r.byte())}
	c.Message, c.Frame, c.Slots, c.Effects = string(r.bytes()), r.bytes(), r.bytes(), r.bytes()
	n := r.number(uint64(len(r.rest)) / stateCallBytesMin)
	if r.err == nil && n > 0 {
		c.States = make([]StateCall, n)
	}
	for i := range c.States {
		s := &c.States[i]
		s.Call, s.Found = r.byte(), r.byte() == 1
		s.Op, s.State = uint32(r.number(1<<32-1)), uint32(r.number(1<<32-1))
		s.Room, s.Needed = uint32(r.number(1<<32-1)), int(r.number(recordBytesMax))
		s.Key, s.Value, s.Refused = r.bytes(), r.bytes(), string(r.bytes())
	}
	if r.err == nil && len(r.rest) > 0 {
		r.err = fmt.Errorf("%d bytes follow its end", len(r.rest))
	}
	if r.err != nil {
		return c, fmt.Errorf("a call is damaged: %w", r.err)
	}
	return c, nil
}
