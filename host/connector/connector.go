// Package connector is the contract between the engine and what it reads and
// writes. An implementation is a leaf: it does blocking I/O, knows nothing of
// tasks or state, and is called by one goroutine at a time, which is not one of
// the engine's workers.
package connector

// Chunk is a run of whole records as they lie in the source. Its buffers are
// reused: a source appends to them after a Reset.
type Chunk struct {
	Data []byte
	// Ends has, for each record, the offset in Data behind it, its delimiter
	// included.
	Ends []uint32
	// Start is the position of the first record.
	Start Position
	// Next is the position behind everything here, the fault included.
	Next Position
	// Fault, if not nil, is why the source could not deliver the record that
	// follows the last one here, such as one that is too long. The next chunk
	// begins behind that record.
	Fault error
}

// Reset empties the chunk and keeps its buffers.
func (c *Chunk) Reset() { *c = Chunk{Data: c.Data[:0], Ends: c.Ends[:0]} }

// Position is a place between two records of a source, from which it can be read
// again.
type Position struct {
	Offset int64 // bytes before it
	Record int64 // records before it
}

// Source reads records in order. Open comes first, Close last and always.
type Source interface {
	// Open prepares to read from a position.
	Open(Position) error
	// Read fills the chunk with at least one record or a fault. It returns io.EOF,
	// with an empty chunk, after the last record.
	Read(*Chunk) error
	// Size is how many bytes there are to read in all; 0 if that is not known.
	Size() int64
	// Close frees what Open took; it may be called from another goroutine, and
	// Read then returns soon.
	Close() error
}

// Sink writes encoded records. What was written becomes visible at Commit as a
// whole, or not at all.
type Sink interface {
	// Open prepares to write, from the beginning (handover 0) or behind what a
	// former Handover counted: whatever was written after that is cut off.
	Open(handover int64) error
	// Write takes encoded records with their delimiters.
	Write([]byte) error
	// Handover makes durable what was written so far and returns what Open needs
	// to go on from here.
	Handover() (int64, error)
	// Commit makes everything visible and closes the sink.
	Commit() error
	// Abort removes what was not committed and closes the sink. It does nothing
	// after Commit.
	Abort() error
}
