package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/stream"
)

// RollingOptions say when a part is full. One that has either takes no more.
type RollingOptions struct {
	SizeBytes int64
	Interval  time.Duration
	Clock     stream.Clock
}

// Rolling writes lines to the parts of a folder, numbered in the order of writing:
// part-0000000001.ndjson and so on. A part appears, whole, with the checkpoint after
// it was full, and is never changed. Numbers go on behind those that are there.
//
// A hand-over names the full parts that have not appeared, and how far the open one
// was written. Recover has the full ones appear; Open cuts the open one back, and
// removes what was begun after it: parts that appeared after the checkpoint too, as
// the job that goes on from an older one writes them again.
type Rolling struct {
	dir, shown string
	options    RollingOptions
	lock       *os.File
	file       *os.File // the open part; nil: none
	since      stream.ProcTime
	state      rollingHandover
	given      int // how many full parts the last hand-over named
}

// rollingHandover is what a checkpoint keeps, as JSON.
type rollingHandover struct {
	Version int        `json:"version"`
	Full    []partSize `json:"full"`
	Open    partSize   `json:"open"` // Number 0: none
	Next    int64      `json:"next"` // the number of the part after these
}

type partSize struct {
	Number int64 `json:"number"`
	Bytes  int64 `json:"bytes"`
}

// NewRolling makes a sink of the folder at path; shown is the path as the user wrote
// it.
func NewRolling(path, shown string, o RollingOptions) *Rolling {
	return &Rolling{dir: path, shown: shown, options: o}
}

const partName = "part-%010d.ndjson"

func (s *Rolling) target(n int64) string { return filepath.Join(s.dir, fmt.Sprintf(partName, n)) }

// Recover implements connector.Sink.
func (s *Rolling) Recover(from []byte) error {
	h, err := s.read(from)
	if err != nil {
		return err
	}
	for _, p := range h.Full {
		if err := s.appear(p); err != nil {
			return err
		}
	}
	if len(h.Full) == 0 {
		return nil
	}
	return syncFolder(s.dir)
}

// appear gives a full part its name, if it does not have it yet.
func (s *Rolling) appear(p partSize) error {
	target := s.target(p.Number)
	part := Part(target)
	info, err := os.Lstat(part)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Stat(target); err != nil || info.Size() != p.Bytes {
			return gone("the result %s is lost: the checkpoint says that it has %d bytes, and neither such a file nor its part file is there", target, p.Bytes)
		}
		return nil
	}
	if err != nil {
		return explain(err, "cannot write", s.shown)
	}
	if info.Size() != p.Bytes {
		return gone("cannot go on with %s: its part file has %d bytes, and the checkpoint says %d", target, info.Size(), p.Bytes)
	}
	return os.Rename(part, target)
}

func (s *Rolling) read(from []byte) (h rollingHandover, err error) {
	if len(from) == 0 {
		return rollingHandover{Version: handoverVersion}, nil
	}
	if err := json.Unmarshal(from, &h); err != nil || h.Version != handoverVersion {
		return h, gone("the checkpoint's hand-over is not one of a folder of files of this version")
	}
	return h, nil
}

// lockName is the file in the folder that keeps two runs apart.
const lockName = ".lock"

// Open implements connector.Sink.
func (s *Rolling) Open(from []byte) (err error) {
	if s.state, err = s.read(from); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return explain(err, "cannot make the folder", s.shown)
	}
	if s.lock, err = openLocked(filepath.Join(s.dir, lockName)); err != nil {
		return fmt.Errorf("cannot write to %s: another run is writing to it (%w)", s.shown, err)
	}
	s.state.Full, s.given = nil, 0
	if err := s.tidy(len(from) > 0); err != nil {
		return explain(err, "cannot write to", s.shown)
	}
	if p := s.state.Open; p.Number > 0 {
		return s.reopen(p)
	}
	return nil
}

