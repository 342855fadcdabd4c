package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"google.golang.org/protobuf/proto"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Manifest is a checkpoint: positions, hand-overs, and which files have the state.
type Manifest struct {
	Job       string
	History   int
	Epoch     int64
	TakenAt   stream.ProcTime
	Final     bool // the job had finished
	Savepoint bool // someone asked for it; it is never deleted by itself

	MaxParallelism int
	Steps          []Step
	Sources        []Source
	Sinks          []Sink
	Modules        []Module
}

// Step is the state of a step.
type Step struct {
	Name   string
	Layout string    // what its records are made of
	Files  []FileRef // oldest first
}

// FileRef names a delta or a base in a manifest. After a change of parallelism a file stands there once for each task
// that goes on from a part of it.
type FileRef struct {
	Name     string
	Bytes    int64
	Checksum uint32
	Base     bool   // it has all records of its groups up to its epoch
	Epoch    int64  // the newest of which it has changes
	Groups   Groups // those for which it counts
}

// Source is how far a source was read.
type Source struct {
	Name   string
	Ended  bool
	Splits []Split
}

// Split is how far a split was read.
type Split struct {
	Name string
	connector.Position
	MaxTime stream.EventTime // the greatest so far
	Ended   bool
	// Identity is connector.SplitPosition's; "" in checkpoints of versions that did not keep it.
	Identity string
}

// Sink is what a sink handed over.
type Sink struct {
	Name      string
	Connector string // what it writes to
	Handover  []byte
}

// Module is a Wasm module that the job uses.
type Module struct {
	Name   string
	Digest string
}

// FormatVersion is the newest format of manifests that this version reads, and the one it writes.
const FormatVersion = 1

// A manifest is manifestMagic, u32 length of the body, the body, and u32 CRC-32C of all that, little-endian. The body is
// a ManifestRecord.
const manifestMagic = "wsmani1\n"

const (
	manifestFrame    = len(manifestMagic) + 8
	manifestBytesMax = 256 << 20
)

// AppendManifest appends the bytes of the manifest's object.
func AppendManifest(b []byte, m *Manifest) ([]byte, error) {
	if err := m.check(); err != nil {
		return b, fmt.Errorf("manifest of epoch %d: %w", m.Epoch, err)
	}
	start := len(b)
	b = append(b, manifestMagic...)
	b = append(b, 0, 0, 0, 0)
	b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(b, m.record())
	if err != nil {
		return b[:start], fmt.Errorf("manifest of epoch %d: %w", m.Epoch, err)
	}
	body := len(b) - start - len(manifestMagic) - 4
	if body > manifestBytesMax {
		return b[:start], fmt.Errorf("manifest of epoch %d: it has %d bytes; at most %d are possible", m.Epoch, body, manifestBytesMax)
	}
	binary.LittleEndian.PutUint32(b[start+len(manifestMagic):], uint32(body))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli)), nil
}

// ErrNewer is that a manifest is sound, and from a version that knows more.
var ErrNewer = errors.New("it was written by a newer version of wasmstream")

// ReadManifest reads what AppendManifest wrote. The name is for errors: *Damaged, or ErrNewer.
func ReadManifest(name string, b []byte) (*Manifest, error) {
	bad := func(format string, args ...any) (*Manifest, error) {
		return nil, &Damaged{Object: name, Reason: fmt.Sprintf(format, args...)}
	}
	if len(b) < manifestFrame {
		return bad("it has %d bytes, and the smallest manifest has %d", len(b), manifestFrame)
	}
	if string(b[:len(manifestMagic)]) != manifestMagic {
		return bad("it begins with %q, not %q", b[:len(manifestMagic)], manifestMagic)
	}
	if n := binary.LittleEndian.Uint32(b[len(manifestMagic):]); int64(n) != int64(len(b)-manifestFrame) {
		return bad("it has %d bytes, and should have %d", len(b), int64(n)+int64(manifestFrame))
	}
	end := len(b) - 4
	if crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return bad("its checksum is wrong")
	}
	var record ManifestRecord
	if err := proto.Unmarshal(b[len(manifestMagic)+4:end], &record); err != nil {
		return bad("its checksum is right, but it is no manifest: %v", err)
	}
	if record.Format > FormatVersion {
		return nil, fmt.Errorf("%s: %w: its format is %d, this version knows %d", name, ErrNewer, record.Format, FormatVersion)
	}
	m := manifestOf(&record)
	if err := m.check(); err != nil {
		return bad("its checksum is right, but it makes no sense: %v", err)
	}
	return m, nil
}

