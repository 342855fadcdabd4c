package state

import "math/bits"

// A timer is in the set if its entry says so: in one of two places of the entry
// itself (a window has its last moment and its cleanup), or in Memory.many. The
// queue orders them and may hold more: a timer that was deleted stays in it until
// it comes up, or until too many such are there (rebuild).

type timerKey struct {
	at     int64
	ref    Ref
	domain Domain
}

// extraTimer is a timer in many, in the chain that begins at its entry.
type extraTimer struct {
	at         int64
	prev, next uint32 // extra + 1
	domain     Domain
}

// staleMin is the number of deleted timers that are let lie at least.
const staleMin = 1024

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
		m.addExtra(d, at, r)
	}
	e.count++
	m.timed++
	m.timers[d].push(at, r)
}

const (
	absent = -1
	inMany = 2
)

// findTimer says where a timer is kept: its place in the entry, inMany or
// absent.
func (m *Memory) findTimer(d Domain, at int64, r Ref) int {
	e := &m.entries[r]
	for i := range e.inline {
		if e.inline[i] == at && e.used>>i&1 != 0 && Domain(e.used>>2>>i&1) == d {
			return i
		}
	}
	if int(e.count) > bits.OnesCount8(e.used&3) {
		if _, ok := m.many[timerKey{at, r, d}]; ok {
			return inMany
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
	switch where {
	case inMany:
		m.dropExtra(d, at, r)
	default:
		m.entries[r].used &^= 5 << where
	}
	m.entries[r].used &^= noted
	m.entries[r].count--
	m.timed--
	m.suspect(r)
	return true
}

func (m *Memory) addExtra(d Domain, at int64, r Ref) {
	i := m.freeExtra
	if i == 0 {
		m.extras = append(m.extras, extraTimer{})
		i = uint32(len(m.extras))
	} else {
		m.freeExtra = m.extras[i-1].next
	}
	e := &m.entries[r]
	m.extras[i-1] = extraTimer{at: at, next: e.extra, domain: d}
	if e.extra != 0 {
		m.extras[e.extra-1].prev = i
	}
	e.extra = i
	m.many[timerKey{at, r, d}] = i
}

func (m *Memory) dropExtra(d Domain, at int64, r Ref) {
	k := timerKey{at, r, d}
	i := m.many[k]
	delete(m.many, k)
	x := &m.extras[i-1]
	if x.prev != 0 {
		m.extras[x.prev-1].next = x.next
	} else {
		m.entries[r].extra = x.next
	}
	if x.next != 0 {
		m.extras[x.next-1].prev = x.prev
	}
	*x, m.freeExtra = extraTimer{next: m.freeExtra}, i
}

// eachTimer calls f with each timer of an entry, in no particular order.
func (m *Memory) eachTimer(r Ref, f func(Domain, int64)) {
	e := &m.entries[r]
	for i, at := range e.inline {
		if e.used>>i&1 != 0 {
			f(Domain(e.used>>2>>i&1), at)
		}
	}
	for i := e.extra; i != 0; i = m.extras[i-1].next {
		f(m.extras[i-1].domain, m.extras[i-1].at)
	}
}

// DeleteTimer implements Backend.
func (m *Memory) DeleteTimer(d Domain, at int64, r Ref) {
	if !m.dropTimer(d, at, r) {
		return
	}
	q := &m.timers[d]
	if q.stale++; q.stale > staleMin && q.stale > q.len/2 {
		m.rebuild(d)
	}
}

// PopTimer implements Backend.
func (m *Memory) PopTimer(d Domain, upTo int64) (int64, Ref, bool) {
	q := &m.timers[d]
	for q.len > 0 && q.next() <= upTo {
		at := q.next()
		r := q.pop()
		if m.dropTimer(d, at, r) {
			return at, r, true
		}
		q.stale--
	}
	return 0, 0, false
}

// rebuild makes the queue of a domain anew from the set.
func (m *Memory) rebuild(d Domain) {
	q := &m.timers[d]
	q.reset()
	for r := range m.entries {
		m.eachTimer(Ref(r), func(of Domain, at int64) {
			if of == d {
				q.push(at, Ref(r))
			}
		})
	}
}
