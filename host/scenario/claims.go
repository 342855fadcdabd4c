package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// mismatch is where the job did something else than the script says.
type mismatch struct {
	line    int
	message string
}

// check performs the script and compares; it ends at the first mismatch, since
// what follows one would only repeat it.
func (r *runner) check() *mismatch {
	r.begin()
	next, bad := r.claims(0, nil)
	for bad == nil && next < len(r.actions) {
		n := r.together(next)
		r.act(next, n)
		next, bad = r.claims(next+n, &r.actions[next+n-1])
	}
	if bad == nil {
		bad = r.unanswered()
	}
	return bad
}

// together is how many actions, from one on, are handed over as one: emits of one
// source in neighbouring lines, up to the size of a batch.
func (r *runner) together(from int) int {
	n := 1
	for first := &r.actions[from]; first.kind == emit && n < r.o.Batch && from+n < len(r.actions); n++ {
		if a := &r.actions[from+n]; a.kind != emit || a.name != first.name || a.line != first.line+n {
			break
		}
	}
	return n
}

// claims compares what an action (nil: the start of the job) led to with the
// lines from number from on that speak of it. It returns the number of the next
// action.
func (r *runner) claims(from int, of *action) (next int, bad *mismatch) {
	for next = from; next < len(r.actions) && r.actions[next].isClaim(); next++ {
	}
	claims := r.actions[from:next]
	if bad = r.checkFailure(of, claims); bad != nil {
		return next, bad
	}
	if bad = r.checkReceived(of, from, next); bad != nil {
		return next, bad
	}
	for i := range claims {
		if bad = r.checkAnswer(&claims[i]); bad != nil {
			return next, bad
		}
	}
	return next, nil
}

// place is the line of an action, and its words for a message.
func (r *runner) place(of *action) (line int, behind string) {
	if of == nil {
		return max(r.from, 1), "at the start"
	}
	return of.line, "after \"" + of.text + "\""
}

func (r *runner) checkFailure(of *action, claims []action) *mismatch {
	line, behind := r.place(of)
	for i := range claims {
		c := &claims[i]
		switch {
		case c.kind != wantError:
		case r.failure == nil:
			return &mismatch{c.line, fmt.Sprintf("%s: the job goes on; the script wants it to fail with %q", behind, c.phrase)}
		case !strings.Contains(r.failure.Error(), c.phrase):
			return &mismatch{c.line, fmt.Sprintf("%s: the job failed, but not with %q: %v", behind, c.phrase, r.failure)}
		default:
			return nil
		}
	}
	if r.failure != nil {
		return &mismatch{line, fmt.Sprintf("%s: the job failed: %v", behind, r.failure)}
	}
	return nil
}

// checkReceived compares the rows that sinks received with the want lines.
func (r *runner) checkReceived(of *action, from, to int) *mismatch {
	open := map[string]int{} // claims less rows
	for i := from; i < to; i++ {
		if r.actions[i].kind == want {
			open[r.lines[i]]++
		}
	}
	var unexpected []string
	for _, got := range r.sorted() {
		if open[got.line]--; open[got.line] < 0 {
			unexpected = append(unexpected, got.line)
		}
	}
	var missing []string
	for i := to - 1; i >= from; i-- { // backwards: of equal lines the first ones were met
		if line := r.lines[i]; r.actions[i].kind == want && open[line] > 0 {
			open[line]--
			missing = append(missing, fmt.Sprintf("%s   (line %d)", line, r.actions[i].line))
		}
	}
	slices.Reverse(missing)
	if len(missing)+len(unexpected) == 0 {
		return nil
	}
	line, behind := r.place(of)
	return &mismatch{line, fmt.Sprintf("%s:%s%s", behind, listed("missing   ", missing), listed("unexpected", unexpected))}
}

// listedMax bounds how many lines of a kind a message shows.
const listedMax = 20

func listed(word string, lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		if i == listedMax {
			fmt.Fprintf(&b, "\n  %s and %d more", word, len(lines)-listedMax)
			break
		}
		b.WriteString("\n  " + word + " " + line)
	}
	return b.String()
}

func (r *runner) checkAnswer(c *action) *mismatch {
	if c.kind != wantWatermark && c.kind != wantLateDropped {
		return nil
	}
	if r.job == nil {
		return &mismatch{c.line, fmt.Sprintf("the job has failed, so it cannot be asked: %v", r.failure)}
	}
	switch got := r.answer(c); {
	case c.kind == wantWatermark && got != c.time.String():
		return &mismatch{c.line, fmt.Sprintf("the watermark that last reached %s is %s, not %s", c.name, got, c.time)}
	case c.kind == wantLateDropped && got != fmt.Sprint(c.count):
		return &mismatch{c.line, fmt.Sprintf("late records that %s has dropped so far: %s, not %d", c.name, got, c.count)}
	}
	return nil
}

// answer is the answer to a question, as the script writes it.
func (r *runner) answer(c *action) string {
	if c.kind == wantWatermark {
		t, _ := r.job.SinkWatermark(c.name)
		return t.String()
	}
	n, _ := r.job.LateDropped(c.name)
	return fmt.Sprint(r.dropped[c.name] + n)
}
