// Package file reads records from a file and writes them to one: newline-
// delimited, whatever the format of the lines.
//
// Invariants:
//
//	(L) Memory is bounded: a chunk holds chunkBytes, or one record of at most
//	    RecordBytesMax; a longer one is passed over and reported, never held.
//	(F) A sink's file stands at its name complete, or what stood there before
//	    stays: until Commit everything goes to a part file beside it.
//	(O) One run writes a sink's file at a time: the part file is locked.
package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
)

// chunkBytes is what a chunk holds if records are shorter: few system calls, and
// small enough to stay in the cache until it is decoded.
const chunkBytes = 512 << 10

// Source reads the lines of a file. A last line without a newline counts.
type Source struct {
	path      string
	shown     string
	recordMax int
	file      atomic.Pointer[os.File]
	closed    atomic.Bool
	opening   atomic.Pointer[chan struct{}] // closed when Open has its file, or none
	size      int64
	next      connector.Position
	rest      []byte // read, behind the last chunk
	ended     bool   // the file has no more than rest
}

// NewSource makes a source over the file at path; shown is the path as the user
// wrote it, and recordMax the bytes of the longest record that is not a fault.
func NewSource(path, shown string, recordMax int) *Source {
	s := &Source{path: path, shown: shown, recordMax: recordMax}
	if info, err := os.Stat(path); err == nil {
		s.size = info.Size()
	}
	return s
}

// Size implements connector.Source.
func (s *Source) Size() int64 { return s.size }

// Open implements connector.Source.
func (s *Source) Open(from []connector.SplitPosition) error {
	at, err := position(from)
	if err != nil {
		return gone("cannot go on in %s: %w", s.shown, err)
	}
	// Before it is opened: that of a named pipe waits for a writer.
	if info, err := os.Stat(s.path); err == nil && at.Offset > 0 && !info.Mode().IsRegular() && !info.IsDir() {
		return gone("cannot go on in %s at byte %d: it is a pipe or a device, which cannot be read again; bring the file back that was read, or start anew with --fresh", s.shown, at.Offset)
	}
	f, err := s.open()
	if err != nil {
		return explain(err, "cannot read", s.shown)
	}
	info, err := f.Stat()
	if err != nil {
		return explain(err, "cannot read", s.shown)
	}
	if info.IsDir() {
		return gone("cannot read %s: it is a folder, not a file", s.shown)
	}
	if info.Size() < at.Offset {
		return gone("cannot go on in %s at byte %d: the file has only %d bytes", s.shown, at.Offset, info.Size())
	}
	s.next, s.rest, s.ended = at, s.rest[:0], false
	if at.Offset > 0 {
		_, err = f.Seek(at.Offset, io.SeekStart)
	}
	return err
}

