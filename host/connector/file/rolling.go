package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/stream"
)

// RollingOptions say when a part is full. One that has either takes no more.
type RollingOptions struct {
	SizeBytes int64
	Interval  time.Duration
	Clock     stream.Clock
	Logger    *slog.Logger // nil: nothing is told
}

// Rolling writes lines to the parts of a folder, numbered in the order of writing:
// part-0000000001.ndjson and so on. A part appears, whole, with the checkpoint after
// it was full, and is never changed.
//
// The folder is one run's and of those that go on from it: a file in it says whose it is,
// and up to which number parts have appeared, for somebody may take them away. A run
// that begins anew wants a folder without parts.
//
// What else lies in the folder is somebody's, is left alone and is told of. A file under the
// name of a part that is still to come is in the way, and ends the job.
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
	owned      ownership
	given      int // how many full parts the last hand-over named
}

// rollingHandover is what a checkpoint keeps, as JSON.
type rollingHandover struct {
	Version int        `json:"version"`
	Owner   string     `json:"owner"`
	Full    []partSize `json:"full"`
	Open    partSize   `json:"open"` // Number 0: none
	Next    int64      `json:"next"` // the number of the part after these
}

// firstHidden is the first part that the checkpoint does not take for one that has appeared.
func (h *rollingHandover) firstHidden() int64 {
	switch {
	case len(h.Full) > 0:
		return h.Full[0].Number
	case h.Open.Number > 0:
		return h.Open.Number
	}
	return h.Next
}

type partSize struct {
	Number int64 `json:"number"`
	Bytes  int64 `json:"bytes"`
}

// ownership is the file that says whose the folder is, as JSON.
type ownership struct {
	Owner    string `json:"owner"`
	Appeared int64  `json:"appeared"` // the highest number of a part that has
}

// ownerName is that file's name.
const ownerName = ".wasmstream"

func (s *Rolling) readOwner() (o ownership, err error) {
	b, err := os.ReadFile(filepath.Join(s.dir, ownerName))
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, explain(err, "cannot read in", s.shown)
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return o, gone("%s in %s is damaged, and says whose the parts there are: %w", ownerName, s.shown, err)
	}
	return o, nil
}

// own makes durable whose the folder is.
func (s *Rolling) own(o ownership) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	path := filepath.Join(s.dir, ownerName)
	f, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	s.owned = o
	return errors.Join(os.Rename(path+".new", path), syncFolder(s.dir))
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
	if err != nil || len(h.Full) == 0 {
		return err
	}
	if err = s.mine(h); err == nil {
		err = s.complete(h.firstHidden() - 1)
	}
	if err != nil {
		return err
	}
	return s.appear(h.Full)
}

// mine makes sure that the folder is that of the hand-over.
func (s *Rolling) mine(h rollingHandover) (err error) {
	if s.owned, err = s.readOwner(); err != nil {
		return err
	}
	switch s.owned.Owner {
	case h.Owner:
		return nil
	case "":
		return s.unowned()
	}
	return gone("cannot go on in %s: the parts there are those of another run, which began in it since", s.shown)
}

// complete makes sure that the parts up to a number have appeared. A run that went back since has removed some.
func (s *Rolling) complete(last int64) error {
	if s.owned.Appeared >= last {
		return nil
	}
	return gone("cannot go on in %s: the checkpoint counts on all parts up to %s, and those behind the first %d were removed when a run went back to an older checkpoint; go on from that one, or one before it, with --restore",
		s.shown, filepath.Base(s.target(last)), s.owned.Appeared)
}

// unowned is that the folder or its hidden files are gone. No checkpoint can do without them, also no older one.
func (s *Rolling) unowned() error {
	missing := "its file " + ownerName
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		missing = "the folder"
	}
	return gone("cannot go on in %s: %s is not there, and the checkpoints count on the hidden files in it, which say which parts have appeared and hold those that have not; bring them back, or begin anew with --fresh in a folder without parts, which puts all results out again", s.shown, missing)
}

// appear gives full parts their names, those that do not have them yet. It is noted first:
// a part that is neither here nor there has appeared, and was taken away.
func (s *Rolling) appear(parts []partSize) error {
	hidden := make([]bool, len(parts))
	for i, p := range parts {
		var err error
		if hidden[i], err = s.isHidden(p); err != nil {
			return err
		}
	}
	if last := parts[len(parts)-1].Number; last > s.owned.Appeared {
		if err := s.own(ownership{Owner: s.owned.Owner, Appeared: last}); err != nil {
			return explain(err, "cannot write to", s.shown)
		}
	}
	for i, p := range parts {
		if !hidden[i] {
			continue
		}
		if err := os.Rename(Part(s.target(p.Number)), s.target(p.Number)); err != nil {
			return explain(err, "cannot write to", s.shown)
		}
	}
	return syncFolder(s.dir)
}