// check tells what in a manifest makes no sense.
func (m *Manifest) check() error {
	switch {
	case m.History < 0 || m.Epoch < 0:
		return fmt.Errorf("history %d, epoch %d", m.History, m.Epoch)
	case m.MaxParallelism < 1 || m.MaxParallelism > stream.MaxParallelismLimit:
		return fmt.Errorf("max-parallelism is %d", m.MaxParallelism)
	}
	names := unique{}
	for i := range m.Steps {
		s := &m.Steps[i]
		names.add("step", s.Name)
		for j := range s.Files {
			if err := s.Files[j].check(m); err != nil {
				return fmt.Errorf("step %s: file %q: %w", s.Name, s.Files[j].Name, err)
			}
		}
	}
	for i := range m.Sources {
		names.add("source", m.Sources[i].Name)
		for j := range m.Sources[i].Splits {
			names.add("split of source "+m.Sources[i].Name, m.Sources[i].Splits[j].Name)
		}
	}
	for i := range m.Sinks {
		names.add("sink", m.Sinks[i].Name)
	}
	for i := range m.Modules {
		names.add("module", m.Modules[i].Name)
	}
	return names.err
}

func (f *FileRef) check(m *Manifest) error {
	n, ok := ParseName(f.Name)
	switch {
	case !ok || !n.Kind.IsFile():
		return errors.New("that is no name of a file")
	case f.Base != (n.Kind == KindBase):
		return fmt.Errorf("base is %t", f.Base)
	case f.Bytes < int64(len(fileMagic)+trailerBytes):
		return fmt.Errorf("it has %d bytes", f.Bytes)
	case f.Epoch < 0 || f.Epoch > m.Epoch:
		return fmt.Errorf("it is of epoch %d, the manifest of %d", f.Epoch, m.Epoch)
	case f.Groups.Empty() || int(f.Groups.To) > m.MaxParallelism:
		return fmt.Errorf("key groups %s of %d", f.Groups, m.MaxParallelism)
	}
	return nil
}

// unique notes the first name that comes twice.
type unique struct {
	seen map[[2]string]bool
	err  error
}

func (u *unique) add(what, name string) {
	if u.seen == nil {
		u.seen = map[[2]string]bool{}
	}
	key := [2]string{what, name}
	if u.seen[key] && u.err == nil {
		u.err = fmt.Errorf("%s %q is there twice", what, name)
	}
	u.seen[key] = true
}

// FileNames are the names of all files that the manifest needs.
func (m *Manifest) FileNames() []string {
	var names []string
	for i := range m.Steps {
		for j := range m.Steps[i].Files {
			names = append(names, m.Steps[i].Files[j].Name)
		}
	}
	return names
}

// Step returns the state of a step; nil if it has none.
func (m *Manifest) Step(name string) *Step {
	for i := range m.Steps {
		if m.Steps[i].Name == name {
			return &m.Steps[i]
		}
	}
	return nil
}

// RefsFor are the files that have records of some groups, with those groups alone, in the order of refs.
func RefsFor(refs []FileRef, groups Groups) []FileRef {
	var some []FileRef
	for _, r := range refs {
		if r.Groups = r.Groups.And(groups); !r.Groups.Empty() {
			some = append(some, r)
		}
	}
	return some
}

// Positions are a source's positions as its connector takes them.
func (s *Source) Positions() []connector.SplitPosition {
	var at []connector.SplitPosition
	for _, p := range s.Splits {
		at = append(at, connector.SplitPosition{Split: p.Name, Position: p.Position, Ended: p.Ended, Identity: p.Identity})
	}
	return at
}
