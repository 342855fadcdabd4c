// Package connector is the contract between the engine and what it reads and
// writes. An implementation is a leaf: it does blocking I/O, knows nothing of
// tasks or state, and is called by one goroutine at a time, which is not one of
// the engine's workers. Only the methods that say so may be called from others.
//
// A source and a sink in a job with checkpoints, told as a sequence:
//
//	Open, then Read again and again. Each chunk says where its split stands
//	behind it. A checkpoint keeps one such position for every split; Open with
//	them goes on there. Once the checkpoint is durable, Checkpointed tells so.
//
//	Open, then Write again and again. At a barrier, Handover makes durable what
//	was written before it, and what it returns goes into the checkpoint. Once that
//	is durable, Commit makes it visible. After a crash a new Sink gets Recover with
//	the hand-over of the newest checkpoint, which commits what may not have been
//	committed, then Open with the same, which gives up whatever came after it.
//	Between the two the engine notes durably that nothing is left to commit.
package connector

// Chunk is a run of whole records of one split, as they lie in the source. Its
// buffers are reused: a source appends to them after a Reset.
type Chunk struct {
	// Split is the split that the records are of. The first chunk of a split may
	// come without records, to make the split known before others move on.
	Split string
	// Topic and Partition are the split's, where it is a partition of a topic.
	Topic     string
	Partition int32
	// Identity is the split's; see SplitPosition.
	Identity string
	Data     []byte
	// Ends has, for each record, the offset in Data behind it, its delimiter
	// included.
	Ends []uint32
	// Offsets has, for each record, its own offset, where that is not the number of
	// bytes before it; else it is empty. The position behind it is one more.
	Offsets []int64
	// Meta has what is known of each record beside its bytes; it is empty if the
	// source has no such thing.
	Meta []Meta
	// Start is the position of the first record.
	Start Position
	// Next is the position behind everything here, the fault included.
	Next Position
	// Fault, if not nil, is why the source could not deliver the record that
	// follows the last one here, such as one that is too long. The next chunk of the
	// split begins behind that record.
	Fault error
	// Ended says that the split has no more records.
	Ended bool
	// Announcing says that more splits are to be made known, before the first record:
	// no checkpoint is taken until then, since it would not know them.
	Announcing bool
}

// Reset empties the chunk and keeps its buffers.
func (c *Chunk) Reset() {
	clear(c.Meta) // lets go of what they point to
	*c = Chunk{Data: c.Data[:0], Ends: c.Ends[:0], Offsets: c.Offsets[:0], Meta: c.Meta[:0]}
}

// Meta is what a source knows of a record beside its bytes. The slices are not
// changed after the chunk was handed out, and may be kept.
type Meta struct {
	Timestamp int64  // ms since the epoch
	Key       []byte // nil: there is none
	Headers   []Header
	// Null says that the record has a key and no value: a tombstone.
	Null bool
}

// Header is a name and a value that travel with a record.
type Header struct {
	Name  string
	Value []byte
}

// Position is a place between two records of a split, from which it can be read
// again.
type Position struct {
	Offset int64 // the offset of the record behind it: of a file the bytes before it, of a partition its own numbers
	Record int64 // records of the split before it that this engine has read
}

// SplitPosition is how far a split has been read.
type SplitPosition struct {
	Split string
	Position
	Ended bool // it has no more records, and is not to be read again
	// Identity tells the split from another that came to be under its name; "" if it
	// is not known. What a source says of it in a chunk, it gets back at Open.
	Identity string
}

// Source reads the records of its splits, each split in order. Open comes first,
// Close last and always.
type Source interface {
	// Open prepares to read: each split from its position, and those that are not
	// listed from where the source is configured to start, or, if any are listed,
	// from their beginning, since they are new.
	Open(at []SplitPosition) error
	// Read fills the chunk with at least one record, a fault, a split's end, or
	// nothing to make a split known; it waits for one of them. It returns io.EOF,
	// with an empty chunk, when all splits have ended and none can come. The splits
	// that are there at the start are all made known before the first record.
	Read(*Chunk) error
	// Checkpointed tells that a checkpoint with these positions is durable. It may
	// be called from any goroutine and does not wait.
	Checkpointed(at []SplitPosition)
	// Size is how many bytes there are to read in all; 0 if that is not known. It
	// may be called from any goroutine.
	Size() int64
	// Close frees what Open took; it may be called from another goroutine, and
	// Read then returns soon.
	Close() error
}

// Lagging is a Source that knows how far behind it is.
type Lagging interface {
	// Lag calls tell for each split with the number of records that are there and
	// have not been handed out. It may be called from any goroutine.
	Lag(tell func(split string, records int64))
}

// Pausing is a Source that can read some splits and leave others.
type Pausing interface {
	// Pause tells which splits to leave from now on; all others are read. Records of
	// them that were fetched already may still be handed out. It may be called from
	// any goroutine and does not wait.
	Pause(splits []string)
}

// Records are encoded records on their way into a sink. Only Data and Ends are
// always there; the others are as long as Ends, or empty, as the sink's
// configuration asks for them.
type Records struct {
	Data []byte
	Ends []uint32 // of each record in Data, the newline behind it included, which is not part of it
	Keys []byte
	// KeyEnds has the end of each record's key in Keys.
	KeyEnds []uint32
	// NoKey says of each record that it has no key, not even an empty one.
	NoKey []bool
	Times []int64 // event times in ms since the epoch; the least int64: none
	// Deleted says of each record that it takes back what was written under its key.
	Deleted    []bool
	Partitions []int32 // -1: the sink chooses
	// HeaderEnds has, for each record, the end in Headers of the value of each header
	// that the sink's configuration takes from columns.
	Headers    []byte
	HeaderEnds []uint32
}

// Reset empties the records and keeps their buffers.
func (r *Records) Reset() {
	*r = Records{
		Data: r.Data[:0], Ends: r.Ends[:0], Keys: r.Keys[:0], KeyEnds: r.KeyEnds[:0], NoKey: r.NoKey[:0], Times: r.Times[:0],
		Deleted: r.Deleted[:0], Partitions: r.Partitions[:0], Headers: r.Headers[:0], HeaderEnds: r.HeaderEnds[:0],
	}
}

// Len is the number of records.
func (r *Records) Len() int { return len(r.Ends) }

// Sink writes encoded records. What was written becomes visible at Commit as a
// whole, or not at all; a sink that promises less says so in its documentation.
type Sink interface {
	// Recover commits what a hand-over counted, if that was not done. It comes before
	// Open, and may be repeated with the same hand-over.
	Recover(handover []byte) error
	// Open prepares to write, from the beginning (nil) or behind what a hand-over
	// counted: whatever was written after that is given up.
	Open(handover []byte) error
	// Write takes records; it does not keep them.
	Write(*Records) error
	// Handover makes durable what was written so far and returns what Recover and
	// Open need to go on from here; it covers former hand-overs that were not
	// committed. It is final when nothing will be written any more.
	Handover(final bool) ([]byte, error)
	// Commit makes visible what the last Handover counted. It is not called if the
	// checkpoint with it came to nothing.
	Commit() error
	// Interrupt makes a call that waits return soon, with an error, and all later
	// ones but Close and Abort. It may be called from another goroutine.
	Interrupt()
	// Close ends the sink, and leaves what was handed over to a later Recover.
	Close() error
	// Abort removes what was not committed and ends the sink. It does nothing after
	// Close, or after the Commit of a final hand-over.
	Abort() error
}

// Lasting is an error that may tell whether the same would happen again, so that
// starting the job again is of no use until somebody has seen to it.
type Lasting interface {
	error
	Lasting() bool
}
