package runtime

import (
	"slices"
	"sort"

	"github.com/wasmstream/wasmstream/host/state"
)

// firings are the lists of records that ops of a window function's frame are about, where
// records that it fails on are left out: they leave the window, too, for good. What a
// function is asked is put off, so by then the list may have more records behind those that
// it was given; before anything else happens to the list, the function is asked.
type firings struct {
	takeOut   func(r state.Ref, n []int) // takes records out of a window; nil: the step fails, or has no lists
	atOnce    bool                       // it is asked before it is known whether the window goes on
	decision  *int                       // the core's present one
	list      []firing
	waiting   map[state.Ref]int // of list, by the window's entry
	originals *originals        // by first and the record's number; nil: nobody wants them
	records   int               // of all
}

// firing is a list of records that an op is about.
type firing struct {
	op    int
	ref   state.Ref // of the window's contents
	first int       // of its records among those of all
	count int
	gone  bool  // the window has other records since, or none
	ended bool  // it is gone by the decision that it fired by
	lost  []int // records that the function failed on

	decision int // of the core, that it fired by
}

// fires notes the list of an op.
func (f *firings) fires(op int, r state.Ref, rows []listedRow) {
	if f.takeOut == nil {
		return
	}
	if f.originals != nil {
		for i, e := range rows {
			f.originals.keepListed(f.records+i, e)
		}
	}
	f.waiting[r] = len(f.list)
	f.list = append(f.list, firing{op: op, ref: r, first: f.records, count: len(rows), decision: *f.decision})
	f.records += len(rows)
}

// firing is the list of an op; nil: it has none, or nothing is left out of it.
func (f *firings) firing(op int) *firing {
	i := sort.Search(len(f.list), func(i int) bool { return f.list[i].op >= op })
	if i == len(f.list) || f.list[i].op != op {
		return nil
	}
	return &f.list[i]
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

// settled takes out of the window what the function failed on.
func (f *firings) settled(op int) {
	if len(f.list) == 0 {
		return
	}
	if l := f.firing(op); l != nil && len(l.lost) > 0 && !l.gone {
		f.takeOut(l.ref, l.lost)
	}
}

func (f *firings) reset() {
	f.list, f.records = f.list[:0], 0
	clear(f.waiting)
}

func (l *firing) all() []int {
	all := make([]int, l.count)
	for n := range all {
		all[n] = n
	}
	return all
}

// rest are the records that are not known to be failed on.
func (l *firing) rest() []int {
	return slices.DeleteFunc(l.all(), func(n int) bool { return slices.Contains(l.lost, n) })
}
