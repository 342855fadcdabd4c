package recording_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/abi/conform"
	"github.com/wasmstream/wasmstream/host/recording"
	"github.com/wasmstream/wasmstream/host/sandbox"
)

// asker is a guest that does with states what its function says.
type asker struct {
	states sandbox.StateCalls
	frame  []byte
	ask    func(s sandbox.StateCalls) error
}

func (a *asker) CallStates(s sandbox.StateCalls)     { a.states = s }
func (a *asker) Open(uint32, []byte) ([]byte, error) { return nil, nil }
func (a *asker) Frame() []byte                       { return a.frame }
func (a *asker) Rebuild() error                      { return nil }
func (a *asker) Close() error                        { return nil }
func (a *asker) In(size int) (frame []byte, _ uint32, _ error) {
	a.frame = make([]byte, size)
	return a.frame, 8, nil
}

func (a *asker) Call(uint32, uint32, int) ([]byte, error) {
	if err := a.ask(a.states); err != nil {
		return nil, &sandbox.Fault{Kind: abi.FaultBadState, Message: err.Error()}
	}
	return nil, nil
}

// number is a row of one BIGINT.
func number(n int64) []byte { return binary.LittleEndian.AppendUint64(make([]byte, 8), uint64(n)) }

var counting = &abi.Function{Name: "counting", Role: abi.RoleProcess,
	Input: &abi.Schema{Fields: []*abi.Field{{Name: "n", Type: "BIGINT"}}}, Output: &abi.Schema{Fields: []*abi.Field{{Name: "n", Type: "BIGINT"}}},
	States: []*abi.State{{Name: "m", Kind: abi.StateMap, Key: &abi.Schema{Fields: []*abi.Field{{Name: "k", Type: "BIGINT"}}}, Value: &abi.Schema{Fields: []*abi.Field{{Name: "v", Type: "BIGINT"}}}}},
}

func frameOf(kind abi.OpKind) []byte {
	h := abi.Layout(1, 0, 0, 16, 0)
	b := make([]byte, h.Total)
	abi.PutHeader(b, h)
	abi.PutOp(b, int(h.OpsOffset), abi.Op{Kind: kind, Slot: abi.NoSlot, Row: h.RowsOffset})
	return b
}

// recordAsker records one call of a guest whose map has 1: 10, 2: 20, 3: 30.
func recordAsker(t *testing.T, ask func(s sandbox.StateCalls) error) []byte {
	t.Helper()
	store, err := conform.NewStore(counting)
	if err != nil {
		t.Fatal(err)
	}
	frame := frameOf(abi.OpOnRecord)
	if err := store.Begin(frame, []conform.Owner{{Key: 1}}); err != nil {
		t.Fatal(err)
	}
	for n := range int64(3) {
		if err := store.Put(0, 0, number(n+1), number(10*(n+1))); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	w, err := recording.NewWriter(&out, recording.Options{}, recording.Header{})
	if err != nil {
		t.Fatal(err)
	}
	i := w.Wrap(&asker{ask: ask}, functionOf(counting), nil)
	i.(interface{ CallStates(sandbox.StateCalls) }).CallStates(store)
	if _, err := i.Open(0, frameOf(abi.OpOpen)); err != nil {
		t.Fatal(err)
	}
	room, pointer, _ := i.In(len(frame))
	copy(room, frame)
	if _, err := i.Call(0, pointer, len(frame)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A guest that asks otherwise than the recorded one gets what the recording knows, sees
// what it wrote, and is told when there is no answer.
func TestAnswers(t *testing.T) {
	text := recordAsker(t, func(s sandbox.StateCalls) error {
		if v, ok, err := s.Get(0, 0, number(2)); err != nil || !ok || !bytes.Equal(v, number(20)) {
			return fmt.Errorf("got %x, %v, %v", v, ok, err)
		}
		if err := s.Put(0, 0, number(4), number(40)); err != nil {
			return err
		}
		after := []byte(nil)
		for into := make([]byte, 80); ; { // two entries at a time
			n, err := s.Scan(0, 0, after, into)
			if err != nil || n == 0 {
				return err
			}
			after = bytes.Clone(into[n-32 : n-16])
		}
	})
	for _, c := range []struct {
		name string
		ask  func(s sandbox.StateCalls) error
		want string
	}{
		{"nothing", func(sandbox.StateCalls) error { return nil },
			`call 0,  -> ; op 0 on-record, (n 0) ["state_put m, (k 4): (v 40)"] -> []`},
		{"another value", func(s sandbox.StateCalls) error { return s.Put(0, 0, number(4), number(41)) },
			`call 0,  -> ; op 0 on-record, (n 0) ["state_put m, (k 4): (v 40)"] -> ["state_put m, (k 4): (v 41)"]`},
		{"the same in another order", func(s sandbox.StateCalls) error {
			if err := s.Put(0, 0, number(4), number(40)); err != nil {
				return err
			}
			if v, ok, err := s.Get(0, 0, number(4)); err != nil || !ok || !bytes.Equal(v, number(40)) {
				return fmt.Errorf("its own write: %x, %v, %v", v, ok, err)
			}
			if v, ok, err := s.Get(0, 0, number(2)); err != nil || !ok || !bytes.Equal(v, number(20)) {
				return fmt.Errorf("what was read: %x, %v, %v", v, ok, err)
			}
			return nil
		}, ""},
		{"one entry at a time", func(s sandbox.StateCalls) error {
			if err := s.Put(0, 0, number(4), number(40)); err != nil {
				return err
			}
			var after []byte
			for want := int64(1); ; want++ {
				into := make([]byte, 40)
				n, err := s.Scan(0, 0, after, into)
				if err != nil || n == 0 && want == 5 {
					return err
				}
				if n != 40 || !bytes.Equal(into[24:], number(10*want)) {
					return fmt.Errorf("entry %d: %d bytes, %x", want, n, into)
				}
				after = into[8:24]
			}
		}, ""},
		{"more than is known", func(s sandbox.StateCalls) error {
			_, _, err := s.Get(0, 0, number(3))
			return err
		}, "call 0, answered -> it asks for a state in a way that the recording has no answer to: op 0, state_get of state 0 with the key 00000000000000000300000000000000"},
	} {
		r, err := recording.NewReader(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		f, _, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		p, d, err := recording.NewPlayer(f, &asker{ask: c.ask}, 0, counting)
		if err != nil || d != nil {
			t.Fatal(d, err)
		}
		_, call, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if d, err = p.Replay(call); d != nil {
			got = show(d)
		}
		if err != nil || got != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}
