package runtime

import "testing"

// stepsTo is a task whose steps come to what it says.
type stepsTo struct{ outcome }

func (t *stepsTo) step() (outcome, error) { return t.outcome, nil }

// TestLaterGoesLast: a task downstream that only has a snapshot left to write does not
// go before those that bring it records; once they have brought some, it does.
func TestLaterGoesLast(t *testing.T) {
	s := newScheduler(&stillClock{})
	up := s.add("upstream", 0, &stepsTo{}, false)
	down := s.add("downstream", 1, &stepsTo{outcome{more: true, later: true}}, false)
	s.order()
	w := newWorker(s)
	for i, want := range []*node{up, down, down, down} { // new ones are ready; then upstream has nothing to do
		if got := w.claim(); got != want {
			t.Fatalf("turn %d is not that of %s", i, want.name)
		}
		want.run()
	}
	for range 3 {
		up.wake()
		if w.claim() != up {
			t.Fatal("a snapshot went before what comes upstream")
		}
		up.wake() // while it runs
		up.run()
	}
	if w.claim() != up {
		t.Fatal("a snapshot went before what comes upstream, which was woken while it ran")
	}
	up.wake()
	down.wake()
	up.run()
	if w.claim() != down {
		t.Fatal("a task that was brought something was put off")
	}
}

// TestLaterIsNotForever: while a job has always something else to do, what can wait
// gets its turn all the same.
func TestLaterIsNotForever(t *testing.T) {
	s := newScheduler(&stillClock{})
	s.add("busy", 0, &stepsTo{outcome{more: true}}, false)
	patient := s.add("patient", 1, &stepsTo{outcome{more: true, later: true}}, false)
	other := s.add("another", 0, &stepsTo{outcome{more: true, later: true}}, false)
	s.order()
	w, got := newWorker(s), map[*node]int{}
	w.claim().run() // what is patient is known after its first turn
	w.claim().run()
	w.claim().run()
	for range 10 * laterTurns {
		n := w.claim()
		got[n]++
		n.run()
	}
	if got[patient] != 5 || got[other] != 5 {
		t.Errorf("%d and %d turns of %d, want 5 each", got[patient], got[other], 10*laterTurns)
	}
}
