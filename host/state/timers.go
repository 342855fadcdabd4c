package state

import "math/bits"

// A timer is in the set if its entry says so: in one of two places of the entry
// itself (a window has its last moment and its cleanup), or in Memory.many. The
// heap orders them and may hold more: a timer that was deleted stays in it until
// it comes up, or until too many such are there (rebuild).

type timer struct {
	at  int64
	ref Ref
}

type timerKey struct {
	at     int64
	ref    Ref
	domain Domain
}

type timerHeap struct {
	heap  []timer // 4-ary
	stale int     // at most so many of heap are not in the set
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
	m.timers[d].push(timer{at, r})
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
	h := &m.timers[d]
	if h.stale++; h.stale > staleMin && h.stale > len(h.heap)/2 {
		m.rebuild(d)
	}
}

// PopTimer implements Backend.
func (m *Memory) PopTimer(d Domain, upTo int64) (int64, Ref, bool) {
	h := &m.timers[d]
	for len(h.heap) > 0 && h.heap[0].at <= upTo {
		t := h.pop()
		if m.dropTimer(d, t.at, t.ref) {
			return t.at, t.ref, true
		}
		h.stale--
	}
	return 0, 0, false
}

// rebuild makes the heap of a domain anew from the set.
func (m *Memory) rebuild(d Domain) {
	h := &m.timers[d]
	h.heap, h.stale = h.heap[:0], 0
	for r := range m.entries {
		e := &m.entries[r]
		for i, at := range e.inline {
			if e.used>>i&1 != 0 && Domain(e.used>>2>>i&1) == d {
				h.push(timer{at, Ref(r)})
			}
		}
	}
	for k := range m.many {
		if k.domain == d {
			h.push(timer{k.at, k.ref})
		}
	}
}

// before orders timers by time, then by entry, so that a run can be repeated.
func (t timer) before(u timer) bool { return t.at < u.at || t.at == u.at && t.ref < u.ref }

func (h *timerHeap) push(t timer) {
	h.heap = append(h.heap, t)
	s := h.heap
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !t.before(s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = t
}

func (h *timerHeap) pop() timer {
	s := h.heap
	top, last := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	h.heap = s
	i := 0
	for {
		child := 4*i + 1
		if child >= len(s) {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, len(s)); c++ {
			if s[c].before(s[least]) {
				least = c
			}
		}
		if !s[least].before(last) {
			break
		}
		s[i] = s[least]
		i = least
	}
	if len(s) > 0 {
		s[i] = last
	}
	return top
}
