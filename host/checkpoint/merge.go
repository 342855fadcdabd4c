package checkpoint

import (
	"bytes"
	"io"
	"slices"
	"strconv"

	"github.com/wasmstream/wasmstream/host/stream"
)

// MergeOptions is how files become one.
type MergeOptions struct {
	// Groups are those that are taken over; of others the result has nothing.
	Groups Groups
	// Delta keeps records of deleted keys, for files that are older than all of these and still count. Without it the
	// result is a base.
	Delta bool
	// Yield, if not nil, is called after each piece of work of at most about 200 µs.
	Yield func()
}

// Merge writes one file in place of several, the oldest first (invariant F).
func Merge(w io.Writer, files []*File, o MergeOptions) (FileSummary, error) {
	yield := o.Yield
	if yield == nil {
		yield = func() {}
	}
	out := newFileWriter(w, yield)
	m := newMerger(files)
	n := 0
	put := func(key, value []byte) error {
		if n++; n%pieceRecords == 0 {
			yield()
		}
		if value == nil && !o.Delta {
			return nil
		}
		return out.entry(key, value)
	}
	for _, group := range groupsOf(files) {
		if !o.Groups.Has(group) {
			continue
		}
		out.begin(group)
		if err := m.each(group, put); err != nil {
			return FileSummary{}, err
		}
		if err := out.end(); err != nil {
			return FileSummary{}, err
		}
	}
	return out.finish()
}

// Load calls put for each key of some groups that has a value, group by group in the order of keys; of files the oldest
// comes first. Key and value are good until put returns.
func Load(files []*File, groups Groups, put func(key, value []byte) error) error {
	m := newMerger(files)
	for _, group := range groupsOf(files) {
		if !groups.Has(group) {
			continue
		}
		err := m.each(group, func(key, value []byte) error {
			if value == nil {
				return nil
			}
			return put(key, value)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// groupsOf are the groups of which at least one file has records, ascending.
func groupsOf(files []*File) []stream.KeyGroup {
	var groups []stream.KeyGroup
	for _, f := range files {
		groups = append(groups, f.Groups()...)
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

func groupText(g stream.KeyGroup) string { return strconv.Itoa(int(g)) }

// merger goes through the records of one group of several files at once.
type merger struct {
	cursors []cursor
	heap    []int // cursors with a record: the least key first, of equal ones the newest file
	key     []byte
}

func newMerger(files []*File) *merger {
	m := &merger{cursors: make([]cursor, len(files))}
	for i, f := range files {
		m.cursors[i].file = f
	}
	return m
}

// each calls visit for the newest record of each key.
func (m *merger) each(group stream.KeyGroup, visit func(key, value []byte) error) error {
	if err := m.open(group); err != nil {
		return err
	}
	for len(m.heap) > 1 {
		c := &m.cursors[m.heap[0]]
		if err := visit(c.key, c.value); err != nil {
			return err
		}
		m.key = append(m.key[:0], c.key...) // the record goes away when its cursor moves on
		if err := m.advance(); err != nil {
			return err
		}
		for len(m.heap) > 0 && bytes.Equal(m.cursors[m.heap[0]].key, m.key) { // older ones
			if err := m.advance(); err != nil {
				return err
			}
		}
	}
	return m.drain(visit)
}

// drain does the same when there is one file left.
func (m *merger) drain(visit func(key, value []byte) error) error {
	if len(m.heap) == 0 {
		return nil
	}
	c := &m.cursors[m.heap[0]]
	for {
		if err := visit(c.key, c.value); err != nil {
			return err
		}
		if ok, err := c.next(); !ok {
			return err
		}
	}
}

func (m *merger) open(group stream.KeyGroup) error {
	m.heap = m.heap[:0]
	for i := range m.cursors {
		m.cursors[i].open(group)
		ok, err := m.cursors[i].next()
		if err != nil {
			return err
		}
		if ok {
			m.heap = append(m.heap, i)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return nil
}

// advance moves the first cursor on to its next record.
func (m *merger) advance() error {
	ok, err := m.cursors[m.heap[0]].next()
	if err != nil {
		return err
	}
	if !ok {
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	m.down(0)
	return nil
}

// down puts the cursor at i where it belongs among those below it.
func (m *merger) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(m.heap) {
			return
		}
		if right := child + 1; right < len(m.heap) && m.before(right, child) {
			child = right
		}
		if !m.before(child, i) {
			return
		}
		m.heap[i], m.heap[child] = m.heap[child], m.heap[i]
		i = child
	}
}

func (m *merger) before(i, j int) bool {
	a, b := m.heap[i], m.heap[j]
	switch c := bytes.Compare(m.cursors[a].key, m.cursors[b].key); {
	case c != 0:
		return c < 0
	default:
		return a > b
	}
}
