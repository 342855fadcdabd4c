package state

import "math/bits"

// timerTable holds the timers of entries that have more than two: a key whose timers wait
// long may have very many. Which there are says a set for each time, by entry: timers are
// set and come due in the order of time, mostly, so what is asked lies together.
type timerTable struct {
	extras []extraTimer // chained by entry
	free   uint32       // first free extra + 1, linked by next
	sets   pool
	len    int // timers
}

// TimerBytes is about what a timer takes in memory that is not one of the first two of
// its entry and has a moment of its own: in the table, a set, and the queue.
const TimerBytes = 160

// extraTimer is a timer in the chain that begins at its entry.
type extraTimer struct {
	at         int64
	prev, next uint32 // extra + 1
	ref        Ref
	domain     Domain
}

// timerSet is those of one domain and time, by open addressing. Empty it has no memory.
type timerSet struct {
	at   uint32 // of its slots in the pool: ref << 32 | extra + 1; 0 is free
	size uint32 // of them, a power of two
	len  uint32
}

const setSlotsMin = 4

// home is where the search for an entry begins in so many slots.
func home(r Ref, slots int) uint32 {
	return uint32(uint64(r)*0x9e3779b97f4a7c15>>32) & uint32(slots-1)
}

func (t *timerTable) slots(s *timerSet) []uint64 {
	return t.sets.words[s.at : s.at+s.size : s.at+s.size]
}

// find is the extra of an entry's timer + 1, 0 if it is not there.
func (t *timerTable) find(s *timerSet, r Ref) uint32 {
	if s.len == 0 {
		return 0
	}
	slots := t.slots(s)
	for i := home(r, len(slots)); slots[i] != 0; i = (i + 1) & uint32(len(slots)-1) {
		if Ref(slots[i]>>32) == r {
			return uint32(slots[i])
		}
	}
	return 0
}

// add adds a timer that is not there, before those that begin at first, and returns it.
func (t *timerTable) add(s *timerSet, d Domain, at int64, r Ref, first uint32) uint32 {
	x := t.free
	if x == 0 {
		t.extras = append(t.extras, extraTimer{})
		x = uint32(len(t.extras))
	} else {
		t.free = t.extras[x-1].next
	}
	t.extras[x-1] = extraTimer{at: at, next: first, ref: r, domain: d}
	if first != 0 {
		t.extras[first-1].prev = x
	}
	t.put(s, r, x)
	t.len++
	return x
}

// put has a set say that a timer is there.
func (t *timerTable) put(s *timerSet, r Ref, x uint32) {
	if s.len++; 2*s.len > s.size {
		t.grow(s)
	}
	enter(t.slots(s), uint64(r)<<32|uint64(x))
}

func enter(slots []uint64, slot uint64) {
	i := home(Ref(slot>>32), len(slots))
	for slots[i] != 0 {
		i = (i + 1) & uint32(len(slots)-1)
	}
	slots[i] = slot
}

func (t *timerTable) grow(s *timerSet) {
	old := *s
	s.size = max(2*old.size, setSlotsMin)
	s.at = t.sets.take(s.size)
	if old.size == 0 {
		return
	}
	from, to := t.slots(&old), t.slots(s)
	for _, slot := range from {
		if slot != 0 {
			enter(to, slot)
		}
	}
	clear(from)
	t.sets.give(old.at, old.size)
}

// empty has a set say that no timer is there.
func (t *timerTable) empty(s *timerSet) {
	if s.len > 0 {
		clear(t.slots(s))
		t.sets.give(s.at, s.size)
		*s = timerSet{}
	}
}

// drop takes out a timer that is there, and returns what its chain begins with then.
func (t *timerTable) drop(s *timerSet, x, first uint32) uint32 {
	e := &t.extras[x-1]
	t.unlink(s, e.ref)
	t.len--
	if e.prev != 0 {
		t.extras[e.prev-1].next = e.next
	} else {
		first = e.next
	}
	if e.next != 0 {
		t.extras[e.next-1].prev = e.prev
	}
	*e, t.free = extraTimer{next: t.free}, x
	return first
}

// unlink takes a timer out of its set, as Memory.unlink does with an entry.
func (t *timerTable) unlink(s *timerSet, r Ref) {
	slots := t.slots(s)
	mask := uint32(len(slots) - 1)
	i := home(r, len(slots))
	for Ref(slots[i]>>32) != r || slots[i] == 0 {
		i = (i + 1) & mask
	}
	for j := (i + 1) & mask; slots[j] != 0; j = (j + 1) & mask {
		if (j-home(Ref(slots[j]>>32), len(slots)))&mask >= (j-i)&mask { // its search would pass place i
			slots[i] = slots[j]
			i = j
		}
	}
	slots[i] = 0
	if s.len--; s.len == 0 {
		t.sets.give(s.at, s.size)
		*s = timerSet{}
	}
}

// pool has the memory of sets, by their sizes. What it takes back must be zero.
type pool struct {
	words []uint64
	free  [32]uint32 // by the size's logarithm: place + 1, linked by the first word
}

func (p *pool) take(size uint32) uint32 {
	first := &p.free[bits.TrailingZeros32(size)]
	if *first == 0 {
		at := uint32(len(p.words))
		p.words = append(p.words, make([]uint64, size)...)
		return at
	}
	at := *first - 1
	*first = uint32(p.words[at])
	p.words[at] = 0
	return at
}

func (p *pool) give(at, size uint32) {
	first := &p.free[bits.TrailingZeros32(size)]
	p.words[at] = uint64(*first)
	*first = at + 1
}
