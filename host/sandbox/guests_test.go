package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/abi"
)

// guestsDir is where the built guests are committed.
var guestsDir = filepath.Join("..", "..", "testdata", "wasm")

// guestBytes returns a committed guest.
func guestBytes(t testing.TB, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(guestsDir, name))
	if err != nil {
		t.Fatalf("a committed guest is missing; run `make guests`: %v", err)
	}
	return wasm
}

// delaysGuests are one function in two languages: flights, and the sum and the
// maximum of their delays.
var delaysGuests = []string{"delays-c.wasm", "delays-go.wasm", "delays-rust.wasm"}

// The layout of the delays function's rows.
const (
	delaysSlotBytes = 32 // header, flights, sum, maximum
	delaysRowBytes  = 16 // header, delay
)

// delaysFrame is a frame that creates some slots, spreads adds over them, with
// delays 1, 2, 3 …, and asks for the results if wanted.
type delaysFrame struct {
	slots, adds     int
	create, results bool
}

func (d delaysFrame) layout() abi.Header {
	ops := d.adds
	if d.create {
		ops += d.slots
	}
	if d.results {
		ops += d.slots
	}
	return abi.Layout(ops, d.slots, delaysSlotBytes, d.adds*delaysRowBytes, 0)
}

// put lays the frame out.
func (d delaysFrame) put(frame []byte, h abi.Header) {
	abi.PutHeader(frame, h)
	at := int(h.OpsOffset)
	put := func(op abi.Op) {
		abi.PutOp(frame, at, op)
		at += abi.OpBytes
	}
	clear(frame[h.SlotsOffset:h.RowsOffset])
	for n := range uint32(d.slots) {
		if d.create {
			put(abi.Op{Kind: abi.OpCreate, Slot: n})
		}
	}
	for n := range uint32(d.adds) {
		row := h.RowsOffset + n*delaysRowBytes
		binary.LittleEndian.PutUint64(frame[row:], 0)
		binary.LittleEndian.PutUint64(frame[row+8:], uint64(n+1))
		put(abi.Op{Kind: abi.OpAdd, Slot: n % uint32(d.slots), Row: row})
	}
	for n := range uint32(d.slots) {
		if d.results {
			put(abi.Op{Kind: abi.OpResult, Slot: n})
		}
	}
}

// openFrame is the frame that opens a function without parameters.
func openFrame() []byte {
	h := abi.Layout(1, 0, 0, 8, 0)
	frame := make([]byte, h.Total)
	abi.PutHeader(frame, h)
	abi.PutOp(frame, int(h.OpsOffset), abi.Op{Kind: abi.OpOpen, Slot: abi.NoSlot, Row: h.RowsOffset})
	return frame
}

// openDelays loads a guest and opens its function.
func openDelays(t testing.TB, name string, options Options) *guest {
	t.Helper()
	options.CacheDir = sharedCache
	g := instantiate(t, load(t, options, guestBytes(t, name)))
	if _, err := g.Open(0, openFrame()); err != nil {
		t.Fatal(err)
	}
	return g
}

// call makes a pair of In and Call with a frame.
func (g *guest) callDelays(d delaysFrame, h abi.Header) ([]byte, error) {
	frame, pointer, err := g.In(int(h.Total))
	if err != nil {
		return nil, err
	}
	d.put(frame, h)
	return g.Call(0, pointer, int(h.Total))
}

func TestGuestsAggregate(t *testing.T) {
	for _, name := range delaysGuests {
		for _, fresh := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s fresh=%v", name, fresh), func(t *testing.T) {
				g := openDelays(t, name, Options{FreshInstance: fresh})
				for range 3 {
					checkDelays(t, g)
				}
			})
		}
	}
}

func checkDelays(t *testing.T, g *guest) {
	t.Helper()
	d := delaysFrame{slots: 4, adds: 256, create: true, results: true}
	h := d.layout()
	effects, err := g.callDelays(d, h)
	if err != nil {
		t.Fatal(err)
	}
	slots, n := g.Frame()[h.SlotsOffset:], 0
	for list := abi.ReadEffects(effects, int(h.Ops)); ; n++ {
		e, more := list.Next()
		if !more {
			if err := list.Err(); err != nil {
				t.Error(err)
			}
			break
		}
		// Slot n got the delays n+1, n+5, … n+253.
		flights, sum, most := uint64(64), uint64(64*(n+1)+4*64*63/2), uint64(n+253)
		for field, want := range []uint64{flights, sum, most} {
			at := 8 + 8*field
			inRow, inSlot := binary.LittleEndian.Uint64(e.Payload[at:]), binary.LittleEndian.Uint64(slots[n*delaysSlotBytes+at:])
			if inRow != want || inSlot != want {
				t.Errorf("slot %d field %d: %d emitted, %d in the slot, want %d", n, field, inRow, inSlot, want)
			}
		}
	}
	if n != d.slots {
		t.Errorf("%d results", n)
	}
}