// isHidden says whether a full part is there and has not appeared.
func (s *Rolling) isHidden(p partSize) (bool, error) {
	target := s.target(p.Number)
	there, err := os.Lstat(target)
	taken := err == nil
	info, err := os.Lstat(Part(target))
	switch {
	case errors.Is(err, fs.ErrNotExist) && (p.Number <= s.owned.Appeared || taken && there.Size() == p.Bytes):
		return false, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, s.deleted(p)
	case err != nil:
		return false, explain(err, "cannot write", s.shown)
	case info.Size() != p.Bytes:
		return false, gone("cannot go on with %s: its part file has %d bytes, and the checkpoint says %d", target, info.Size(), p.Bytes)
	case taken:
		return false, s.inTheWay(filepath.Base(target))
	}
	return true, nil
}

// deleted is that somebody has deleted a part that has not appeared.
func (s *Rolling) deleted(p partSize) error {
	if o, err := s.readOwner(); err == nil && o.Owner == "" {
		return s.unowned()
	}
	target := s.target(p.Number)
	return gone("cannot go on in %s: the part file %s is not there, nor %s; somebody has deleted it, and the checkpoint counts %d bytes that were written to it; bring it back, or go on from an older checkpoint with --restore, which writes them again",
		s.shown, filepath.Base(Part(target)), filepath.Base(target), p.Bytes)
}

// inTheWay is that a name is taken which a part is to have.
func (s *Rolling) inTheWay(name string) error {
	return gone("cannot go on in %s: there is a %s that this job has not written, and a part of its results is to have that name; move it away", s.shown, name)
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

// ownNames are the names in the folder that are not those of parts.
var ownNames = []string{lockName, ownerName, ownerName + ".new"}

// Open implements connector.Sink.
func (s *Rolling) Open(from []byte) (err error) {
	if s.state, err = s.read(from); err != nil {
		return err
	}
	if _, err := os.Stat(s.dir); len(from) > 0 && errors.Is(err, fs.ErrNotExist) {
		return s.unowned()
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return &GoneError{explain(err, "cannot make the folder", s.shown)}
	}
	if s.lock, err = openLocked(filepath.Join(s.dir, lockName)); err != nil {
		return fmt.Errorf("cannot write to %s: another run is writing to it (%w)", s.shown, err)
	}
	s.state.Full, s.given = nil, 0 // they have appeared
	if len(from) > 0 {
		if err = s.mine(s.state); err == nil {
			err = s.complete(s.state.firstHidden() - 1)
		}
	} else {
		err = s.begin()
	}
	if err != nil {
		return err
	}
	if err := s.tidy(); err != nil {
		return explain(err, "cannot write to", s.shown)
	}
	if p := s.state.Open; p.Number > 0 {
		return s.reopen(p)
	}
	return nil
}

// begin takes a folder that has no parts.
func (s *Rolling) begin() error {
	parts, err := filepath.Glob(filepath.Join(s.dir, "part-*"))
	if err != nil {
		return err
	}
	if len(parts) > 0 {
		return gone("cannot begin in %s: it has parts of a former run, such as %s, behind which their results would come again; move them away, or name another folder", s.shown, filepath.Base(parts[0]))
	}
	s.state.Owner = fmt.Sprintf("%d-%d", s.options.Clock.Now(), os.Getpid())
	return s.own(ownership{Owner: s.state.Owner})
}

// partFile is the name of a part, or of one that has not appeared yet.
var partFile = regexp.MustCompile(`^(?:part-(\d{10})\.ndjson|\.part-(\d{10})\.ndjson\.part)$`)

// tidy removes parts that were begun after the checkpoint, whether they have appeared
// or not.
func (s *Rolling) tidy() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	s.state.Next = max(s.state.Next, 1)
	var others []string
	for _, e := range entries {
		m := partFile.FindStringSubmatch(e.Name())
		if m == nil || !e.Type().IsRegular() {
			if !slices.Contains(ownNames, e.Name()) {
				others = append(others, e.Name())
			}
			continue
		}
		n, _ := strconv.ParseInt(m[1]+m[2], 10, 64)
		path, hidden := filepath.Join(s.dir, e.Name()), m[2] != ""
		switch {
		case !hidden && n > s.owned.Appeared && n >= s.state.Next: // that would have been noted
			err = s.inTheWay(e.Name())
		case n == s.state.Open.Number && hidden, n < s.state.Next && n != s.state.Open.Number && !hidden:
		case n == s.state.Open.Number: // it was full, and appeared, after the checkpoint
			err = os.Rename(path, Part(path))
		default:
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	if len(others) > 0 && s.options.Logger != nil {
		s.options.Logger.Warn("there are files in the folder of a sink that are not its own; they are left alone", "folder", s.shown, "files", len(others), "first", others[0])
	}
	if last := s.state.Next - 1; s.owned.Appeared > last {
		return s.own(ownership{Owner: s.owned.Owner, Appeared: last})
	}
	return syncFolder(s.dir)
}

// reopen goes on with the open part.
func (s *Rolling) reopen(p partSize) error {
	f, err := os.OpenFile(Part(s.target(p.Number)), os.O_WRONLY|unfollowed, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return s.deleted(p)
	}
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
	if err := s.appear(s.state.Full[:s.given]); err != nil {
		return err
	}
	s.state.Full, s.given = s.state.Full[s.given:], 0
	return nil
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
