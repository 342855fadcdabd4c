package sandbox

import (
	"fmt"
	"math"
	goruntime "runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/sandbox/meter"
	"github.com/wasmstream/wasmstream/host/sandbox/opcode"
	"github.com/wasmstream/wasmstream/host/sandbox/refine"
)

// BenchmarkFuel is what meters cost a frame of adds. fuel/frame is what the frame spends.
func BenchmarkFuel(b *testing.B) {
	for _, name := range delaysGuests {
		for _, d := range []delaysFrame{{slots: 64, adds: 256}, {slots: 1, adds: 1}, {slots: 64, adds: 1024, create: true, results: true}} {
			b.Run(fmt.Sprintf("%s/adds=%d", name, d.adds), func(b *testing.B) {
				benchmarkFuel(b, guestBytes(b, name), d)
			})
		}
	}
}

// BenchmarkFuelLoop adds numbers in a loop so tight that there is hardly a better case against
// meters.
func BenchmarkFuelLoop(b *testing.B) {
	body := code(i32(10_000), 0x21, 3, opLoop, void,
		opLocalGet, 4, opLocalGet, 3, opI32Add, 0x21, 4,
		opLocalGet, 3, i32(1), 0x6b, 0x22, 3, 0x0d, 0, opEnd, effectsAt(0, 0))
	loop := guestThat(nil, body)
	loop.funcs[2].locals = 2
	benchmarkFuel(b, loop.bytes(), delaysFrame{slots: 1, adds: 1})
}

