package state

import (
	"cmp"
	"math/bits"
	"slices"
)

// A timer is in the set if its entry says so: in one of two places of the entry
// itself (a window has its last moment and its cleanup), or in Memory.many. The
// queue orders them and may hold more: a timer that was deleted stays in it until
// it comes up, or until too many such are there (rebuild).

type timerKey struct {
	at     int64
	ref    Ref
	domain Domain
}

// staleMin is the number of deleted timers that are let lie at least.
const staleMin = 1024

// SetTimer implements Backend.
func (m *Memory) SetTimer(d Domain, at int64, r Ref) {
	e := &m.entries[r]
	if m.findTimer(d, at, r) != absent {
		return
	}
	if free := bits.TrailingZeros8(^e.used); free < len(e.inline) {
		e.inline[free] = at
		e.used = e.used&^(4<<free) | 1<<free | uint8(d)<<2<<free
	} else {
		m.many[timerKey{at, r, d}] = struct{}{}
	}
	e.count++
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
	switch where {
	case absent:
		return false
	case inMany:
		delete(m.many, timerKey{at, r, d})
	default:
		m.entries[r].used &^= 5 << where
	}
	m.entries[r].used &^= noted
	m.entries[r].count--
	m.suspect(r)
	return true
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
		e := &m.entries[r]
		for i, at := range e.inline {
			if e.used>>i&1 != 0 && Domain(e.used>>2>>i&1) == d {
				q.push(at, Ref(r))
			}
		}
	}
	var many []timerKey // in an order, so that a run can be repeated
	for k := range m.many {
		if k.domain == d {
			many = append(many, k)
		}
	}
	slices.SortFunc(many, func(a, b timerKey) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.ref, b.ref)) })
	for _, k := range many {
		q.push(k.at, k.ref)
	}
}
