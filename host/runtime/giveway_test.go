package runtime

import "testing"

// stepping is a task whose steps come to what it says.
type stepping struct{ outcome }

func (t *stepping) step() (outcome, error) { return t.outcome, nil }

// TestLaterGoesLast: a task downstream that only has a snapshot left to write does not
// go before those that bring it records; once they have brought some, it does.
func TestLaterGoesLast(t *testing.T) {
	s := newScheduler(&stillClock{})
	up := s.add("upstream", 0, &stepping{}, false)
	down := s.add("downstream", 1, &stepping{outcome{more: true, later: true}}, false)
	s.order()
	for i, want := range []*node{down, up, down, down} { // new ones are ready; then upstream has nothing to do
		if got := s.claim(); got != want {
			t.Fatalf("turn %d is not that of %s", i, want.name)
		}
		want.run()
	}
	up.wake()
	if s.claim() != up {
		t.Fatal("a snapshot went before what comes upstream")
	}
	up.wake() // while it runs
	down.wake()
	up.run()
	if s.claim() != down {
		t.Fatal("a task that was brought something did not go first again")
	}
}
