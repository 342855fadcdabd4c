package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wasmstream/wasmstream/host/connector"
)

// Sink writes lines to a file that appears when all is written.
//
// Two runs never write one file (O): the part file is locked from Open until it has
// its final name or is gone. Told as a sequence, run B against run A:
//
//	B opens A's part file, not truncating it; it cannot lock it, and is refused.
//	Or A renames or removes the part file between B's opening and locking it: B
//	holds the lock of a file that has another name, or none. So B looks whether
//	the path still leads to what it has locked, and otherwise begins again.
//
// The part file of a run that was killed is locked by nobody and is taken over.
type Sink struct {
	path   string
	shown  string
	target string   // that path without symbolic links, once it is open
	file   *os.File // nil: not open
	at     handover // what was written so far
	last   handover // the last one given out
	done   bool     // the file stands at its name
}

// NewSink makes a sink for the file at path; shown is the path as the user wrote
// it.
func NewSink(path, shown string) *Sink { return &Sink{path: path, shown: shown} }

// Open implements connector.Sink. It makes the folder if there is none.
func (s *Sink) Open(from []byte) error {
	h, err := readHandover(from)
	if err != nil {
		return gone("cannot go on with %s: %w", s.shown, err)
	}
	if h.final { // Recover has put the file in place
		s.last, s.done = h, true
		return nil
	}
	if s.target, err = Target(s.path); err != nil {
		return gone("cannot write %s: %w", s.shown, err)
	}
	if err := os.MkdirAll(filepath.Dir(s.target), 0o755); err != nil {
		return &GoneError{explain(err, "cannot make the folder of", s.shown)}
	}
	part := Part(s.target)
	if err := s.copyBack(h); err != nil {
		return err
	}
	f, err := openLocked(part)
	switch {
	case errors.Is(err, errLocked):
		return fmt.Errorf("cannot write %s: another run is writing it (its part file %s: %w)", s.shown, filepath.Base(part), err)
	case err != nil:
		return explain(err, "cannot write", s.shown)
	}
	s.file, s.at, s.last = f, h, h
	if err := s.cutBack(h.bytes); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(part)) // or a power cut leaves the bytes without a name
}

// copyBack makes the part file anew if the file has got its name since: a job may go
// on from a checkpoint before its last one. That the file is the one that this sink
// wrote is seen by its checksum.
func (s *Sink) copyBack(h handover) error {
	part := Part(s.target)
	if _, err := os.Lstat(part); h.bytes == 0 || !errors.Is(err, fs.ErrNotExist) {
		return nil // cutBack looks at what is there
	}
	written, err := os.ReadFile(s.target)
	if err != nil || int64(len(written)) < h.bytes || crc32.Checksum(written[:h.bytes], castagnoli) != h.sum {
		return gone("cannot go on with %s: the checkpoint says that its first %d bytes are written, and neither its part file %s nor such a file in its place is there", s.shown, h.bytes, filepath.Base(part))
	}
	if err := os.WriteFile(part, written[:h.bytes], 0o644); err != nil {
		return explain(err, "cannot write", s.shown)
	}
	return nil
}

// retriesMax bounds how often a part file may change hands while it is opened; each
// time is another run that ends at just that moment.
const retriesMax = 100

// openLocked opens a part file, or makes it, and locks it. What it has in it stays.
func openLocked(path string) (*os.File, error) {
	for range retriesMax {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|unfollowed, 0o644)
		if err != nil {
			if info, found := os.Lstat(path); found == nil && !info.Mode().IsRegular() {
				return nil, irregular(path, info)
			}
			return nil, err
		}
		still, err := lockedStill(f, path)
		if still {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return nil, errLocked
}

// lockedStill locks an open part file. It is false without an error if the file
// has lost its name meanwhile.
func lockedStill(f *os.File, path string) (bool, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = irregular(path, info)
	}
	if err == nil {
		err = lock(f)
	}
	if err != nil {
		return false, err
	}
	if info, err = f.Stat(); err == nil {
		now, gone := os.Lstat(path)
		switch {
		case gone != nil || !os.SameFile(now, info):
			return false, unlock(path)
		case names(info) > 1:
			err = fmt.Errorf("its part file %s has a second name, a hard link, whose content would be lost; remove one of them", filepath.Base(path))
		default:
			return true, nil
		}
	}
	return false, errors.Join(err, unlock(path))
}

func irregular(path string, info os.FileInfo) error {
	return fmt.Errorf("its part file %s is %s; remove it", filepath.Base(path), Kind(info.Mode()))
}

// cutBack forgets what was written after a hand-over.
func (s *Sink) cutBack(handover int64) error {
	info, err := s.file.Stat()
	if err != nil {
		return explain(err, "cannot write", s.shown)
	}
	if info.Size() < handover {
		return gone("cannot go on with %s: its part file has %d bytes, and the checkpoint says %d", s.shown, info.Size(), handover)
	}
	if err := s.file.Truncate(handover); err != nil {
		return explain(err, "cannot cut back", s.shown)
	}
	_, err = s.file.Seek(handover, io.SeekStart)
	return err
}

// Write implements connector.Sink.
func (s *Sink) Write(r *connector.Records) error {
	n, err := s.file.Write(r.Data)
	s.at.bytes += int64(n)
	s.at.sum = crc32.Update(s.at.sum, castagnoli, r.Data[:n])
	if err != nil {
		return explain(err, "cannot write", s.shown)
	}
	return nil
}

