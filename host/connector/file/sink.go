package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Sink writes lines to a file that appears when all is written.
type Sink struct {
	path  string
	shown string
	file  *os.File // nil: not open
	bytes int64
}

// NewSink makes a sink for the file at path; shown is the path as the user wrote
// it.
func NewSink(path, shown string) *Sink { return &Sink{path: path, shown: shown} }

// part is where everything goes until Commit.
func (s *Sink) part() string {
	return filepath.Join(filepath.Dir(s.path), "."+filepath.Base(s.path)+".part")
}

// Open implements connector.Sink. It makes the folder if there is none.
func (s *Sink) Open(handover int64) error {
	if info, err := os.Stat(s.path); err == nil && info.IsDir() {
		return fmt.Errorf("cannot write %s: it is a folder", s.shown)
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return explain(err, "cannot make the folder of", s.shown)
	}
	flags := os.O_WRONLY | os.O_CREATE
	if handover == 0 {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(s.part(), flags, 0o644)
	if err != nil {
		return explain(err, "cannot write", s.shown)
	}
	s.file, s.bytes = f, handover
	if handover == 0 {
		return nil
	}
	return s.cutBack(handover)
}

// cutBack forgets what was written after a hand-over.
func (s *Sink) cutBack(handover int64) error {
	info, err := s.file.Stat()
	if err != nil {
		return explain(err, "cannot write", s.shown)
	}
	if info.Size() < handover {
		return fmt.Errorf("cannot go on with %s: its part file has %d bytes, and the checkpoint says %d", s.shown, info.Size(), handover)
	}
	if err := s.file.Truncate(handover); err != nil {
		return explain(err, "cannot cut back", s.shown)
	}
	_, err = s.file.Seek(handover, io.SeekStart)
	return err
}

// Write implements connector.Sink.
func (s *Sink) Write(b []byte) error {
	n, err := s.file.Write(b)
	s.bytes += int64(n)
	if err != nil {
		return explain(err, "cannot write", s.shown)
	}
	return nil
}

// Handover implements connector.Sink: the bytes written so far.
func (s *Sink) Handover() (int64, error) {
	if err := s.file.Sync(); err != nil {
		return 0, explain(err, "cannot write", s.shown)
	}
	return s.bytes, nil
}

// Commit implements connector.Sink. The file is durable before it gets its name,
// so that it is complete even after a power cut.
func (s *Sink) Commit() error {
	if err := errors.Join(s.file.Sync(), s.file.Close()); err != nil {
		return explain(err, "cannot write", s.shown)
	}
	s.file = nil
	if err := os.Rename(s.part(), s.path); err != nil {
		return fmt.Errorf("cannot put %s in place: %w", s.shown, err)
	}
	return syncFolder(filepath.Dir(s.path))
}

// syncFolder makes a rename durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Abort implements connector.Sink.
func (s *Sink) Abort() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	if removed := os.Remove(s.part()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}
