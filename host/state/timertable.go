package state

// timerTable finds the timers of entries that have more than two, by open addressing: a
// key whose timers wait long may have very many.
type timerTable struct {
	slots  []uint64     // hash << 32 | extra + 1; 0 is free; len is a power of two
	extras []extraTimer // chained by entry
	free   uint32       // first free extra + 1, linked by next
	len    int
}

// extraTimer is a timer in the chain that begins at its entry.
type extraTimer struct {
	at         int64
	prev, next uint32 // extra + 1
	ref        Ref
	domain     Domain
}

const extraSlotMin = 64

// TimerBytes is what a timer takes in memory that is not one of the first two of its
// entry, and has a moment of its own: in the table, with its slots, and in the queue.
const TimerBytes = 128

func timerHash(d Domain, at int64, r Ref) uint32 {
	h := (uint64(at)<<1 ^ uint64(d)) * 0x9e3779b97f4a7c15
	h = (h ^ h>>32 ^ uint64(r)) * 0xff51afd7ed558ccd
	return uint32(h >> 32)
}

// find is the extra of a timer + 1, 0 if it is not there.
func (t *timerTable) find(d Domain, at int64, r Ref) uint32 {
	if t.len == 0 {
		return 0
	}
	h, mask := timerHash(d, at, r), uint32(len(t.slots)-1)
	for i := h & mask; t.slots[i] != 0; i = (i + 1) & mask {
		if uint32(t.slots[i]>>32) != h {
			continue
		}
		x := uint32(t.slots[i])
		if e := &t.extras[x-1]; e.at == at && e.ref == r && e.domain == d {
			return x
		}
	}
	return 0
}

// add adds a timer that is not there, before those that begin at first, and returns it.
func (t *timerTable) add(d Domain, at int64, r Ref, first uint32) uint32 {
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
	if t.len++; 2*t.len > len(t.slots) {
		t.grow()
	}
	t.put(timerHash(d, at, r), x)
	return x
}

func (t *timerTable) put(h, x uint32) {
	mask := uint32(len(t.slots) - 1)
	i := h & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = uint64(h)<<32 | uint64(x)
}

func (t *timerTable) grow() {
	old := t.slots
	t.slots = make([]uint64, max(2*len(old), extraSlotMin))
	for _, s := range old {
		if s != 0 {
			t.put(uint32(s>>32), uint32(s))
		}
	}
}

// drop takes out a timer that is there, and returns what its chain begins with then.
func (t *timerTable) drop(x, first uint32) uint32 {
	e := &t.extras[x-1]
	t.unlink(timerHash(e.domain, e.at, e.ref), x)
	if e.prev != 0 {
		t.extras[e.prev-1].next = e.next
	} else {
		first = e.next
	}
	if e.next != 0 {
		t.extras[e.next-1].prev = e.prev
	}
	*e, t.free = extraTimer{next: t.free}, x
	t.len--
	return first
}

// unlink takes a timer out of the table, as Memory.unlink does with an entry.
func (t *timerTable) unlink(h, x uint32) {
	mask := uint32(len(t.slots) - 1)
	i := h & mask
	for uint32(t.slots[i]) != x {
		i = (i + 1) & mask
	}
	for j := (i + 1) & mask; t.slots[j] != 0; j = (j + 1) & mask {
		home := uint32(t.slots[j]>>32) & mask
		if (j-home)&mask >= (j-i)&mask { // its search would pass place i
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = 0
}