// open waits for the writer of a named pipe, until Close. Told as sequences: Close comes
// first, and open sees that; or open has said before that it is at it, and Close waits
// for it, setting it free.
func (s *Source) open() (*os.File, error) {
	opened := make(chan struct{})
	defer close(opened)
	s.opening.Store(&opened)
	if s.closed.Load() {
		return nil, os.ErrClosed
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	s.file.Store(f)
	if s.closed.Load() {
		return nil, os.ErrClosed // the next Close, which always comes, closes it
	}
	return f, nil
}

// position is that of the only split, which has no name.
func position(from []connector.SplitPosition) (connector.Position, error) {
	switch {
	case len(from) == 0:
		return connector.Position{}, nil
	case len(from) > 1 || from[0].Split != "":
		return connector.Position{}, errors.New("the checkpoint's positions are not those of one file")
	}
	return from[0].Position, nil
}

// explain says what failed with the path that the user knows.
func explain(err error, what, shown string) error {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("%s %s: %w", what, shown, err)
}

// Read implements connector.Source.
func (s *Source) Read(c *connector.Chunk) error {
	c.Start = s.next
	c.Data = append(c.Data, s.rest...)
	s.rest = s.rest[:0]
	if err := s.fill(c); err != nil {
		return err
	}
	if s.split(c); len(c.Ends) == 0 {
		switch {
		case len(c.Data) == 0:
			return io.EOF
		case s.ended && len(c.Data) <= s.recordMax && bytes.IndexByte(c.Data, '\n') < 0:
			c.Ends = append(c.Ends, uint32(len(c.Data))) // a last line without a newline
		default:
			return s.passOver(c)
		}
	}
	end := c.Ends[len(c.Ends)-1]
	s.rest = append(s.rest, c.Data[end:]...)
	c.Data = c.Data[:end]
	s.next.Offset += int64(end)
	s.next.Record += int64(len(c.Ends))
	c.Next = s.next
	return nil
}

// fill reads until the chunk has at least one line, or one line is too long. It
// takes what there is and does not wait for more: the file may be a pipe.
func (s *Source) fill(c *connector.Chunk) error {
	searched := 0
	for !s.ended && bytes.IndexByte(c.Data[searched:], '\n') < 0 && len(c.Data) <= s.recordMax {
		searched = len(c.Data)
		if len(c.Data) == cap(c.Data) || cap(c.Data) < chunkBytes {
			room := min(max(2*len(c.Data), chunkBytes), max(s.recordMax+1, chunkBytes))
			c.Data = append(make([]byte, 0, room), c.Data...)
		}
		if err := s.read(c); err != nil {
			return err
		}
	}
	return nil
}

// read appends what one call to the system gives.
func (s *Source) read(c *connector.Chunk) error {
	f := s.file.Load()
	if f == nil {
		return os.ErrClosed
	}
	n, err := f.Read(c.Data[len(c.Data):cap(c.Data)])
	c.Data = c.Data[:len(c.Data)+n]
	if errors.Is(err, io.EOF) {
		s.ended = true
	} else if err != nil {
		return explain(err, "cannot read", s.shown)
	}
	return nil
}

// split finds the ends of the chunk's lines, up to one that is too long.
func (s *Source) split(c *connector.Chunk) {
	at := 0
	for {
		n := bytes.IndexByte(c.Data[at:], '\n')
		if n < 0 {
			return
		}
		if n > s.recordMax {
			return
		}
		at += n + 1
		c.Ends = append(c.Ends, uint32(at))
	}
}

// passOver skips the line that the chunk begins with, which is too long, and
// reports it.
func (s *Source) passOver(c *connector.Chunk) error {
	length := int64(0)
	for {
		if n := bytes.IndexByte(c.Data, '\n'); n >= 0 {
			s.rest = append(s.rest, c.Data[n+1:]...)
			length += int64(n)
			s.next.Offset += length + 1
			break
		}
		length += int64(len(c.Data))
		if s.ended {
			s.next.Offset += length
			break
		}
		c.Data = c.Data[:0]
		if err := s.read(c); err != nil {
			return err
		}
	}
	c.Data = c.Data[:0]
	c.Fault = fmt.Errorf("the line has %d bytes, and the limit is %d%s", length, s.recordMax, advice(length))
	s.next.Record++
	c.Next = s.next
	return nil
}

// lineBytesMost is the greatest limit that a job can set.
const lineBytesMost = 1 << 30

// advice says how a line of that length would be taken, if it can be.
func advice(length int64) string {
	if length > lineBytesMost {
		return ""
	}
	limit, unit := int64(1), "KiB"
	for limit<<10 < length {
		limit *= 2
	}
	if limit >= 1<<10 {
		limit, unit = limit>>10, "MiB"
	}
	return fmt.Sprintf("; if it is meant to be so long, set record-bytes-max: %d%s beside the path, under the source's file", limit, unit)
}

// Checkpointed implements connector.Source.
func (s *Source) Checkpointed([]connector.SplitPosition) {}

// Close implements connector.Source.
func (s *Source) Close() error {
	s.closed.Store(true)
	if opened := s.opening.Load(); opened != nil && s.isPipe() {
		for !s.release(*opened) {
		}
	}
	if f := s.file.Swap(nil); f != nil {
		return f.Close()
	}
	return nil
}

func (s *Source) isPipe() bool {
	info, err := os.Stat(s.path)
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// releaseEvery is how long an open may take to come to where it waits.
const releaseEvery = 5 * time.Millisecond

// release sets an open free that waits for a named pipe's writer: it becomes that
// writer for a moment, which fails at once where none waits yet. It returns whether the
// open is over.
func (s *Source) release(opened chan struct{}) bool {
	if f, err := os.OpenFile(s.path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		_ = f.Close()
	}
	select {
	case <-opened:
		return true
	case <-time.After(releaseEvery):
		return false
	}
}
