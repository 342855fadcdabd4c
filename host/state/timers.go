package state

import "math/bits"

// A timer is in the set if its entry says so: in one of two places of the entry
// itself (a window has its last moment and its cleanup), or in Memory.many, by the
// bucket of its time in the queue. The queue orders timers and may hold more: one that
// was deleted stays in it until it comes up, or until too many such are there (rebuild).

// Deleted timers are let lie until there are staleMin of them, as many as others, and one
// for each staleEntries entries: all entries are looked at to do without them.
const (
	staleMin     = 1024
	staleEntries = 16
)

// SetTimer implements Backend.
func (m *Memory) SetTimer(d Domain, at int64, r Ref) {
	e := &m.entries[r]
	if m.findTimer(d, at, r) != absent {
		return
	}
	m.touch(r)
	if free := bits.TrailingZeros8(^e.used); free < len(e.inline) {
		e.inline[free] = at
		e.used = e.used&^(4<<free) | 1<<free | uint8(d)<<2<<free
	} else {
		e.extra = m.many.add(&m.timers[d].bucketOf(at).extras, d, at, r, e.extra)
	}
	e.count++
	m.timed++
	m.timers[d].push(at, r)
}

// HasTimer implements Backend.
func (m *Memory) HasTimer(d Domain, at int64, r Ref) bool { return m.findTimer(d, at, r) != absent }

const (
	absent = -1
	inMany = 2
)

// findTimer says where a timer is kept: its place in the entry, inMany and its extra,
// or absent.
func (m *Memory) findTimer(d Domain, at int64, r Ref) int {
	e := &m.entries[r]
	for i := range e.inline {
		if e.inline[i] == at && e.used>>i&1 != 0 && Domain(e.used>>2>>i&1) == d {
			return i
		}
	}
	if int(e.count) > bits.OnesCount8(e.used&3) {
		if b := m.timers[d].known(at); b != nil {
			if x := m.many.find(&b.extras, r); x != 0 {
				return inMany + int(x) - 1
			}
		}
	}
	return absent
}

// dropTimer takes a timer out of the set; it tells whether it was there.
func (m *Memory) dropTimer(d Domain, at int64, r Ref) bool {
	where := m.findTimer(d, at, r)
	if where == absent {
		return false
	}
	m.touch(r)
	if e := &m.entries[r]; where >= inMany {
		e.extra = m.many.drop(&m.timers[d].known(at).extras, uint32(where-inMany+1), e.extra)
	} else {
		e.used &^= 5 << where
	}
	m.entries[r].used &^= noted
	m.entries[r].count--
	m.timed--
	m.suspect(r)
	return true
}

// eachTimer calls f with each timer of an entry, in no particular order.
func (m *Memory) eachTimer(r Ref, f func(Domain, int64)) {
	e := &m.entries[r]
	for i, at := range e.inline {
		if e.used>>i&1 != 0 {
			f(Domain(e.used>>2>>i&1), at)
		}
	}
	for i := e.extra; i != 0; {
		x := &m.many.extras[i-1]
		f(x.domain, x.at)
		i = x.next
	}
}

// DeleteTimer implements Backend.
func (m *Memory) DeleteTimer(d Domain, at int64, r Ref) {
	if !m.dropTimer(d, at, r) {
		return
	}
	q := &m.timers[d]
	if q.stale++; q.stale > max(staleMin, q.len/2, len(m.entries)/staleEntries) {
		m.rebuild(d)
	}
}

// PopTimer implements Backend.
func (m *Memory) PopTimer(d Domain, upTo int64) (int64, Ref, bool) {
	q := &m.timers[d]
	for q.len > 0 && q.next() <= upTo {
		at, r := q.next(), q.top()
		was := m.dropTimer(d, at, r)
		q.pop() // after that: the bucket goes with its last one
		if was {
			return at, r, true
		}
		q.stale--
	}
	return 0, 0, false
}

// rebuild makes the queue of a domain anew from the set.
func (m *Memory) rebuild(d Domain) {
	q := &m.timers[d]
	for _, t := range q.heap {
		m.many.empty(&q.buckets[t.bucket].extras)
	}
	q.reset()
	for r := range m.entries {
		m.eachTimer(Ref(r), func(of Domain, at int64) {
			if of == d {
				q.push(at, Ref(r))
			}
		})
		for x := m.entries[r].extra; x != 0; {
			e := &m.many.extras[x-1]
			if e.domain == d {
				m.many.put(&q.bucketOf(e.at).extras, Ref(r), x)
			}
			x = e.next
		}
	}
}
