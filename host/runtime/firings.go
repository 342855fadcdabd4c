package runtime

import (
	"slices"
	"sort"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
)

// firings are the lists of records that a function of a step is asked about, where records
// that it fails on are left out, and leave their window for good. What it is asked is put
// off, so a firing has a life:
//
//	ready       what waits of the window is settled, since records may leave by it
//	fires       its list is noted, and the function is asked
//	            the window may get more records meanwhile, behind those of the list
//	gone        the window is cleared, so nothing can leave it any more; or
//	settleList  the list is about to change in another way, so what waits is settled first
//	lost        the function, asked at last, failed on a record of it
//	settled     all that waited was asked: what is lost and not gone is taken out
type firings struct {
	takeOut   func(r state.Ref, n []int) // takes records out of a window; nil: the step fails, or has no lists
	atOnce    bool                       // it is asked before it is known whether the window goes on
	decision  *int                       // the core's present one
	list      []firing
	waiting   map[state.Ref]int // of list, by the window's entry
	originals *originals        // by the record's number; nil: nobody wants them
	records   int               // of all, numbered from 0
}

// firing is a list of records that was put off.
type firing struct {
	op     int       // of a window function, that is about it
	ref    state.Ref // of the window's contents
	window window.Window
	first  int // number of its first record
	count  int
	lost   []int // records that the function failed on, from 0, in order
	gone   bool  // the window has other records since, or none
	ended  bool  // it goes, or may go, by the decision that it fired by

	decision int // of the core, that it fired by
}

// listsRecordsMax is about how many records wait: a sweep of timers may fire millions.
const listsRecordsMax = 1 << 16

// fires notes the list of a firing, which op is about, and returns its first number.
func (f *firings) fires(op int, r state.Ref, w window.Window, rows []listedRow) int {
	if f.takeOut == nil {
		return 0
	}
	if f.originals != nil {
		for i, e := range rows {
			f.originals.keepListed(f.records+i, e)
		}
	}
	first := f.records
	f.waiting[r] = len(f.list)
	f.list = append(f.list, firing{op: op, ref: r, window: w, first: first, count: len(rows), ended: f.atOnce, decision: *f.decision})
	f.records += len(rows)
	return first
}

// firing is the one that an op is about; nil: it is about none, or nothing is left out.
func (f *firings) firing(op int) *firing {
	i := sort.Search(len(f.list), func(i int) bool { return f.list[i].op >= op })
	if i == len(f.list) || f.list[i].op != op {
		return nil
	}
	return &f.list[i]
}

// of is the firing that has a record, by its number.
func (f *firings) of(number int) *firing {
	return &f.list[sort.Search(len(f.list), func(i int) bool { return f.list[i].first > number })-1]
}

// waits tells that something is put off about the list at r.
func (f *firings) waits(r state.Ref) bool {
	_, waits := f.waiting[r]
	return waits
}

// gone says that a window has no records any more. Whether it ended with its firing must not
// depend on when the function is asked, which is a matter of how records come together.
func (f *firings) gone(r state.Ref) {
	if i, ok := f.waiting[r]; ok {
		l := &f.list[i]
		l.gone, l.ended = true, l.decision == *f.decision
		delete(f.waiting, r)
	}
}

// settled takes what is lost out of the windows, and begins anew.
func (f *firings) settled() {
	for i := range f.list {
		if l := &f.list[i]; len(l.lost) > 0 && !l.gone {
			f.takeOut(l.ref, l.lost)
		}
	}
	f.list, f.records = f.list[:0], 0
	clear(f.waiting)
}

// rest are the records that are not known to be failed on.
func (l *firing) rest() (rest []int) {
	for n := range l.count {
		if _, lost := slices.BinarySearch(l.lost, n); !lost {
			rest = append(rest, n)
		}
	}
	return rest
}

// nothingLost is the part of a listFunction that takes no records out of windows.
type nothingLost struct{}

func (nothingLost) ready(state.Ref, window.Window) error { return nil }
func (nothingLost) settleList(state.Ref) error           { return nil }
func (nothingLost) gone(state.Ref)                       {}

// recomputed is an aggregate over a list: computed anew at each firing.
type recomputed struct {
	aggregator
	firings
	faults *faults
}

// recomputedOf leaves records out of the list that an aggregate fails on, if faults are
// survived.
func (o *windowOperator) recomputedOf(a aggregator) *recomputed {
	return &recomputed{aggregator: a, faults: o.faults, firings: firings{waiting: map[state.Ref]int{}, decision: &o.decision}}
}

// fire implements listFunction. The aggregate, which may be asked meanwhile, finds what it
// fails on by the records' numbers.
func (f *recomputed) fire(r state.Ref, w window.Window, rows []listedRow) error {
	if err := f.create(r); err != nil {
		return err
	}
	first := f.fires(0, r, w, rows)
	defer func(before atHand) { f.faults.atHand = before }(f.faults.atHand)
	for i, e := range rows {
		if f.takeOut != nil {
			f.faults.cameOfList(first+i, e)
		}
		if err := f.add(r, e.row, e.time); err != nil {
			return err
		}
	}
	err := f.result(r, w)
	f.discard(r)
	return err
}

// lost is told of a record that the aggregate failed on.
func (f *recomputed) lost(number int, x *failure) {
	l := f.of(number)
	l.lost = append(l.lost, number-l.first)
	x.within = showWindow(l.window)
}

func (f *recomputed) pump() bool { return true }

// ready implements listFunction.
func (f *recomputed) ready(r state.Ref, _ window.Window) error {
	if f.records >= listsRecordsMax {
		return f.complete()
	}
	return f.settleList(r)
}

// settleList implements listFunction.
func (f *recomputed) settleList(r state.Ref) error {
	if f.waits(r) {
		return f.complete()
	}
	return nil
}

func (f *recomputed) complete() error {
	if err := f.aggregator.complete(); err != nil {
		return err
	}
	f.settled()
	return nil
}
