package runtime

import (
	"iter"

	guests "github.com/wasmstream/wasmstream/host/guest"
)

// room has a task wait in the middle of a step, between two frames of a function, until
// those who read its outputs have taken what is full. Without it all that a function
// answers to ops that were put off would lie in memory before anybody looks at it, and
// that may be as much as a call may answer for each of the ops. And it has a task give its
// worker back there, once its functions have spent what is a turn's: a batch of ops that
// are all within their limits may take minutes.
//
// The task's work is a coroutine for that. Told as a sequence:
//
//	a step resumes the work, and it runs as it would without
//	a function is to be called again, and an output is full that nobody takes
//	the work yields that it is blocked; the step is over
//	somebody takes a batch and wakes the node; the next step resumes the work there
//
// Between frames nothing of the task's state is half done, so a snapshot goes on
// meanwhile. Where work can stop between two rows it does so at a turn's end, and begins
// anew: then timers of the clock fire, and what waits for its batch to be full goes out.
type room struct {
	drain func(all bool) bool // hands on what is full; false: some reader has no room
	next  func() (worked, bool)
	close func() // gives up what waits; it comes before functions are closed
	yield func(worked) bool

	spent  int64 // fuel of the task's functions, since its work began
	due    int64 // when that is spent, the worker is given back
	stride int   // rows after which is looked whether the work's turn is over
}

// turnFuel is what functions spend in a turn, about: some two milliseconds, as turnMillis.
const turnFuel = 4_000_000

// strideMax is beyond what a batch may have.
const strideMax = 1 << 20

// worked is what came of a piece of work.
type worked struct {
	outcome outcome
	err     error
}

// newRoom makes the room of a task; drain is to be set before its first step.
func newRoom(work func() (outcome, error)) *room {
	r := &room{stride: strideMax}
	r.next, r.close = iter.Pull(func(yield func(worked) bool) {
		r.yield = yield
		for {
			r.spent, r.due = 0, turnFuel
			out, err := work()
			if !yield(worked{out, err}) {
				return
			}
		}
	})
	return r
}

// wait waits until no output is full, and for the next turn if this one is over. It ends
// early if the job is closed.
func (r *room) wait() error {
	if r == nil || r.yield == nil {
		return nil // it is no step
	}
	if r.spent >= r.due && !r.yield(worked{outcome: outcome{more: true}}) {
		return guests.ErrStopped
	}
	for !r.drain(false) {
		if !r.yield(worked{outcome: outcome{blocked: true}}) {
			return guests.ErrStopped
		}
	}
	return nil
}

// spend notes what a function has cost.
func (r *room) spend(fuel int64) {
	if r != nil {
		r.spent += fuel
	}
}

// sum is what was spent since the work began.
func (r *room) sum() int64 {
	if r == nil {
		return 0
	}
	return r.spent
}

// isOver tells that the work has had a turn at least.
func (r *room) isOver() bool { return r != nil && r.spent >= turnFuel }

// reach is how many of the rows from..to are handled at once.
func (r *room) reach(from, to int) int {
	if r == nil {
		return to
	}
	return min(to, from+r.stride)
}

// pace goes by what so many rows have cost, those before that were put off included: a
// stride is to take a turn at most. All of a batch is one, where functions are quick.
func (r *room) pace(rows int, fuel int64) {
	if r != nil && (fuel > turnFuel || rows == r.stride) { // rarely: this is to be inlined
		r.adapt(rows, fuel)
	}
}

func (r *room) adapt(rows int, fuel int64) {
	switch {
	case fuel > turnFuel:
		r.stride = max(1, int(int64(rows)*turnFuel/fuel))
	case r.stride < strideMax:
		r.stride *= 2
	}
}

// resume is the task's work.
func (r *room) resume() (outcome, error) {
	r.due = r.spent + turnFuel
	w, ok := r.next()
	if !ok {
		return outcome{}, guests.ErrStopped
	}
	return w.outcome, w.err
}

// roomFor gives the work of a task that asks functions a room; the callers that are made
// from here to the end of its step, source or sink wait in it.
func (b *builder) roomFor(work func() (outcome, error)) *room {
	b.room = newRoom(work)
	b.job.rooms = append(b.job.rooms, b.room)
	return b.room
}

// roomWithoutOutputs is roomFor where what is answered goes into one batch or block, which
// bounds how much is asked.
func (b *builder) roomWithoutOutputs(work func() (outcome, error)) *room {
	r := b.roomFor(work)
	r.drain = func(bool) bool { return true }
	return r
}