// tidy removes parts that were begun after the checkpoint, if the sink goes on from
// one, and else finds the next number.
func (s *Rolling) tidy(restored bool) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	open, next := s.state.Open.Number, s.state.Next
	for _, e := range entries {
		var n int64
		name, hidden := strings.CutPrefix(e.Name(), ".")
		if count, _ := fmt.Sscanf(name, partName, &n); count != 1 {
			continue
		}
		path := filepath.Join(s.dir, e.Name())
		switch {
		case n == open && hidden, restored && !hidden && n < next && n != open:
		case n == open: // it was full, and appeared, after the checkpoint
			err = os.Rename(path, Part(path))
		case !restored && !hidden:
			s.state.Next = max(s.state.Next, n+1)
		default:
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	s.state.Next = max(s.state.Next, 1)
	return syncFolder(s.dir)
}

// reopen goes on with the open part.
func (s *Rolling) reopen(p partSize) error {
	f, err := os.OpenFile(Part(s.target(p.Number)), os.O_WRONLY|unfollowed, 0)
	if err != nil {
		return &GoneError{explain(err, "cannot go on in", s.shown)}
	}
	s.file, s.since = f, s.options.Clock.Now()
	info, err := f.Stat()
	if err == nil && info.Size() < p.Bytes {
		err = gone("cannot go on in %s: the part file %s has %d bytes, and the checkpoint says %d", s.shown, filepath.Base(f.Name()), info.Size(), p.Bytes)
	}
	if err == nil {
		err = f.Truncate(p.Bytes)
	}
	if err == nil {
		_, err = f.Seek(p.Bytes, 0)
	}
	return err
}

// Write implements connector.Sink.
func (s *Rolling) Write(r *connector.Records) error {
	from := uint32(0)
	for i, end := range r.Ends {
		full := s.state.Open.Bytes+int64(end-from) >= s.options.SizeBytes
		if !full && i < len(r.Ends)-1 {
			continue
		}
		if err := s.add(r.Data[from:end]); err != nil {
			return explain(err, "cannot write to", s.shown)
		}
		if from = end; full {
			if err := s.close(); err != nil {
				return explain(err, "cannot write to", s.shown)
			}
		}
	}
	return nil
}

func (s *Rolling) add(b []byte) error {
	if s.file == nil {
		n := s.state.Next
		f, err := os.OpenFile(Part(s.target(n)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		s.file, s.since = f, s.options.Clock.Now()
		s.state.Open, s.state.Next = partSize{Number: n}, n+1
		if err := syncFolder(s.dir); err != nil {
			return err
		}
	}
	n, err := s.file.Write(b)
	s.state.Open.Bytes += int64(n)
	return err
}

// close ends the open part.
func (s *Rolling) close() error {
	err := errors.Join(s.file.Sync(), s.file.Close())
	s.file = nil
	s.state.Full, s.state.Open = append(s.state.Full, s.state.Open), partSize{}
	return err
}

// Handover implements connector.Sink.
func (s *Rolling) Handover(final bool) ([]byte, error) {
	var err error
	if s.file != nil {
		if final || s.options.Clock.Now()-s.since >= stream.ProcTime(s.options.Interval.Milliseconds()) {
			err = s.close()
		} else {
			err = s.file.Sync()
		}
	}
	if err != nil {
		return nil, explain(err, "cannot write to", s.shown)
	}
	s.state.Version, s.given = handoverVersion, len(s.state.Full)
	return json.Marshal(&s.state)
}

// Commit implements connector.Sink.
func (s *Rolling) Commit() error {
	if s.given == 0 {
		return nil
	}
	for _, p := range s.state.Full[:s.given] {
		if err := s.appear(p); err != nil {
			return err
		}
	}
	s.state.Full, s.given = s.state.Full[s.given:], 0
	return syncFolder(s.dir)
}

// Interrupt implements connector.Sink. No call here waits for anybody.
func (s *Rolling) Interrupt() {}

// Close implements connector.Sink.
func (s *Rolling) Close() error {
	var errs []error
	if s.file != nil {
		errs = append(errs, s.file.Close())
		s.file = nil
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close(), unlock(s.lock.Name()))
		s.lock = nil
	}
	return errors.Join(errs...)
}

// Abort implements connector.Sink: parts that have not appeared are removed.
func (s *Rolling) Abort() error {
	parts := s.state.Full
	if s.state.Open.Number > 0 {
		parts = append(parts, s.state.Open)
	}
	errs := []error{s.Close()}
	for _, p := range parts {
		if err := os.Remove(Part(s.target(p.Number))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	s.state = rollingHandover{}
	return errors.Join(errs...)
}
