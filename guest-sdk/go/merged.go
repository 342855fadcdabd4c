package wasmstream

import (
	"iter"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// merged is what the host knows the state of merged window i by.
func (s *store) merged(i int) uint32 { return s.index | uint32(i+1)<<16 }

// Merge appends the lists of all merged windows: of OnMerge.
func (s *ListState) Merge(o *Op) {
	for i := range o.Len() {
		s.scan(o, s.merged(i), func(_, value []byte) bool {
			raw.StatePut(o.index, s.index, nil, value)
			return true
		})
	}
}

// Merged are the rows that merged window i held, each good until the next one: of OnMerge, which has Len of them.
func (s *ListState) Merged(o *Op, i int) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		s.scan(o, s.merged(i), func(_, value []byte) bool { return yield(rowOf(value, s.value, false)) })
	}
}

// Merged are the keys and values that merged window i held, each pair good until the next one: of OnMerge, which has Len of
// them.
func (s *MapState) Merged(o *Op, i int) iter.Seq2[Row, Row] {
	return func(yield func(Row, Row) bool) {
		s.scan(o, s.merged(i), func(key, value []byte) bool {
			return yield(rowOf(key, s.store.key, false), rowOf(value, s.value, false))
		})
	}
}
