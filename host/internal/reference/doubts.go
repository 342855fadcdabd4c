package reference

import "slices"

// doubts are what makes the answers of a script no measure, such as an order that
// is not defined.
type doubts struct {
	list   []string
	unlike []string // Flink's faults that the reference does not share; the answers hold
	action int      // the number of the action; neighbouring emits of a source share one
	seen   map[arrivals]int
	alone  map[arrivals]bool // decisions that hold only if no other record came
}

// arrivals counts the records that one action brought to a key of a step.
type arrivals struct {
	action int
	step   *step
	key    string
}

func newDoubts() *doubts {
	return &doubts{seen: map[arrivals]int{}, alone: map[arrivals]bool{}}
}

func (d *doubts) add(text string) {
	if !slices.Contains(d.list, text) {
		d.list = append(d.list, text)
	}
}

// differ notes that Flink answers otherwise.
func (d *doubts) differ(text string) {
	if !slices.Contains(d.unlike, text) {
		d.unlike = append(d.unlike, text)
	}
}

// arrival notes a record that reaches a window.
func (d *doubts) arrival(w *windowStep, r record) {
	if !w.started {
		d.add("a record that reaches a step, after a restart, before the clock does")
	}
	if !w.step.downstream {
		return // records of sources have an order
	}
	at := arrivals{d.action, w.step, w.key(r)}
	// Flink forgets a session whose very bounds a record brings.
	if d.seen[at]++; d.seen[at] > 1 && (w.window.evictor != nil || w.window.kind == "session") {
		d.add("an evictor or a session over several rows of one action")
	}
	if d.seen[at] > 1 && d.alone[at] {
		d.add("a decision about one of several rows of one action")
	}
}

// decided notes what would be otherwise if the rows of one action came in another
// order.
func (d *doubts) decided(w *windowStep, key string) {
	at := arrivals{d.action, w.step, key}
	d.alone[at] = true
	if d.seen[at] > 1 {
		d.add("a decision about one of several rows of one action")
	}
}
