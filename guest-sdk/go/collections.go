package wasmstream

import (
	"iter"
	"unsafe"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// store is what list and map states have in common: they are reached by calls of the host.
type store struct {
	index      uint32
	key, value *schema
	of         *base
	name       string
	// Rows on their way to the host, and rows that it gave.
	keyBytes, valueBytes, got []byte
	// scans are buffers of scans under way: one for each that is nested in another.
	scans [][]byte
	depth int
}

func (s *store) bindTo(of *base, name string, index int, key, value Columns) {
	s.index, s.of, s.name = uint32(index), of, name
	s.key = newSchema("key of state "+name+" of "+of.name, key)
	s.value = newSchema("state "+name+" of "+of.name, value)
}

func (s *store) put(o *Op, key []byte, value Row) {
	o.checkState(s.of, s.name)
	s.valueBytes = s.value.appendRow(s.valueBytes[:0], value)
	raw.StatePut(o.index, s.index, key, s.valueBytes)
}

// remove removes an entry; without a key all.
func (s *store) remove(o *Op, key []byte) {
	o.checkState(s.of, s.name)
	raw.StateDelete(o.index, s.index, key)
}

// bytesOf are a key's.
func (s *store) bytesOf(o *Op, key Row) []byte {
	o.checkState(s.of, s.name)
	s.keyBytes = s.key.appendRow(s.keyBytes[:0], key)
	return s.keyBytes
}

// rowOf is a row that the host gave.
func rowOf(b []byte, s *schema, writable bool) Row {
	return Row{base: unsafe.Pointer(unsafe.SliceData(b)), checks: allow(s, writable)}
}

// scanBytes is how much a scan asks for at a time.
const scanBytes = 4 << 10

// scan yields entries until there are no more, or enough. state is the index, or that of a merged window.
func (s *store) scan(o *Op, state uint32, yield func(key, value []byte) bool) {
	if raw.Checked {
		o.checkState(s.of, s.name)
	}
	for len(s.scans) <= s.depth {
		s.scans = append(s.scans, make([]byte, scanBytes))
	}
	depth := s.depth
	s.depth++
	defer func() { s.depth-- }()
	var after []byte
	for {
		buffer := s.scans[depth]
		n := raw.StateScan(o.index, state, after, buffer)
		switch {
		case n == 0:
			return
		case n < 0:
			s.scans[depth] = make([]byte, max(-n, 2*len(buffer)))
			continue
		}
		for at := 0; at < n; {
			keyBytes, valueBytes := int(le.Uint32(buffer[at:])), int(le.Uint32(buffer[at+4:]))
			key := buffer[at+8 : at+8+keyBytes]
			value := buffer[at+8+pad8(keyBytes):][:valueBytes]
			at += 8 + pad8(keyBytes) + pad8(valueBytes)
			// The next call writes over the key that it gets.
			if at >= n {
				after = append(after[:0], key...)
			}
			if !yield(key, value) {
				return
			}
		}
	}
}

// ListState is a list of rows.
type ListState struct {
	// Name is how people and checkpoints know it.
	Name string
	// Columns are those of the rows.
	Columns Columns
	// Scope is whose it is; "" is PerKey.
	Scope Scope
	// TTL is the time to live of each element.
	TTL TTL

	store
}

func (s *ListState) bind(of *base, index int) { s.bindTo(of, s.Name, index, nil, s.Columns) }

func (s *ListState) describe(text []byte) []byte {
	text = s.value.describe(describeState(text, s.Name, "list", s.Scope), "value")
	return append(s.TTL.describe(text), '}')
}

// Row begins a row: zeroed, without nulls, good until the next one.
func (s *ListState) Row() Row { return s.value.blank() }

// Add appends a row.
func (s *ListState) Add(o *Op, row Row) { s.put(o, nil, row) }

// Clear removes all rows.
func (s *ListState) Clear(o *Op) { s.remove(o, nil) }

// All are the rows in order, each good until the next one.
func (s *ListState) All(o *Op) iter.Seq[Row] {
	o.checkState(s.of, s.name)
	return func(yield func(Row) bool) {
		s.scan(o, s.index, func(_, value []byte) bool { return yield(rowOf(value, s.value, false)) })
	}
}

// MapState is rows by keys, which are rows, too.
type MapState struct {
	// Name is how people and checkpoints know it.
	Name string
	// Key and Columns are the columns of keys and of values.
	Key, Columns Columns
	// Scope is whose it is; "" is PerKey.
	Scope Scope
	// TTL is the time to live of each entry.
	TTL TTL

	store
}

func (s *MapState) bind(of *base, index int) { s.bindTo(of, s.Name, index, s.Key, s.Columns) }

func (s *MapState) describe(text []byte) []byte {
	text = s.store.key.describe(describeState(text, s.Name, "map", s.Scope), "key")
	return append(s.TTL.describe(s.value.describe(text, "value")), '}')
}

// KeyRow begins a key: zeroed, without nulls, good until the next one.
func (s *MapState) KeyRow() Row { return s.store.key.blank() }

// Row begins a value: zeroed, without nulls, good until the next one.
func (s *MapState) Row() Row { return s.value.blank() }

// Get returns the value of a key, or a row that IsMissing. The row is a copy, which may be changed and put; it is good until
// the next Get.
func (s *MapState) Get(o *Op, key Row) Row {
	keyBytes := s.bytesOf(o, key)
	if s.got == nil {
		s.got = make([]byte, 256)
	}
	n := raw.StateGet(o.index, s.index, keyBytes, s.got)
	if n > len(s.got) {
		s.got = make([]byte, 2*n)
		n = raw.StateGet(o.index, s.index, keyBytes, s.got)
	}
	if n < 0 {
		return Row{}
	}
	return rowOf(s.got, s.value, true)
}

// Put sets the value of a key.
func (s *MapState) Put(o *Op, key, value Row) { s.put(o, s.bytesOf(o, key), value) }

// Remove removes a key, if it is there.
func (s *MapState) Remove(o *Op, key Row) { s.remove(o, s.bytesOf(o, key)) }

// Clear removes all keys.
func (s *MapState) Clear(o *Op) { s.remove(o, nil) }

// All are keys and values in the order of the keys' bytes, each pair good until the next one.
func (s *MapState) All(o *Op) iter.Seq2[Row, Row] {
	o.checkState(s.of, s.name)
	return func(yield func(Row, Row) bool) {
		s.scan(o, s.index, func(key, value []byte) bool {
			return yield(rowOf(key, s.store.key, false), rowOf(value, s.value, false))
		})
	}
}
