package sandbox

import (
	"errors"
	"fmt"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
)

// oneState answers calls as a map does that has a value of four bytes, and tells of them.
type oneState struct {
	told string
	err  error
}

func (s *oneState) tell(format string, args ...any) { s.told = fmt.Sprintf(format, args...) }

// Get implements StateCalls.
func (s *oneState) Get(op, state uint32, key []byte) (value []byte, ok bool, err error) {
	s.tell("get %d %d %q", op, state, key)
	return []byte("four"), string(key) != "none", s.err
}

// Put implements StateCalls.
func (s *oneState) Put(op, state uint32, key, value []byte) error {
	s.tell("put %d %d %q %q", op, state, key, value)
	return s.err
}

// Delete implements StateCalls.
func (s *oneState) Delete(op, state uint32, key []byte) error {
	s.tell("delete %d %d %q", op, state, key)
	return s.err
}

// Scan implements StateCalls.
func (s *oneState) Scan(op, state uint32, after, into []byte) (n int, err error) {
	s.tell("scan %d %d %q %d", op, state, after, len(into))
	if len(into) < 4 {
		return -4, s.err
	}
	return copy(into, "four"), s.err
}

// TestStateCalls: each is handed on with views of the guest's memory, what comes back
// is written where the guest says, and nothing else is touched.
func TestStateCalls(t *testing.T) {
	bad := &abi.Fault{Kind: abi.FaultBadRow, Detail: "no row"}
	m := load(t, Options{}, goodModule().bytes())
	key := map[uint32]string{8: "key", 16: "none"}
	for _, c := range []struct {
		trace
		told string
		err  error
	}{
		{trace{"", "state_get", []uint64{1, 2, 8, 3, 32, 8}, key, "state_get(1, 2, 8, 3, 32, 8) = 4\n  32: 666f7572"}, `get 1 2 "key"`, nil},
		{trace{"", "state_get", []uint64{1, 2, 8, 3, 32, 3}, key, "state_get(1, 2, 8, 3, 32, 3) = 4"}, `get 1 2 "key"`, nil},
		{trace{"", "state_get", []uint64{1, 2, 16, 4, 32, 8}, key, "state_get(1, 2, 16, 4, 32, 8) = 4294967295"}, `get 1 2 "none"`, nil},
		{trace{"", "state_get", []uint64{1, 2, 8, 0, 32, 8}, key, "state_get(1, 2, 8, 0, 32, 8) stops: bad-row: no row"}, `get 1 2 ""`, bad},
		{trace{"", "state_get", []uint64{1, 2, beyond, 1, 32, 8}, nil,
			"state_get(1, 2, 1048576, 1, 32, 8) stops: bad-pointer: wasmstream.state_get got 1 bytes at 1048576, which is outside its memory of 65536 bytes"}, "", nil},
		{trace{"", "state_get", []uint64{1, 2, 8, 3, pageBytes - 7, 8}, key,
			"state_get(1, 2, 8, 3, 65529, 8) stops: bad-pointer: wasmstream.state_get got 8 bytes at 65529, which is outside its memory of 65536 bytes"}, "", nil},
		{trace{"", "state_put", []uint64{1, 2, 8, 3, 16, 4}, key, "state_put(1, 2, 8, 3, 16, 4)"}, `put 1 2 "key" "none"`, nil},
		{trace{"", "state_put", []uint64{1, 2, 8, 3, maxU32, maxU32}, key,
			"state_put(1, 2, 8, 3, 4294967295, 4294967295) stops: bad-pointer: wasmstream.state_put got 4294967295 bytes at 4294967295, which is outside its memory of 65536 bytes"}, "", nil},
		{trace{"", "state_put", []uint64{1, 2, 0, 0, 16, 4}, key, "state_put(1, 2, 0, 0, 16, 4) stops: bad-state: out of room"}, `put 1 2 "" "none"`, errors.New("out of room")},
		{trace{"", "state_delete", []uint64{1, 2, 8, 3}, key, "state_delete(1, 2, 8, 3)"}, `delete 1 2 "key"`, nil},
		{trace{"", "state_delete", []uint64{1, 2, beyond, 3}, key,
			"state_delete(1, 2, 1048576, 3) stops: bad-pointer: wasmstream.state_delete got 3 bytes at 1048576, which is outside its memory of 65536 bytes"}, "", nil},
		{trace{"", "state_scan", []uint64{1, 2, 8, 3, 32, 100}, key, "state_scan(1, 2, 8, 3, 32, 100) = 4\n  32: 666f7572"}, `scan 1 2 "key" 100`, nil},
		{trace{"", "state_scan", []uint64{1, 2, 8, 0, 32, 3}, key, "state_scan(1, 2, 8, 0, 32, 3) = 4294967292"}, `scan 1 2 "" 3`, nil},
		{trace{"", "state_scan", []uint64{1, 2, 8, 0, beyond, 3}, key,
			"state_scan(1, 2, 8, 0, 1048576, 3) stops: bad-pointer: wasmstream.state_scan got 3 bytes at 1048576, which is outside its memory of 65536 bytes"}, "", nil},
	} {
		s := &oneState{err: c.err}
		g := instantiate(t, m)
		g.CallStates(s)
		if got := c.run(t, g); got != c.want || s.told != c.told {
			t.Errorf("got\n%s\n%s\nwant\n%s\n%s", got, s.told, c.want, c.told)
		}
	}
}
