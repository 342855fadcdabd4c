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
	for i, want := range []*node{down, up, down, down} { // new ones are ready; then upstream has nothing to do
		if got := s.claim(1); got != want {
			t.Fatalf("turn %d is not that of %s", i, want.name)
		}
		want.run()
	}
	up.wake()
	if s.claim(1) != up {
		t.Fatal("a snapshot went before what comes upstream")
	}
	up.wake() // while it runs
	down.wake()
	up.run()
	if s.claim(1) != down {
		t.Fatal("a task that was brought something did not go first again")
	}
}

// TestLaterIsNotForever: while a job has always something else to do, what can wait
// gets its turn all the same.
func TestLaterIsNotForever(t *testing.T) {
	s := newScheduler(&stillClock{})
	s.add("busy", 0, &stepsTo{outcome{more: true}}, false)
	patient := s.add("patient", 1, &stepsTo{outcome{more: true, later: true}}, false)
	s.order()
	got := 0
	for turn := range 10 * laterTurns {
		n := s.claim(turn)
		if n == patient {
			got++
		}
		n.run()
	}
	if got != 10 {
		t.Errorf("%d turns of %d", got, 10*laterTurns)
	}
}
