package sim

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/sim/disk"
)

// place is where a process can be when its fate comes.
type place string

// The places, besides the points of package runtime.
const (
	atStart        place = "start"
	atRecovered    place = "recovered" // the checkpoint is read, the job is not made
	atMade         place = "made"      // the job is restored
	putState       place = "put-state"
	putMerged      place = "put-merged"
	putManifest    place = "put-manifest"
	putNote        place = "put-note"
	deleting       place = "delete"
	sinkRecover    place = "sink-recover"
	sinkRecovered  place = "sink-recovered"
	sinkOpen       place = "sink-open"
	sinkOpened     place = "sink-opened"
	sinkWrite      place = "sink-write"
	sinkHandover   place = "sink-handover"
	sinkHandedOver place = "sink-handed-over"
	sinkCommit     place = "sink-commit"
	sinkCommitted  place = "sink-committed"
	sourceOpen     place = "source-open"
	sourceRead     place = "source-read"
)

// fate is how a process ends.
type fate struct {
	at    place // "": it has none
	nth   int   // time that it comes there
	steps int   // further steps of the scheduler until then
	ops   int   // or further operations of the disk
	power bool  // it ends with the power
	rot   bool  // what was written last, and not committed, rots
}

// String tells it in a few words.
func (f fate) String() string {
	if f.at == "" {
		return "no fate"
	}
	text := fmt.Sprintf("fate: %s for the %d. time", f.at, f.nth)
	if f.steps > 0 {
		text += fmt.Sprintf(" and %d steps", f.steps)
	}
	if f.ops > 0 {
		text += fmt.Sprintf(" and %d disk operations", f.ops)
	}
	if f.power {
		text += ", power cut"
	}
	if f.rot {
		text += ", rot"
	}
	return text
}

// weather is how often what fails, of 10,000 times.
type weather struct {
	disk, sinks, sources int
	fullAfter, fullFor   int // steps; 0: the disk is never full
}

// crash is the panic that drops a job where it stands. It is no error of the program: a process that ends returns to
// nobody.
type crash struct{ why string }

// life is one process.
type life struct {
	world    *world
	rand     *rand.Rand
	number   int
	fate     fate
	weather  weather
	readMax  int
	patience int  // steps after which the process ends if its fate has not come; 0: for ever
	punctual bool // no record can be late
	beatsMax int

	beats    int
	ops      int
	visits   int // of the fate's place
	dieBeat  int // 0: not set
	dieOp    int
	failOp   int // 0: not set
	failWith error
	dead     bool
	where    string // it ended
	recovery checkpoint.Recovery
	guests   []runtime.Guest
	askers   []*asker
}

// die ends the process where it stands: its panic takes the place of a return.
func (l *life) die(why string) {
	l.dead, l.where = true, why
	l.world.trace.say("CRASH at %s", why)
	panic(crash{why})
}

// reach tells that the process is somewhere.
func (l *life) reach(at place) {
	if at != l.fate.at || l.dead {
		return
	}
	if l.visits++; l.visits != l.fate.nth {
		return
	}
	switch {
	case l.fate.steps > 0:
		l.dieBeat = l.beats + l.fate.steps
	case l.fate.ops > 0:
		l.dieOp = l.ops + l.fate.ops
	default:
		l.die(string(at))
	}
}

// enter begins a call from outside the engine, of which nothing was done yet; leave ends it, when all was done.
func (l *life) enter(at place, name string) error {
	if l.dead {
		return errGone
	}
	if at != sinkWrite && at != sourceRead {
		l.world.trace.say("%s %s", at, name)
	}
	l.reach(at)
	if at != sourceRead && l.fails(l.weather.sinks) {
		return errInjected
	}
	return nil
}

func (l *life) leave(at place, of10k int) error {
	l.reach(at)
	if l.fails(of10k) {
		return errInjected
	}
	return nil
}

// fails draws whether something fails.
func (l *life) fails(of10k int) bool {
	failed := of10k > 0 && l.rand.IntN(10_000) < of10k
	if failed {
		l.world.trace.say("a fault is injected")
	}
	return failed
}

// beat is a step of the scheduler: time may pass.
func (l *life) beat() {
	if l.dead {
		return
	}
	l.beats++
	w := l.world
	if l.rand.IntN(4) == 0 {
		w.clock.pass(1)
	}
	if len(l.askers) > 0 && l.rand.IntN(8) == 0 {
		l.answerOne()
	}
	switch l.beats {
	case l.weather.fullAfter:
		w.trace.say("the disk is full")
		w.disk.Limit(1, errFull)
	case l.weather.fullAfter + l.weather.fullFor:
		w.disk.Limit(0, nil)
	}
	switch {
	case l.beats == l.dieBeat:
		l.die(fmt.Sprintf("%s, %d steps after", l.fate.at, l.fate.steps))
	case l.fate.at != "" && l.patience < 0 && l.dieBeat == 0 && l.dieOp == 0:
		l.die("a step")
	case l.beats == l.beatsMax:
		l.die(tooLong)
	}
}

const tooLong = "too many steps"

// fault is what the disk asks before each operation.
func (l *life) fault(op disk.Op) error {
	if l.dead {
		return errGone
	}
	l.ops++
	if l.ops == l.dieOp {
		l.die(fmt.Sprintf("%s, %d disk operations after: %s %s", l.fate.at, l.fate.ops, op.Kind, op.Path))
	}
	if l.ops == l.failOp {
		l.world.trace.say("%s %s fails", op.Kind, op.Path)
		return l.failWith
	}
	if !l.fails(l.weather.disk) {
		return nil
	}
	if l.rand.IntN(2) == 0 {
		return disk.Done{Err: errInjected}
	}
	return errInjected
}

// suffer makes one thing go wrong.
func (l *life) suffer(s Single) {
	switch s.How {
	case Fails:
		l.failOp, l.failWith = s.Op, errInjected
	case Answered:
		l.failOp, l.failWith = s.Op, disk.Done{Err: errInjected}
	default:
		l.fate, l.patience = fate{at: atStart, nth: 1, ops: s.Op, power: s.How == PowerCut}, math.MaxInt
	}
}

// beats is the generator of the scheduler, which asks it for what to do next: so between two steps time passes, and
// processes end.
type beats struct {
	life *life
	from *rand.PCG
}

// Uint64 implements rand.Source.
func (b beats) Uint64() uint64 {
	b.life.beat()
	return b.from.Uint64()
}

// guest makes an instance for a function and keeps it, to close it when the process has crashed.
func (l *life) guest(make func(*job.Function) (runtime.Guest, error)) func(*job.Function) (runtime.Guest, error) {
	return func(f *job.Function) (runtime.Guest, error) {
		g, err := make(f)
		if err == nil {
			l.guests = append(l.guests, g)
		}
		return g, err
	}
}
