package recording

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
)

// declared is what the manifest said of the function when it was recorded.
func (f *Function) declared() (*abi.Function, error) {
	m, err := abi.ParseManifestJSON([]byte(f.Manifest))
	if err != nil || len(m.GetFunctions()) != 1 {
		return nil, fmt.Errorf("the recorded manifest of %s.%s is not that of one function: %w", f.Module, f.Name, err)
	}
	return m.GetFunctions()[0], nil
}

// answers are those of the recording. As long as a guest asks as the recorded one did, it
// gets the answers in their order. One that asks differently gets what the recording knows:
// values that it read, entries that it went through, and what it wrote itself.
type answers struct {
	call    *Call
	from    uint32 // the first op of the part of the frame that is performed
	next    int
	strayed bool
	asked   []StateCall
	missing string // the first call that there was no answer to
}

func (a *answers) begin(c *Call) { *a = answers{call: c, asked: a.asked[:0]} }

// follow is the recorded call, if it is like this one.
func (a *answers) follow(s StateCall) *StateCall {
	a.asked = append(a.asked, s)
	if a.call == nil || a.strayed || a.next >= len(a.call.States) {
		a.strayed = true
		return nil
	}
	r := &a.call.States[a.next]
	same := r.Call == s.Call && r.Op == s.Op && r.State == s.State && bytes.Equal(r.Key, s.Key)
	if s.Call == StatePut {
		same = same && bytes.Equal(r.Value, s.Value)
	}
	if s.Call == StateScan {
		same = same && r.Room == s.Room
	}
	if !same {
		a.strayed = true
		return nil
	}
	a.next++
	return r
}

func (s *StateCall) err() error {
	if s.Refused == "" {
		return nil
	}
	return &abi.Fault{Kind: abi.FaultBadState, Op: int(s.Op), Detail: s.Refused}
}

// unknown ends the guest's call.
func (a *answers) unknown(what string, op, state uint32, key []byte) error {
	text := fmt.Sprintf("op %d, %s of state %d with the key %x", op, what, state, key)
	if a.missing == "" {
		a.missing = text
	}
	return &abi.Fault{Kind: abi.FaultBadState, Op: int(op), Detail: "the recording has no answer to " + text}
}

// Get implements sandbox.StateCalls.
func (a *answers) Get(op, state uint32, key []byte) ([]byte, bool, error) {
	op += a.from
	if r := a.follow(StateCall{Call: StateGet, Op: op, State: state, Key: bytes.Clone(key)}); r != nil {
		return r.Value, r.Found, r.err()
	}
	for i := len(a.asked) - 1; i >= 0; i-- { // what it wrote itself
		s := &a.asked[i]
		switch {
		case s.Op != op || s.State != state:
		case s.Call == StatePut && bytes.Equal(s.Key, key):
			return s.Value, true, nil
		case s.Call == StateDelete && (len(s.Key) == 0 || bytes.Equal(s.Key, key)):
			return nil, false, nil
		}
	}
	for i := range a.call.States {
		if r := &a.call.States[i]; r.Call == StateGet && r.Op == op && r.State == state && bytes.Equal(r.Key, key) {
			return r.Value, r.Found, nil
		}
	}
	return nil, false, a.unknown("state_get", op, state, key)
}

// Put implements sandbox.StateCalls.
func (a *answers) Put(op, state uint32, key, value []byte) error {
	op += a.from
	if r := a.follow(StateCall{Call: StatePut, Op: op, State: state, Key: bytes.Clone(key), Value: bytes.Clone(value)}); r != nil {
		return r.err()
	}
	return nil
}

// Delete implements sandbox.StateCalls.
func (a *answers) Delete(op, state uint32, key []byte) error {
	op += a.from
	if r := a.follow(StateCall{Call: StateDelete, Op: op, State: state, Key: bytes.Clone(key)}); r != nil {
		return r.err()
	}
	return nil
}

// Scan implements sandbox.StateCalls.
func (a *answers) Scan(op, state uint32, after, into []byte) (int, error) {
	op += a.from
	if r := a.follow(StateCall{Call: StateScan, Op: op, State: state, Key: bytes.Clone(after), Room: uint32(len(into))}); r != nil {
		if r.Needed > 0 {
			return -r.Needed, r.err()
		}
		return copy(into, r.Value), r.err()
	}
	for i := range a.call.States {
		r := &a.call.States[i]
		if r.Call != StateScan || r.Op != op || r.State != state {
			continue
		}
		rest, found := behind(r.Value, after)
		if bytes.Equal(r.Key, after) {
			if rest, found = r.Value, true; len(rest) == 0 && r.Needed == 0 {
				return 0, nil // behind the last
			}
		}
		if found && len(rest) > 0 {
			return fit(rest, into), nil
		}
	}
	return 0, a.unknown("state_scan", op, state, after)
}

// entryBytes is the size of the first of scanned entries; 0: there is none.
func entryBytes(entries []byte) int {
	if len(entries) < 8 {
		return 0
	}
	key, value := binary.LittleEndian.Uint32(entries), binary.LittleEndian.Uint32(entries[4:])
	n := 8 + (int64(key)+7)&^7 + (int64(value)+7)&^7
	if n > int64(len(entries)) {
		return 0
	}
	return int(n)
}

// behind are the entries behind a key, if it is among them; without a key all.
func behind(entries, key []byte) (rest []byte, found bool) {
	if len(key) == 0 {
		return entries, true
	}
	for rest = entries; ; {
		n := entryBytes(rest)
		if n == 0 {
			return nil, false
		}
		is := bytes.Equal(rest[8:8+binary.LittleEndian.Uint32(rest)], key)
		if rest = rest[n:]; is {
			return rest, true
		}
	}
}

// fit copies as many whole entries as fit.
func fit(entries, into []byte) int {
	n := 0
	for {
		size := entryBytes(entries[n:])
		if size == 0 {
			return n
		}
		if n+size > len(into) {
			if n == 0 {
				return -size
			}
			return n
		}
		n += copy(into[n:], entries[n:n+size])
	}
}
