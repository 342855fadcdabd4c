package state

// expectedMax is how many entries are fetched at once: some more than a processor has loads under way.
const expectedMax = 32

// Expect implements Backend. Each of the loops depends on the one before it, and none of its turns on another: so the
// processor waits for all of a loop's memory at once.
func (m *Memory) Expect(list []Expected) {
	for len(list) > expectedMax {
		m.Expect(list[:expectedMax])
		list = list[expectedMax:]
	}
	var refs [expectedMax]Ref
	var keys [expectedMax]place
	mask, n := uint32(len(m.table)-1), 0
	for i := range list {
		if slot := uint32(m.table[combine(list[i].Hash, list[i].Namespace)&mask]); slot != 0 {
			refs[n] = Ref(slot - 1)
			n++
		}
	}
	for i, r := range refs[:n] {
		keys[i] = m.entries[r].key
	}
	for _, p := range keys[:n] {
		m.fetched += m.keys.at(p, 1)[0]
	}
}