// Handover implements connector.Sink: the bytes written so far. A final one also
// has the file ready to get its name, so that nothing but that can fail later.
func (s *Sink) Handover(final bool) ([]byte, error) {
	if s.done {
		return s.last.append(nil), nil
	}
	if final {
		if err := s.keepMode(); err != nil {
			return nil, explain(err, "cannot write", s.shown)
		}
	}
	if err := s.file.Sync(); err != nil {
		return nil, explain(err, "cannot write", s.shown)
	}
	s.last = s.at
	s.last.final = final
	return s.last.append(nil), nil
}

// Commit implements connector.Sink: the file of a final hand-over gets its name. It
// is durable before, so that it is complete even after a power cut, and keeps its
// lock until after.
func (s *Sink) Commit() error {
	if !s.last.final || s.done {
		return nil
	}
	part := Part(s.target)
	err := s.moved(func() error { return os.Rename(part, s.target) })
	if err != nil {
		return fmt.Errorf("cannot put %s in place: %w", s.shown, err)
	}
	s.done = true
	return syncFolder(filepath.Dir(s.target))
}

// Recover implements connector.Sink. A part file that is not there any more was put
// in place by the run that was killed; what stands at the name tells.
func (s *Sink) Recover(from []byte) error {
	h, err := readHandover(from)
	if err != nil || !h.final {
		return err
	}
	if s.target, err = Target(s.path); err != nil {
		return fmt.Errorf("cannot write %s: %w", s.shown, err)
	}
	part := Part(s.target)
	_, err = os.Lstat(part)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Stat(s.target); err != nil || info.Size() != h.bytes {
			return gone("the result %s is lost: the checkpoint says that its part file %s with %d bytes is complete, and neither that nor such a file in its place is there", s.shown, filepath.Base(part), h.bytes)
		}
		return nil
	}
	if s.file, err = openLocked(part); err != nil {
		return explain(err, "cannot write", s.shown)
	}
	s.last = h
	return errors.Join(s.cutBack(h.bytes), s.Commit())
}

// GoneError is that what a checkpoint counts as written is not there, or that nothing
// can be written at the path. Starting again does not change that: it implements
// connector.Lasting.
type GoneError struct{ err error }

func gone(format string, args ...any) error { return &GoneError{fmt.Errorf(format, args...)} }

// Error says what is missing.
func (e *GoneError) Error() string { return e.err.Error() }

// Unwrap is the cause, if there is one.
func (e *GoneError) Unwrap() error { return e.err }

// Lasting implements connector.Lasting.
func (*GoneError) Lasting() bool { return true }

// handover is where a part file stands.
type handover struct {
	bytes int64
	sum   uint32 // CRC-32C of the bytes
	final bool   // nothing will be written any more
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// handoverBytes is the length of a hand-over: its version, whether it is final, the
// bytes of the part file and their checksum.
const handoverBytes = 1 + 1 + 8 + 4

const handoverVersion = 1

func (h handover) append(b []byte) []byte {
	final := byte(0)
	if h.final {
		final = 1
	}
	b = binary.LittleEndian.AppendUint64(append(b, handoverVersion, final), uint64(h.bytes))
	return binary.LittleEndian.AppendUint32(b, h.sum)
}

// readHandover reads what append wrote; nothing stands for the beginning.
func readHandover(b []byte) (h handover, err error) {
	if len(b) == 0 {
		return h, nil
	}
	if len(b) != handoverBytes || b[0] != handoverVersion || b[1] > 1 || int64(binary.LittleEndian.Uint64(b[2:])) < 0 {
		return h, errors.New("the checkpoint's hand-over is not one of a file sink of this version")
	}
	return handover{bytes: int64(binary.LittleEndian.Uint64(b[2:])), sum: binary.LittleEndian.Uint32(b[10:]), final: b[1] == 1}, nil
}

// moved moves the part file away, which a change does, and closes it: in this
// order where the system can, so that no other run locks it in between.
func (s *Sink) moved(change func() error) error {
	f := s.file
	s.file = nil
	if openFilesMove {
		return errors.Join(change(), f.Close(), unlock(f.Name()))
	}
	if err := f.Close(); err != nil {
		return errors.Join(err, unlock(f.Name()))
	}
	return errors.Join(change(), unlock(f.Name()))
}

// keepMode gives the part file the permissions of the file that it replaces.
func (s *Sink) keepMode() error {
	old, err := os.Stat(s.target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := s.file.Stat()
	if err != nil || now.Mode().Perm() == old.Mode().Perm() {
		return err
	}
	return s.file.Chmod(old.Mode().Perm())
}

// syncFolder makes a rename durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Interrupt implements connector.Sink. No call here waits for anybody.
func (s *Sink) Interrupt() {}

// Close implements connector.Sink: the part file stays, for a run that goes on from
// a checkpoint.
func (s *Sink) Close() error {
	if s.file == nil {
		return nil
	}
	return s.moved(func() error { return nil })
}

// Abort implements connector.Sink.
func (s *Sink) Abort() error {
	if s.file == nil {
		return nil
	}
	part := Part(s.target)
	return s.moved(func() error {
		if err := os.Remove(part); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}
