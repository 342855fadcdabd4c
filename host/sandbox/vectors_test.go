package sandbox

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
)

// vector is a test vector of the ABI; abi/README.md describes the files.
type vector struct {
	Name     string        `json:"name"`
	Modules  []string      `json:"modules"`
	Function uint32        `json:"function"`
	Frames   []vectorFrame `json:"frames"`
	Refused  bool          `json:"refused"`
	Fault    string        `json:"fault"`
	Message  string        `json:"message"`
}

type vectorFrame struct {
	Frame   string `json:"frame"`
	Carry   bool   `json:"carry_slots"`
	Effects string `json:"effects"`
}

func TestVectors(t *testing.T) {
	for _, file := range []string{"delays.json", "misbehaving.json"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "abi", "next", "vectors", file))
		if err != nil {
			t.Fatal(err)
		}
		var content struct {
			Vectors []vector `json:"vectors"`
		}
		if err := json.Unmarshal(text, &content); err != nil {
			t.Fatal(err)
		}
		loaded := map[string]*Module{}
		for _, v := range content.Vectors {
			for _, module := range v.Modules {
				for _, fresh := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s %s fresh=%v", module, v.Name, fresh), func(t *testing.T) {
						v.run(t, loadOnce(t, loaded, module, fresh, v.Refused))
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

// run performs a vector's frames. The last one may end in a fault.
func (v vector) run(t *testing.T, m *Module) {
	if m == nil {
		return
	}
	g := instantiate(t, m)
	var slots []byte
	for n, f := range v.Frames {
		frame, want := unhex(t, f.Frame), unhex(t, f.Effects)
		h, err := abi.ReadHeader(frame)
		if err != nil {
			t.Fatal(err)
		}
		area := frame[h.SlotsOffset : h.SlotsOffset+h.Slots*h.Stride]
		if f.Carry {
			copy(area, slots)
		}
		effects, err := v.perform(g, n, frame)
		if v.Fault != "" && n == len(v.Frames)-1 {
			v.checkFault(t, err)
			return
		}
		if err != nil || !bytes.Equal(effects, want) {
			t.Fatalf("frame %d: got %x, %v, want %x", n, effects, err, want)
		}
		slots = bytes.Clone(g.Frame()[h.SlotsOffset : h.SlotsOffset+h.Slots*h.Stride])
	}
}

// perform opens the function with the first frame and calls it with all others.
func (v vector) perform(g *guest, n int, frame []byte) ([]byte, error) {
	if n == 0 {
		return g.Open(v.Function, frame)
	}
	room, pointer, err := g.In(len(frame))
	if err != nil {
		return nil, err
	}
	copy(room, frame)
	return g.Call(v.Function, pointer, len(frame))
}

// checkFault expects of the sandbox what it can see. Whether effects and slots make
// sense is for others to say: then the call must succeed here.
func (v vector) checkFault(t *testing.T, err error) {
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
	if v.Message != "" && (fault == nil || fault.Message != v.Message) {
		t.Errorf("got %v, want the message %q", err, v.Message)
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
