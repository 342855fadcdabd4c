package runtime

import (
	"iter"

	guests "github.com/wasmstream/wasmstream/host/guest"
)

// room has a task wait in the middle of a step, between two frames of a function, until
// those who read its outputs have taken what is full. Without it all that a function
// answers to ops that were put off would lie in memory before anybody looks at it, and
// that may be as much as a call may answer for each of the ops.
//
// The task's work is a coroutine for that. Told as a sequence:
//
//	a step resumes the work, and it runs as it would without
//	a function is to be called again, and an output is full that nobody takes
//	the work yields that it is blocked; the step is over
//	somebody takes a batch and wakes the node; the next step resumes the work there
//
// Between frames nothing of the task's state is half done, so a snapshot goes on
// meanwhile.
type room struct {
	drain func(all bool) bool // hands on what is full; false: some reader has no room
	next  func() (worked, bool)
	close func() // gives up what waits; it comes before functions are closed
	yield func(worked) bool
}

// worked is what came of a piece of work.
type worked struct {
	outcome outcome
	err     error
}

// newRoom makes the room of a task; drain is to be set before its first step.
func newRoom(work func() (outcome, error)) *room {
	r := &room{}
	r.next, r.close = iter.Pull(func(yield func(worked) bool) {
		r.yield = yield
		for {
			out, err := work()
			if !yield(worked{out, err}) {
				return
			}
		}
	})
	return r
}

// wait waits until no output is full. It ends early if the job is closed.
func (r *room) wait() error {
	if r == nil || r.yield == nil {
		return nil // it is no step
	}
	for !r.drain(false) {
		if !r.yield(worked{outcome: outcome{blocked: true}}) {
			return guests.ErrStopped
		}
	}
	return nil
}

// resume is the task's work.
func (r *room) resume() (outcome, error) {
	w, ok := r.next()
	if !ok {
		return outcome{}, guests.ErrStopped
	}
	return w.outcome, w.err
}

// roomFor gives a task whose operator asks functions a room; the callers that are made
// from here to the end of its step wait in it.
func (b *builder) roomFor(t *operatorTask) *room {
	t.room = newRoom(t.work)
	b.room = t.room
	b.job.rooms = append(b.job.rooms, t.room)
	return t.room
}
