package runtime

import (
	"encoding/binary"
	"math"
	"sort"

	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// The cells of an interval join, by key and side: the buffer's wake-up timer and
// the bytes of rows that were dropped; the rows' places, by time; the rows.
const (
	joinMetaCell state.Cell = iota
	joinIndexCell
	joinRowsCell
)

const (
	joinMetaBytes  = 16
	joinPlaceBytes = 24            // i64 time, u32 offset, u32 length, u32 matched, u32 0
	noTimer        = math.MaxInt64 // of a buffer that is not to be looked at
)

// joinBuffer is the rows of one key and side, sorted by time and, within a time,
// in order of arrival.
type joinBuffer struct {
	backend state.Backend
	ref     state.Ref
}

func (b joinBuffer) index() []byte { return b.backend.Value(b.ref, joinIndexCell) }

func (b joinBuffer) len() int { return len(b.index()) / joinPlaceBytes }

func (b joinBuffer) place(i int) []byte { return placeOf(b.index(), i) }

// editPlace is a place to be changed.
func (b joinBuffer) editPlace(i int) []byte {
	return placeOf(b.backend.Edit(b.ref, joinIndexCell), i)
}

func placeOf(index []byte, i int) []byte { return index[i*joinPlaceBytes:][:joinPlaceBytes] }

func (b joinBuffer) time(i int) stream.EventTime {
	return stream.EventTime(binary.LittleEndian.Uint64(b.place(i)))
}

func (b joinBuffer) row(i int) stream.Row {
	p := b.place(i)
	at, n := binary.LittleEndian.Uint32(p[8:]), binary.LittleEndian.Uint32(p[12:])
	return stream.Row(b.backend.Value(b.ref, joinRowsCell)[at : at+n : at+n])
}

func (b joinBuffer) matched(i int) bool { return b.place(i)[16] != 0 }

func (b joinBuffer) setMatched(i int) {
	if !b.matched(i) {
		b.editPlace(i)[16] = 1
	}
}

// first is the place of the first row that is not older than t.
func (b joinBuffer) first(t stream.EventTime) int {
	return sort.Search(b.len(), func(i int) bool { return b.time(i) >= t })
}

// add puts a row behind those of its time and returns its place. Most come in
// order, so at the end.
func (b joinBuffer) add(t stream.EventTime, row stream.Row) int {
	offset := len(b.backend.Value(b.ref, joinRowsCell))
	b.backend.Append(b.ref, joinRowsCell, row)
	b.backend.Append(b.ref, joinIndexCell, emptyPlace[:])
	at := b.len() - 1
	if at > 0 && b.time(at-1) > t {
		last := at
		at = sort.Search(last, func(i int) bool { return b.time(i) > t })
		index := b.backend.Edit(b.ref, joinIndexCell)
		copy(index[(at+1)*joinPlaceBytes:], index[at*joinPlaceBytes:last*joinPlaceBytes])
	}
	p := b.editPlace(at)
	binary.LittleEndian.PutUint64(p, uint64(t))
	binary.LittleEndian.PutUint32(p[8:], uint32(offset))
	binary.LittleEndian.PutUint32(p[12:], uint32(len(row)))
	clear(p[16:])
	return at
}

var emptyPlace [joinPlaceBytes]byte

// drop forgets the first n rows. Their bytes go when they are more than half.
func (b joinBuffer) drop(n int) {
	if n == 0 {
		return
	}
	if n == b.len() {
		b.backend.Clear(b.ref, joinIndexCell)
		b.backend.Clear(b.ref, joinRowsCell)
		b.setDead(0)
		return
	}
	dead := b.dead()
	for i := range n {
		dead += len(b.row(i))
	}
	b.backend.Put(b.ref, joinIndexCell, b.index()[n*joinPlaceBytes:])
	if dead > len(b.backend.Value(b.ref, joinRowsCell))/2 {
		b.compact()
		dead = 0
	}
	b.setDead(dead)
}

// compact moves the rows together, in order of time: in place, unless rows that
// came out of order lie across each other.
func (b joinBuffer) compact() {
	kept := b.backend.Edit(b.ref, joinRowsCell)[:0]
	if !b.isInOrder() {
		kept = nil
	}
	for i := range b.len() {
		at := len(kept)
		kept = append(kept, b.row(i)...)
		binary.LittleEndian.PutUint32(b.editPlace(i)[8:], uint32(at))
	}
	b.backend.Put(b.ref, joinRowsCell, kept)
}

// isInOrder tells whether the rows' bytes lie in order of time.
func (b joinBuffer) isInOrder() bool {
	before := uint32(0)
	for i := range b.len() {
		at := binary.LittleEndian.Uint32(b.place(i)[8:])
		if at < before {
			return false
		}
		before = at
	}
	return true
}

func (b joinBuffer) meta() []byte { return b.backend.Value(b.ref, joinMetaCell) }

func (b joinBuffer) dead() int { return int(binary.LittleEndian.Uint64(b.meta()[8:])) }

func (b joinBuffer) editMeta() []byte { return b.backend.Edit(b.ref, joinMetaCell) }

func (b joinBuffer) setDead(n int) {
	if n != b.dead() {
		binary.LittleEndian.PutUint64(b.editMeta()[8:], uint64(n))
	}
}

// timer is when the buffer is looked at; noTimer if it is not.
func (b joinBuffer) timer() int64 {
	if !b.backend.Has(b.ref, joinMetaCell) {
		return noTimer
	}
	return int64(binary.LittleEndian.Uint64(b.meta()))
}

// wake makes sure that the buffer is looked at by a time: there is one timer for
// all its rows.
func (b joinBuffer) wake(at stream.EventTime) {
	now := b.timer()
	if int64(at) >= now {
		return
	}
	if now != noTimer {
		b.backend.DeleteTimer(state.EventTimer, now, b.ref)
	} else {
		b.backend.Hold(b.ref, joinMetaCell)
		clear(b.editMeta())
	}
	binary.LittleEndian.PutUint64(b.editMeta(), uint64(at))
	b.backend.SetTimer(state.EventTimer, int64(at), b.ref)
}

// rearm sets the timer anew after it fired: for the oldest row, if there is one.
func (b joinBuffer) rearm(keptFor int64) {
	dead := b.dead()
	b.backend.Clear(b.ref, joinMetaCell)
	if b.len() > 0 {
		b.wake(b.time(0).Add(keptFor))
		b.setDead(dead)
	}
}
