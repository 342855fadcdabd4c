package scenario

import "testing"

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
