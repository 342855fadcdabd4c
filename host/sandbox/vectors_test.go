package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/abi/conform"
)

func TestVectors(t *testing.T) {
	for _, file := range []string{"delays.json", "roles.json", "stores.json", "twins.json", "lookup.json", "misbehaving.json"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "abi", "next", "vectors", file))
		if err != nil {
			t.Fatal(err)
		}
		content, err := conform.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		loaded := map[string]*Module{}
		for _, v := range content.Vectors {
			for _, module := range v.Modules {
				for _, fresh := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s %s fresh=%v", module, v.Name, fresh), func(t *testing.T) {
						playVector(t, &v, loadOnce(t, loaded, module, fresh, v.Refused))
					})
				}
			}
		}
		for _, m := range loaded {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// loadOnce loads a guest for all vectors that name it. It returns nil for one that
// is refused, as it must be.
func loadOnce(t *testing.T, loaded map[string]*Module, name string, fresh, refused bool) *Module {
	t.Helper()
	key := fmt.Sprint(name, fresh)
	if loaded[key] != nil {
		return loaded[key]
	}
	e, err := NewEngine(context.Background(), Options{FreshInstance: fresh, CacheDir: sharedCache})
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(context.Background(), name, guestBytes(t, name+".wasm"))
	var refusal *RefusedError
	if errors.As(err, &refusal) != refused || err != nil && !refused {
		t.Fatalf("got %v, want refused %v", err, refused)
	}
	if refused {
		return nil
	}
	loaded[key] = m
	return m
}

// player is an instance as vectors see it.
type player struct {
	*guest
	opened bool
	states *conform.Store
}

// playVector performs a vector's frames. The last one may end in a fault.
func playVector(t *testing.T, v *conform.Vector, m *Module) {
	if m == nil {
		return
	}
	states, err := conform.NewStore(m.Manifest().GetFunctions()[v.Function])
	if err != nil {
		t.Fatal(err)
	}
	g := instantiate(t, m)
	g.CallStates(states)
	fault, err := v.Play(&player{guest: g, states: states})
	if err != nil {
		t.Fatal(err)
	}
	if v.Fault != "" {
		checkFault(t, v, fault)
	}
}

// Perform opens the function with the first frame and calls it with all others.
func (p *player) Perform(function uint32, frame []byte, owners []conform.Owner) (effects, after []byte, err error) {
	if err := p.states.Begin(frame, owners); err != nil {
		return nil, nil, err
	}
	if !p.opened {
		p.opened = true
		effects, err = p.Open(function, frame)
		return effects, frame, err
	}
	room, pointer, err := p.In(len(frame))
	if err != nil {
		return nil, nil, err
	}
	copy(room, frame)
	effects, err = p.Call(function, pointer, len(frame))
	return effects, p.Frame(), err
}

// Entries is what a list or map state holds.
func (p *player) Entries(owner, state int) [][2][]byte { return p.states.Entries(owner, state) }

// checkFault expects of the sandbox what it can see. Whether effects and slots make
// sense is for others to say: then the call must succeed here.
func checkFault(t *testing.T, v *conform.Vector, err error) {
	t.Helper()
	var tooLarge *TooLargeError
	var fault *Fault
	got := "none"
	switch {
	case errors.As(err, &tooLarge):
		got = abi.FaultTooLarge.String()
	case errors.As(err, &fault):
		got = fault.Kind.String()
	case err != nil:
		t.Fatal(err)
	}
	want := v.Fault
	switch want {
	case abi.FaultBadEffect.String(), abi.FaultBadOp.String(), abi.FaultBadRow.String(), abi.FaultBadAnswer.String():
		want = "none"
	}
	if got != want {
		t.Errorf("got %s: %v, want %s", got, err, want)
	}
	if v.Message != "" && (fault == nil || !strings.Contains(fault.Message, v.Message)) {
		t.Errorf("got %v, want the message %q", err, v.Message)
	}
}
