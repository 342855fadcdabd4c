package scenario

import (
	"testing"

	"github.com/wasmstream/wasmstream/host/stream"
)

func TestManualClock(t *testing.T) {
	c := &manualClock{}
	var rings []stream.ProcTime
	var again stream.ProcTime // the next alarm that ring sets; 0: none
	var ring func()
	ring = func() {
		rings = append(rings, c.Now())
		if again != 0 {
			c.Alarm(again, ring)
		}
	}
	c.Alarm(5, ring)
	c.move(4)
	again = 6
	c.move(5)
	again = 0
	c.move(10)
	c.move(11)
	c.Alarm(3, ring) // has passed: it waits for the next move, even to the same time
	c.move(11)
	c.Alarm(12, ring)
	c.Alarm(0, nil)
	c.move(20)
	want := []stream.ProcTime{5, 10, 11}
	if len(rings) != len(want) || rings[0] != 5 || rings[1] != 10 || rings[2] != 11 {
		t.Errorf("it rang at %v, want %v", rings, want)
	}
}

// TestTogether has lines that are handed over as one, and what parts them.
func TestTogether(t *testing.T) {
	const text = `-- job.yaml --
-- script --
emit a {}
emit a {}
emit a {}
emit b {}
emit b {}

emit b {}
# A comment.
emit b {}
watermark b 5
emit b {}
want out {}
emit b {}`
	s, err := Parse("a", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for batch, want := range map[int][]int{
		0: {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1: {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
		2: {2, 1, 2, 1, 1, 1, 1, 1, 1}, 9: {3, 2, 1, 1, 1, 1, 1, 1},
	} {
		r := &runner{Scenario: s, o: &Options{Batch: batch}}
		i := 0
		for at := 0; at < len(s.actions); {
			n := r.together(at)
			if i == len(want) || n != want[i] {
				t.Errorf("batch %d: action %d is handed over with %d, want %v", batch, at, n, want)
				break
			}
			at, i = at+n, i+1
		}
	}
}
