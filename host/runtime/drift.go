package runtime

import (
	"sync"

	"github.com/wasmstream/wasmstream/host/stream"
)

// driftGroup keeps sources together: none reads on whose watermark is farther
// ahead of the group's least than its drift allows. Members are added before the
// job runs.
type driftGroup struct {
	mu      sync.Mutex
	members []*driftMember
}

// driftMember is a source in its group. What it has not reported is not waited
// for.
type driftMember struct {
	group *driftGroup
	node  *node
	drift int64 // ms

	reported stream.EventTime // MaxTime: nobody waits for it; guarded by group.mu
	waits    bool             // to read on; guarded by group.mu
	at       stream.EventTime // its watermark; valid if waits; guarded by group.mu
}

// join adds a source.
func (g *driftGroup) join(n *node, drift int64) *driftMember {
	m := &driftMember{group: g, node: n, drift: drift, reported: stream.MaxTime}
	g.members = append(g.members, m)
	return m
}

// mayRead tells whether the source, whose watermark is at, may read on. If not,
// its node is woken when it may.
func (m *driftMember) mayRead(at stream.EventTime) bool {
	m.group.mu.Lock()
	defer m.group.mu.Unlock()
	m.at, m.waits = at, at > m.allowed()
	return !m.waits
}

// limit is the highest watermark at which the source, or a split of it, may read on.
func (m *driftMember) limit() stream.EventTime {
	m.group.mu.Lock()
	defer m.group.mu.Unlock()
	return m.allowed()
}

// report tells how far the source has come, and wakes those that waited for that.
// Nobody is woken under the lock.
func (m *driftMember) report(at stream.EventTime) {
	for n := m.set(at); n != nil; n = m.group.released() {
		n.wake()
	}
}

// set takes a report, and returns the first source to wake, if any.
func (m *driftMember) set(at stream.EventTime) *node {
	m.group.mu.Lock()
	same := m.reported == at
	m.reported = at
	m.group.mu.Unlock()
	if same {
		return nil
	}
	return m.group.released()
}

// released finds a source that need not wait any more.
func (g *driftGroup) released() *node {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.members {
		if m.waits && m.at <= m.allowed() {
			m.waits = false
			return m.node
		}
	}
	return nil
}

// allowed is the highest watermark at which the source may read on. The caller
// holds the lock.
func (m *driftMember) allowed() stream.EventTime {
	least := stream.MaxTime
	for _, o := range m.group.members {
		least = min(least, o.reported)
	}
	return least.Add(m.drift) // held at the limit (FLINK-31632)
}
