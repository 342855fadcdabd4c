// Package state keeps what a step remembers: for each key and namespace a value
// and timers. Backend is the contract; Memory holds everything in the process.
//
// Invariants:
//
//	(E) An entry is there while one of its cells holds a value or it has a timer or
//	    a part, and no longer: what has none is freed at the next Release.
//	(P) A Ref that a backend gave out stays good until the next Release, even if
//	    its entry became empty; so one pass over a batch may keep refs freely.
//	(T) Timers are a set on (domain, time, key, namespace): setting one twice is
//	    setting it once, and deleting one that is not there does nothing. All of
//	    them are part of their entry in a snapshot.
//	(F) A snapshot is of the contents at its Flip, whatever is done before the last
//	    of its Slices. It has what has changed since the Flip before: its records,
//	    applied to those of the snapshots back to the last base, are the contents.
//	(S) Equal contents are equal records: the key of an entry and what it holds
//	    give the bytes, not how they came about. Records come in no particular
//	    order.
//
// Caveats: an entry is written whole, so one byte added to a long list costs the
// list again in each snapshot; parts are written one by one. An entry that was changed and changed back is
// written, too.
package state

import "github.com/wasmstream/wasmstream/host/stream"

// Namespace separates the state of one key: a window's bounds in milliseconds,
// or zero for state of the key as a whole.
type Namespace struct {
	Start, End int64
}

// Ref stands for the entry of one key and namespace (invariant P).
type Ref uint32

// Cell is one of the values that an entry may hold: an accumulator, a trigger's
// state, a list. A backend is made for a number of cells, each of a fixed width
// in bytes, or Variable.
type Cell int

// Variable is the width of a cell whose values have any length.
const Variable = 0

// Domain is the clock that a timer listens to.
type Domain uint8

// The domains of timers.
const (
	EventTimer Domain = iota // fires when the watermark reaches its time
	ProcTimer                // fires when the processing-time clock does
	domains
)

// Expected is an entry that is to be found soon, by its key's hash.
type Expected struct {
	Hash uint32
	Namespace
}

// Backend is the state of one step in one task. It is used by one goroutine at
// a time.
type Backend interface {
	// Entry finds the entry of a key (with its hash) and a namespace, or makes
	// one that holds nothing yet.
	Entry(hash uint32, key stream.Row, ns Namespace) Ref
	// Expect says which entries are to be found soon, should they be there: their memory
	// is then fetched for all of them at once, instead of for one after another.
	Expect([]Expected)
	// Key and Namespace are what the entry was made for; Key is a view.
	Key(Ref) stream.Row
	Namespace(Ref) Namespace

	// Has tells whether a cell of the entry holds a value.
	Has(Ref, Cell) bool
	// Value is the value of a cell, a view until the cell changes, to be read only.
	// One that is fixed in width is there before Hold as whatever bytes stood there;
	// one that is not is empty while there is none.
	Value(Ref, Cell) []byte
	// Edit is Value to be changed in place, until the next Flip. What is read
	// through a view that came before shows the change.
	Edit(Ref, Cell) []byte
	// Hold says that a cell of fixed width holds a value from now on.
	Hold(Ref, Cell)
	// Put and Append set and extend the value of a cell of variable width.
	Put(Ref, Cell, []byte)
	Append(Ref, Cell, []byte)
	// Clear forgets the value of a cell.
	Clear(Ref, Cell)

	// Note marks an entry for the caller's own use, and Noted tells of it. The
	// mark goes when a timer of the entry is taken out or deleted and when the
	// entry is freed. It is in no snapshot.
	Note(Ref)
	Noted(Ref) bool

	// SetTimer and DeleteTimer edit the set of timers (invariant T).
	SetTimer(d Domain, at int64, r Ref)
	DeleteTimer(d Domain, at int64, r Ref)
	// PopTimer takes out the earliest timer of a domain if its time is at most
	// upTo. Timers of one time come in no particular order.
	PopTimer(d Domain, upTo int64) (at int64, r Ref, ok bool)
	// HasTimer tells whether a timer is set.
	HasTimer(d Domain, at int64, r Ref) bool
	// NextTimer is a time before which no timer of the domain is due; the
	// largest int64 if there is none at all.
	NextTimer(d Domain) int64

	// Part finds the part of an entry that has a name, or makes one that holds nothing
	// yet. It is an entry of the same key and namespace, has cells and no timers. A
	// part has no parts.
	Part(whole Ref, name []byte) Ref
	// FindPart makes none.
	FindPart(whole Ref, name []byte) (Ref, bool)
	// NextPart is the first of the parts that hold something whose name is behind one,
	// in the order of bytes; LastPart is the last of those before one.
	NextPart(whole Ref, after []byte) (Ref, bool)
	LastPart(whole Ref, before []byte) (Ref, bool)
	// IsPart tells parts from other entries; Name and Whole are what it was made for.
	IsPart(Ref) bool
	Name(Ref) []byte
	Whole(Ref) Ref
	// SetCopy comes before all else in a backend that has a shared entry.
	SetCopy(Copy)
	// Shared is an entry that is not of a key but of the task: each task has a copy. It
	// holds nothing but parts.
	Shared() Ref
	IsShared(Ref) bool
	// Walk calls visit with up to n entries that hold something or have parts, and says
	// where to go on; zero: all were passed. Entries that are made meanwhile may be
	// left out. Less than n are visited where there are gaps.
	Walk(from Ref, n int, visit func(Ref)) (next Ref)

	// IsEmpty tells of an entry that it holds nothing, and has neither timers nor parts.
	IsEmpty(Ref) bool
	// Discard frees a part that holds nothing before the next Release: its ref, which
	// nobody may have kept, is gone. One that holds something, or is gone, it leaves alone.
	Discard(part Ref)
	// Release frees entries that hold nothing, and with them their refs.
	Release()

	// Flip begins a snapshot of all that has changed since the Flip before, in a
	// time that does not depend on how much that is. A base stands for itself. It
	// must not be called while a snapshot is under way.
	Flip() (isBase bool)
	// Slice hands on records of the snapshot under way, so many small ones or fewer
	// large ones, and tells whether those were the last; without a snapshot it does
	// nothing, and is done. It must not be called from the Putter.
	Slice(records int, to Putter) (done bool)
	// Everything makes the next snapshot a base, and gives up the one under way.
	Everything()
	// Grow prepares for so many more entries.
	Grow(entries int)
	// Restore adds an entry from a record, which may be anything, and Restored ends
	// with the last of them: nothing else is called in between. After an error the
	// backend is of no use any more. The next snapshot does not have what was
	// restored, and is no base. They must not be called while a snapshot is under
	// way.
	Restore(key, value []byte) error
	Restored() error
	// RestoreCopy adds a part of the shared entry from the record of another task's,
	// and passes other records over. Restore takes that of the task's own, and lets
	// the next snapshot delete those of others.
	RestoreCopy(key, value []byte) error

	// Stats counts what is held, in a time that does not depend on how much that is.
	Stats() Stats
}

// Stats counts what a backend holds.
type Stats struct {
	Entries int
	Timers  int
	// Bytes is what the entries take in memory, their keys, values and timers included,
	// but not what the backend keeps free for others to come.
	Bytes int64
}

// Putter takes the records of a snapshot. A record's key is the key of the entry
// with its namespace. If an entry was deleted and is there again, its Delete comes
// before its Add. The bytes are good during the call.
type Putter interface {
	Add(group stream.KeyGroup, key, value []byte)
	Delete(group stream.KeyGroup, key []byte)
}
