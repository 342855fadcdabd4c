package window

import (
	"errors"
	"fmt"
	"slices"
)

// InSet is an entry of a merging set: a session of a key.
type InSet struct {
	Window   Window
	Contents Window // the window under which its contents are kept
	Trigger  State
}

// ErrMerging is the failure of a record whose session would merge into one that
// is over already.
var ErrMerging = errors.New("merging sessions must not give one whose end has passed")

// find is the place of a session, -1 if it is not in the set.
func find(set []InSet, w Window) int {
	for i := range set {
		if set[i].Window == w {
			return i
		}
	}
	return -1
}

// meets says whether two sessions become one.
func (a *Assigner) meets(x, y Window) bool {
	if a.Overlapping {
		return x.Start < y.End && x.End > y.Start
	}
	return x.Start <= y.End && x.End >= y.Start
}

// join adds the session of a record to the merging set and answers the place of
// the session in which it ends up; merges say their effects. A place of -1 means
// that the session is over: it does not stay in the set.
func (c *Core) join(dst *effects, w Window, f *Facts) (at int, changed bool, err error) {
	set := f.Set
	from := 0
	for from < len(set) && set[from].Window.Start < w.Start && !c.assigner.meets(set[from].Window, w) {
		from++
	}
	to, result := from, w
	for to < len(set) && c.assigner.meets(set[to].Window, w) {
		result.Start = min(result.Start, set[to].Window.Start)
		result.End = max(result.End, set[to].Window.End)
		to++
	}
	switch {
	case from == to && c.isOver(w, f.Now):
		return -1, false, nil
	case from == to:
		f.Set = slices.Insert(set, from, InSet{Window: w, Contents: w})
		return from, true, nil
	case to == from+1 && set[from].Window == result:
		if c.isOver(result, f.Now) {
			f.Set = slices.Delete(set, from, to)
			return -1, true, nil
		}
		return from, c.again(dst, w, &set[from]), nil
	}
	if err := c.mayMerge(result, f.Now); err != nil {
		return 0, false, err
	}
	set[from] = c.merge(dst, set[from:to], result, f)
	f.Set = slices.Delete(set, from+1, to)
	return from, true, nil
}

// again is a record whose session lies within one that exists. If it is the same
// and that one has grown from another, Flink gives the session new, empty
// contents and so forgets the records before; the old contents are cleared here,
// where Flink leaves them behind for good.
func (c *Core) again(dst *effects, w Window, s *InSet) bool {
	if c.keepEqual || w != s.Window || s.Contents == w {
		return false
	}
	dst.add(Purge, w, s.Contents)
	s.Contents = w
	return true
}

// mayMerge refuses a session that would be over when it comes into being
// (FLINK-5972). The sum wraps around, as in Flink.
func (c *Core) mayMerge(w Window, now Now) error {
	if c.assigner.Processing {
		if w.MaxTimestamp() <= int64(now.Clock) {
			return fmt.Errorf("%w: [%d, %d) at processing time %d", ErrMerging, w.Start, w.End, now.Clock)
		}
	} else if w.MaxTimestamp()+c.lateness <= int64(now.Watermark) {
		return fmt.Errorf("%w: [%d, %d) with an allowed lateness of %d ms at the watermark %d", ErrMerging, w.Start, w.End, c.lateness, now.Watermark)
	}
	return nil
}

// merge makes one session of neighbours, which it may reorder. Its contents stay
// where those of one of them are; a record's own session never had any. The
// trigger's state of the facts serves as scratch: a variable of its own would be
// allocated.
func (c *Core) merge(dst *effects, sources []InSet, result Window, f *Facts) InSet {
	orderAsFlink(sources)
	contents := sources[0].Contents
	f.Trigger = sources[0].Trigger
	for i := range sources[1:] {
		f.Trigger = c.trigger.unite(f.Trigger, sources[1+i].Trigger)
	}
	v := visit{effects: *dst, window: result, contents: contents, now: &f.Now, state: &f.Trigger}
	if c.Asks() {
		for i := range sources {
			v.from(Unite, result, Window{}, sources[i].Window)
		}
	}
	c.trigger.onMerge(&v)
	for i := range sources {
		// What the trigger remembered has gone into the merged state.
		s := &sources[i]
		s.Trigger = State{}
		v.window, v.state = s.Window, &s.Trigger
		c.trigger.clear(&v)
		if at := c.cleanup(s.Window); at != never {
			v.delete(c.domain, at)
		}
		v.from(Absorb, result, Window{}, s.Window)
	}
	for i := range sources {
		if s := &sources[i]; s.Contents != contents {
			v.from(Merge, result, contents, s.Contents)
		}
	}
	*dst = v.effects
	return InSet{Window: result, Contents: contents, Trigger: f.Trigger}
}
