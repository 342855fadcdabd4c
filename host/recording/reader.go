package recording

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Reader reads a recording, record by record.
type Reader struct {
	Header Header

	r     *bufio.Reader
	left  int64 // bytes of the file that were not read yet
	ended bool
	// Reason is why the recording ended before the run, if it says so; Calls how many it
	// has by its own count. Both are known at its end.
	Reason string
	Calls  uint64
}

// CutError says that a recording ends in the middle: its run was killed, or it is damaged
// from there on. All before it is sound.
type CutError struct{ Reason string }

// Error implements error.
func (e *CutError) Error() string { return "the recording breaks off: " + e.Reason }

// NewReader begins to read a file of so many bytes.
func NewReader(r io.Reader, size int64) (*Reader, error) {
	in := &Reader{r: bufio.NewReaderSize(r, 1<<16), left: size}
	line := make([]byte, len(magic))
	if _, err := io.ReadFull(in.r, line); err != nil || string(line) != magic {
		return nil, fmt.Errorf("it is no recording of this version: it does not begin with %q", magic)
	}
	in.left -= int64(len(magic))
	kind, payload, err := in.record()
	if err != nil {
		return nil, err
	}
	if kind != kindHeader {
		return nil, errors.New("it is no recording: it has no header")
	}
	return in, json.Unmarshal(payload, &in.Header)
}

// record reads one record.
func (r *Reader) record() (kind uint8, payload []byte, err error) {
	var head [recordHead]byte
	n, err := io.ReadFull(r.r, head[:])
	r.left -= int64(n)
	switch {
	case errors.Is(err, io.EOF):
		return 0, nil, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return 0, nil, &CutError{"in the head of a record"}
	case err != nil:
		return 0, nil, err
	}
	length := int64(binary.LittleEndian.Uint32(head[:]))
	if length > recordBytesMax || length > r.left {
		return 0, nil, &CutError{fmt.Sprintf("a record of %d bytes, and %d are left", length, r.left)}
	}
	payload = make([]byte, length)
	n, err = io.ReadFull(r.r, payload)
	r.left -= int64(n)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return 0, nil, &CutError{"in a record"}
	}
	if err != nil {
		return 0, nil, err
	}
	sum := crc32.Update(crc32.Checksum(head[8:], castagnoli), castagnoli, payload)
	if sum != binary.LittleEndian.Uint32(head[4:]) {
		if r.left > 0 { // what a killed run leaves ends where it was being written
			return 0, nil, errors.New("the recording is damaged: a record's checksum is wrong, and there are more behind it")
		}
		return 0, nil, &CutError{"the last record's checksum is wrong"}
	}
	return head[8], payload, nil
}

// Next reads a function or a call: one of the two is not nil. At the end it returns io.EOF,
// or a CutError if the recording breaks off before it says that it ends.
func (r *Reader) Next() (*Function, *Call, error) {
	if r.ended {
		return nil, nil, io.EOF
	}
	kind, payload, err := r.record()
	if errors.Is(err, io.EOF) {
		return nil, nil, &CutError{"it does not say that it ends, so its run was killed"}
	}
	if err != nil {
		return nil, nil, err
	}
	switch kind {
	case kindFunction:
		f := &Function{}
		if err := json.Unmarshal(payload, f); err != nil {
			return nil, nil, fmt.Errorf("a function's record: %w", err)
		}
		return f, nil, nil
	case kindCall:
		c, err := readCall(payload)
		return nil, &c, err
	case kindEnd:
		var e end
		if err := json.Unmarshal(payload, &e); err != nil {
			return nil, nil, fmt.Errorf("the last record: %w", err)
		}
		r.ended, r.Reason, r.Calls = true, e.Reason, e.Calls
		if r.left > 0 {
			return nil, nil, fmt.Errorf("behind its end the recording has %d bytes more: each recording is a file of its own", r.left)
		}
		return nil, nil, io.EOF
	}
	return nil, nil, fmt.Errorf("a record of the unknown kind %d", kind)
}
