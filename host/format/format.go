// Package format is the contract between connectors, which know where a record
// begins and ends, and formats, which know what is in it. The formats are its
// subpackages, json among them; whoever wires a job chooses one.
//
// Invariants:
//
//	(D) Decode either sets every column of the output schema, NULL included, and
//	    returns nil, or returns an error; the caller then drops the row that it
//	    began. What was decoded before has no influence on the result.
//	(E) Append writes exactly one record, without what ends a line, and cannot
//	    fail: whatever a row holds has a representation.
//	(O) An error's offset lies within the record, or is its length where the
//	    record ends too early, or NoOffset.
package format

import (
	"strconv"
	"strings"

	"github.com/wasmstream/wasmstream/host/stream"
)

// Decoder turns records into rows. It keeps buffers and predictions between
// records, so each goroutine has its own.
type Decoder interface {
	// Decode reads one record into the row that was begun on w. It does not keep
	// the record.
	Decode(record []byte, w *stream.RowWriter) error
}

// Encoder turns rows into records. It keeps caches between rows, so each
// goroutine has its own.
type Encoder interface {
	// Append appends the record for r to dst and returns the longer slice. It may
	// write to all of dst's spare capacity.
	Append(dst []byte, r stream.Row) []byte
}

// Error says what is wrong with a record and where. It is the record's fault:
// the connector adds file and line, or topic, partition and offset, and its
// policy for bad records decides what happens.
type Error struct {
	Offset int    // the byte in the record, from 0; NoOffset: what is missing has none
	Column string // the declared column whose value it is, or the place in it: a[3].b; "" when it is in none
	Reason string
}

// NoOffset is the offset of an error about something that is not there.
const NoOffset = -1

// Error names the column if there is one, the byte and the reason.
func (e *Error) Error() string {
	var where []string
	if e.Column != "" {
		where = append(where, "column "+strconv.Quote(e.Column))
	}
	if e.Offset != NoOffset {
		where = append(where, "byte "+strconv.Itoa(e.Offset))
	}
	return strings.Join(where, ", ") + ": " + e.Reason
}