func TestGuestsAllocateNothingInTheHost(t *testing.T) {
	for _, name := range delaysGuests {
		g, d := openDelays(t, name, Options{}), delaysFrame{slots: 16, adds: 256, create: true}
		h := d.layout()
		if n := testing.AllocsPerRun(200, func() {
			if _, err := g.callDelays(d, h); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: a call allocates %v times", name, n)
		}
	}
}

// A frame that the guest has no room for ends in an error that says so, and half
// of it works at last. C says so and lives; Go's runtime dies of it.
func TestGuestsRefuseLargeFrames(t *testing.T) {
	for _, name := range delaysGuests {
		g := openDelays(t, name, Options{MemoryPagesMax: 64})
		var tooLarge *TooLargeError
		size := abi.FrameBytesMax
		for {
			_, _, err := g.In(size)
			if err == nil {
				break
			}
			if !errors.As(err, &tooLarge) {
				if f := asFault(t, err); f.Kind != abi.FaultOutOfMemory {
					t.Fatalf("%s: a frame of %d bytes: %v", name, size, err)
				}
				if err := g.Rebuild(); err != nil {
					t.Fatal(err)
				}
			}
			size /= 2
		}
		t.Logf("%s takes frames of %d bytes in 64 pages", name, size)
		checkDelays(t, g)
	}
}

// What loading costs, without and with the cache on disk.
func TestGuestsLoadFast(t *testing.T) {
	for _, name := range delaysGuests {
		wasm, dir := guestBytes(t, name), t.TempDir()
		var took []string
		for _, dir := range []string{"", dir, dir} {
			e := newEngine(t, Options{CacheDir: dir})
			start := time.Now()
			m, err := e.Load(context.Background(), name, wasm)
			if err != nil {
				t.Fatal(err)
			}
			loaded := time.Since(start)
			g := instantiate(t, m)
			took = append(took, fmt.Sprintf("%v + %v", loaded.Round(10*time.Microsecond), (time.Since(start)-loaded).Round(10*time.Microsecond)))
			if _, err := g.Open(0, openFrame()); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%s, %d bytes: load + instantiate without a cache, filling it, from it: %s", name, len(wasm), strings.Join(took, ", "))
	}
}

// BenchmarkCall is a pair of In and Call with 256 adds over 64 slots: all of it,
// with the frame laid out anew each time, and the pair alone on a frame that is
// there already.
func BenchmarkCall(b *testing.B) {
	for _, name := range delaysGuests {
		d := delaysFrame{slots: 64, adds: 256}
		h := d.layout()
		b.Run("whole/"+name, func(b *testing.B) {
			g := openDelays(b, name, Options{})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.callDelays(d, h); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*d.adds), "ns/add")
		})
		b.Run("pair/"+name, func(b *testing.B) {
			g := openDelays(b, name, Options{})
			if _, err := g.callDelays(d, h); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				_, pointer, err := g.In(int(h.Total))
				if err == nil {
					_, err = g.Call(0, pointer, int(h.Total))
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*d.adds), "ns/add")
		})
	}
}

// BenchmarkEmptyCall is what a pair costs when the guest does nothing.
func BenchmarkEmptyCall(b *testing.B) {
	g := instantiate(b, load(b, Options{}, goodModule().bytes()))
	b.ReportAllocs()
	for b.Loop() {
		if _, pointer, err := g.In(64); err != nil {
			b.Fatal(err)
		} else if _, err := g.Call(0, pointer, 64); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkInstantiate is what a fresh instance costs.
func BenchmarkInstantiate(b *testing.B) {
	for name, wasm := range map[string][]byte{"tiny": goodModule().bytes(), "go": guestBytes(b, "delays-go.wasm")} {
		b.Run(name, func(b *testing.B) {
			m := load(b, Options{CacheDir: sharedCache}, wasm)
			for b.Loop() {
				i, err := m.Instantiate(context.Background(), InstanceOptions{})
				if err == nil {
					err = i.Close()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
