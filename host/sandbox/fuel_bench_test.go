package sandbox

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/sandbox/meter"
	"github.com/wasmstream/wasmstream/host/sandbox/refine"
)

// BenchmarkFuel is what meters cost: the same frame by a guest with and without them, in
// turn, and the median of the ratios of the time. fuel/op is what the frame spends.
func BenchmarkFuel(b *testing.B) {
	for _, name := range delaysGuests {
		for _, d := range []delaysFrame{{slots: 64, adds: 256}, {slots: 1, adds: 1}, {slots: 64, adds: 1024, create: true, results: true}} {
			b.Run(fmt.Sprintf("%s/adds=%d", name, d.adds), func(b *testing.B) {
				guests := [2]*guest{openDelays(b, name, Options{}), openDelays(b, name, Options{unmetered: true})}
				benchmarkPaired(b, guests, d)
			})
		}
	}
}

// loopGuest adds numbers in a loop so tight that there is hardly a better case against
// meters.
func loopGuest() []byte {
	body := code(i32(10_000), 0x21, 3, opLoop, void,
		opLocalGet, 4, opLocalGet, 3, opI32Add, 0x21, 4,
		opLocalGet, 3, i32(1), 0x6b, 0x22, 3, 0x0d, 0, opEnd, effectsAt(0, 0))
	b := guestThat(nil, body)
	b.funcs[2].locals = 2
	return b.bytes()
}

func BenchmarkFuelLoop(b *testing.B) {
	guests := [2]*guest{
		instantiate(b, load(b, Options{}, loopGuest())),
		instantiate(b, load(b, Options{unmetered: true}, loopGuest())),
	}
	benchmarkPaired(b, guests, delaysFrame{slots: 1, adds: 1})
}

func benchmarkPaired(b *testing.B, guests [2]*guest, d delaysFrame) {
	h := d.layout()
	rounds := max(1, 4096/d.adds)
	run := func(g *guest) float64 {
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
		return float64(time.Since(start)) / float64(rounds)
	}
	for _, g := range guests {
		if _, err := g.callDelays(d, h); err != nil {
			b.Fatal(err)
		}
	}
	var ratios, times, bare []float64
	for n := 0; b.Loop(); n++ {
		first, second := n%2, 1-n%2
		var took [2]float64
		took[first], took[second] = run(guests[first]), run(guests[second])
		ratios, times, bare = append(ratios, took[0]/took[1]), append(times, took[0]), append(bare, took[1])
	}
	slices.Sort(ratios)
	slices.Sort(times)
	b.ReportMetric(ratios[len(ratios)/2], "with/without")
	b.ReportMetric(slices.Min(times)/slices.Min(bare), "with/without-least")
	b.ReportMetric(times[len(times)/2]/float64(max(guests[0].Fuel(), 1)), "ns/fuel")
	b.ReportMetric(float64(guests[0].Fuel()), "fuel/frame")
	b.ReportMetric(times[len(times)/2]/float64(d.adds), "ns/add")
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
