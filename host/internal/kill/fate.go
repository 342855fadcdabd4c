package kill

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Point is a place in the command where it can be told to kill itself.
type Point string

// Points are all of them, in the order in which a checkpoint comes by.
var Points = []Point{
	"handover-before", "handover-after", // a sink makes durable what it wrote, for EndTxn to commit
	"manifest-before", "manifest-after", // the file is written that makes a checkpoint one
	"commit-before", "commit-after", // a sink commits; in Kafka by EndTxn
	"note-before", "note-after", // it is noted that nothing is left to commit
}

// Variable is the environment variable that tells the command where to kill itself.
const Variable = "WASMSTREAM_KILL_AT"

// Fate is how one life of the command is to end. The zero fate is to live until the input is through.
type Fate struct {
	After  time.Duration // at a random time
	Point  Point         // or at a point,
	Nth    int           // when it is reached for the Nth time
	Broker bool          // the broker is killed too, at that random time,
	Linger time.Duration // and the command so much later
}

// String continues "to be killed".
func (f Fate) String() string {
	switch {
	case f.Broker:
		return fmt.Sprintf("%s after its broker, which is after %s", f.Linger, f.After)
	case f.Point != "":
		return fmt.Sprintf("at %s:%d", f.Point, f.Nth)
	case f.After > 0:
		return fmt.Sprintf("after %s", f.After)
	}
	return "at the end"
}

// Fates is an endless sequence of them: by turns at a random time and at the next point, and every tenth, where there is a
// broker, with it.
type Fates struct {
	random   *rand.Rand
	afterMax time.Duration
	broker   bool
	nthMax   int
	made     int
	points   []Point // the rest of this round
	unmet    []Fate
	again    bool // the last one was from unmet; others come between
}

// NewFates returns the sequence that follows from a seed. Random times are up to afterMax, at least 1 ms; points are reached up to nthMax
// times.
func NewFates(seed uint64, afterMax time.Duration, nthMax int, broker bool) *Fates {
	return &Fates{random: rand.New(rand.NewPCG(seed, 2)), afterMax: afterMax, nthMax: nthMax, broker: broker}
}

// brokerEvery says which kills are of the broker too.
const brokerEvery = 10

// Next returns the next one.
func (f *Fates) Next() Fate {
	if n := len(f.unmet); n > 0 && !f.again {
		fate := f.unmet[n-1]
		f.unmet, f.again = f.unmet[:n-1], true
		return fate
	}
	f.again = false
	f.made++
	switch {
	case f.broker && f.made%brokerEvery == 0:
		return Fate{After: f.time(), Broker: true, Linger: f.time() / 2}
	case f.made%2 == 0:
		return Fate{After: f.time()}
	}
	if len(f.points) == 0 {
		f.points = append(f.points, Points...)
		f.random.Shuffle(len(f.points), func(i, j int) { f.points[i], f.points[j] = f.points[j], f.points[i] })
	}
	p := f.points[0]
	f.points = f.points[1:]
	return Fate{Point: p, Nth: 1 + f.random.IntN(f.nthMax)}
}

// Unmet gives back a fate that a life did not come to: its point is the next one, on its first time.
func (f *Fates) Unmet(fate Fate) {
	if fate.Point != "" {
		f.unmet = append(f.unmet, Fate{Point: fate.Point, Nth: 1})
	}
}

func (f *Fates) time() time.Duration {
	return time.Duration(1+f.random.Int64N(f.afterMax.Milliseconds())) * time.Millisecond
}