func benchmarkFuel(b *testing.B, wasm []byte, d delaysFrame) {
	h := d.layout()
	var fuel int64
	open := func(wasm []byte, o Options) *guest {
		g := instantiate(b, load(b, o, wasm))
		if _, err := g.Open(0, openFrame()); err != nil {
			b.Fatal(err)
		}
		if _, err := g.callDelays(d, h); err != nil {
			b.Fatal(err)
		}
		fuel = max(fuel, g.Fuel())
		return g
	}
	rounds := max(1, 4096/d.adds)
	ns := benchmarkMeters(b, wasm, open, func(g *guest) time.Duration {
		start := time.Now()
		for range rounds {
			_, pointer, err := g.In(int(h.Total))
			if err == nil {
				_, err = g.Call(0, pointer, int(h.Total))
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(start)
	}) / float64(rounds)
	b.ReportMetric(ns/float64(fuel), "ns/fuel")
	b.ReportMetric(float64(fuel), "fuel/frame")
	b.ReportMetric(ns/float64(d.adds), "ns/add")
}

// places is in how many places in memory benchmarkMeters tries the code: where a loop lies within the processor's lines changes
// the time of a short function by more than meters do.
const places = 8

// benchmarkMeters reports what meters cost a guest's call, of calls with meters and without in turn: with/without is the median
// of their ratios, with/without-least the ratio of the quickest, which others on the machine change little. Both are the
// geometric mean over places. It returns the nanoseconds of the quickest call with meters, likewise.
func benchmarkMeters(b *testing.B, wasm []byte, open func([]byte, Options) *guest, call func(*guest) time.Duration) float64 {
	var guests [places][2]*guest
	var least [places][2]time.Duration
	var ratios [places][]float64
	for place := range guests {
		wasm := moved(wasm, place)
		guests[place] = [2]*guest{open(wasm, Options{CacheDir: sharedCache}), open(wasm, Options{unmetered: true})}
		least[place] = [2]time.Duration{math.MaxInt64, math.MaxInt64}
	}
	for n := 0; b.Loop(); n++ {
		for place := range guests {
			var took [2]time.Duration
			for _, i := range [2]int{n % 2, 1 - n%2} {
				took[i] = call(guests[place][i])
				least[place][i] = min(least[place][i], took[i])
			}
			ratios[place] = append(ratios[place], float64(took[0])/float64(took[1]))
		}
	}
	var byLeast, byMedian, ns float64
	for place, l := range least {
		slices.Sort(ratios[place])
		byMedian += math.Log(ratios[place][len(ratios[place])/2]) / places
		byLeast += math.Log(float64(l[0])/float64(l[1])) / places
		ns += math.Log(float64(l[0])) / places
	}
	b.ReportMetric(math.Exp(byMedian), "with/without")
	b.ReportMetric(math.Exp(byLeast), "with/without-least")
	return math.Exp(ns)
}

// moved returns a module whose first function has so much more code in it that is never executed: the code behind it lies
// elsewhere.
func moved(wasm []byte, place int) []byte {
	store := code(i32(0), i32(0), 0x3a, 0, 0)
	never := code(i32(0), opIf, void, repeated(place, store), opEnd)
	c := opcode.NewCursor(wasm, 8, len(wasm))
	for c.Byte() != 10 {
		c.Bytes(c.U32())
	}
	head := c.At
	size := int(c.U32())
	end := c.At + size
	count, bodySize := c.U32(), c.U32()
	body := c.At
	c.Locals(0)
	content := code(uleb(uint64(count)), uleb(uint64(bodySize)+uint64(len(never))), wasm[body:c.At], never, wasm[c.At:end])
	return code(wasm[:head], uleb(uint64(len(content))), content, wasm[end:])
}

// BenchmarkIntake is what taking a module costs before the engine sees it.
func BenchmarkIntake(b *testing.B) {
	wasm := guestBytes(b, "delays-go.wasm")
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			if _, err := Inspect(wasm, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("refine", func(b *testing.B) {
		for b.Loop() {
			if _, err := refine.Rewrite(wasm); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("meters", func(b *testing.B) {
		for b.Loop() {
			if _, err := meter.Rewrite(wasm); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkNeighbour is what a good guest gets done while others run hostile code in the
// same process, by what it gets done alone. by-processor is the same by the time that the
// good guest's thread had a processor: what is less in beside/alone alone is waiting, what
// is less in both is a slower processor: its caches, its memory, what interrupts it.
func BenchmarkNeighbour(b *testing.B) {
	for name, hostile := range endless() {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			i := instantiate(b, load(b, Options{}, hostile.bytes()))
			i.Ops(1)
			benchmarkNeighbour(b, func() {
				_, _ = i.run(64)
				_ = i.Rebuild()
			})
		})
	}
}

func benchmarkNeighbour(b *testing.B, hostile func()) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	neighbour, d := openDelays(b, "delays-c.wasm", Options{}), delaysFrame{slots: 64, adds: 256}
	h := d.layout()
	work := func() (wall, processor float64) {
		start, used := time.Now(), threadTime(b)
		for range 10_000 {
			if _, err := neighbour.callDelays(d, h); err != nil {
				b.Fatal(err)
			}
		}
		return float64(time.Since(start)), float64(threadTime(b) - used)
	}
	var walls, processors []float64
	for b.Loop() {
		aloneWall, aloneProcessor := work()
		stop, stopped := make(chan bool), make(chan bool)
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					hostile()
				}
			}
		}()
		wall, processor := work()
		walls, processors = append(walls, aloneWall/wall), append(processors, aloneProcessor/processor)
		close(stop)
		<-stopped
	}
	slices.Sort(walls)
	slices.Sort(processors)
	b.ReportMetric(walls[len(walls)/2], "beside/alone")
	b.ReportMetric(processors[len(processors)/2], "by-processor")
}

// threadTime is how long this thread has had a processor.
func threadTime(t testing.TB) time.Duration {
	t.Helper()
	const thisThread = 1 // RUSAGE_THREAD, which package syscall lacks
	var u syscall.Rusage
	if err := syscall.Getrusage(thisThread, &u); err != nil {
		t.Skip(err) // a system that does not tell a thread's time: without it a neighbour has no figure
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
