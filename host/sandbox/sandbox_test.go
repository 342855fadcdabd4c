package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
)

// sharedCache saves the tests from compiling Go guests again and again.
var sharedCache string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "sandbox")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sharedCache = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// newEngine returns an engine that is closed, with an error if that fails, at the
// end of the test.
func newEngine(t testing.TB, options Options) *Engine {
	t.Helper()
	e, err := NewEngine(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// load loads a module that must be taken.
func load(t testing.TB, options Options, wasm []byte) *Module {
	t.Helper()
	m, err := newEngine(t, options).Load(context.Background(), "guest", wasm)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// guest is an instance with what it has logged.
type guest struct {
	*Instance
	logged []string
}

func instantiate(t testing.TB, m *Module) *guest {
	t.Helper()
	g := &guest{}
	i, err := m.Instantiate(context.Background(), InstanceOptions{Log: func(level int, message string) {
		g.logged = append(g.logged, fmt.Sprintf("%d %s", level, message))
	}})
	if err != nil {
		t.Fatal(err)
	}
	g.Instance = i
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// run makes one pair of In and Call.
func (g *guest) run(size int) ([]byte, error) {
	frame, pointer, err := g.In(size)
	if err != nil {
		return nil, err
	}
	clear(frame)
	return g.Call(0, pointer, size)
}

// asFault returns the fault in an error, which must be one.
func asFault(t testing.TB, err error) *Fault {
	t.Helper()
	var f *Fault
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a fault", err)
	}
	return f
}
