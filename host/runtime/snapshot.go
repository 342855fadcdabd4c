package runtime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Snapshot is the state of a whole job between two records of each source. It
// does not depend on the number of tasks: a job may go on from it with another
// parallelism.
type Snapshot struct {
	groups  int               // key groups of the job
	layouts map[string]string // of each step's state, see layoutOf
	sources map[string]sourceState
	steps   map[string]map[stream.KeyGroup][]byte
	sinks   map[string]int64
}

func newSnapshot() *Snapshot {
	return &Snapshot{
		layouts: map[string]string{},
		sources: map[string]sourceState{},
		steps:   map[string]map[stream.KeyGroup][]byte{},
		sinks:   map[string]int64{},
	}
}

func (s *Snapshot) put(step string, group stream.KeyGroup, entries []byte) {
	if s.steps[step] == nil {
		s.steps[step] = map[stream.KeyGroup][]byte{}
	}
	s.steps[step][group] = entries
}

// snapshotMagic begins the bytes of a snapshot; its last character is the
// format's version.
const snapshotMagic = "wsnap002"

// Bytes is the snapshot in a form that ReadSnapshot reads; equal snapshots give
// equal bytes. Numbers are little-endian, names and entries follow their length:
//
//	magic; u32 key groups; u32 steps {name, layout}; u32 sources {name, i64 offset, i64 record, u8 ended, i64 greatest time};
//	u32 steps {name, u32 key groups {u16 group, entries}}; u32 sinks {name, i64 hand-over}
func (s *Snapshot) Bytes() []byte {
	le := binary.LittleEndian
	b := []byte(snapshotMagic)
	str := func(v []byte) { b = append(le.AppendUint32(b, uint32(len(v))), v...) }
	b = le.AppendUint32(b, uint32(s.groups))
	b = le.AppendUint32(b, uint32(len(s.layouts)))
	for _, name := range slices.Sorted(maps.Keys(s.layouts)) {
		str([]byte(name))
		str([]byte(s.layouts[name]))
	}
	b = le.AppendUint32(b, uint32(len(s.sources)))
	for _, name := range slices.Sorted(maps.Keys(s.sources)) {
		v := s.sources[name]
		str([]byte(name))
		b = le.AppendUint64(b, uint64(v.Position.Offset))
		b = le.AppendUint64(b, uint64(v.Position.Record))
		ended := byte(0)
		if v.Ended {
			ended = 1
		}
		b = le.AppendUint64(append(b, ended), uint64(v.MaxTime))
	}
	b = le.AppendUint32(b, uint32(len(s.steps)))
	for _, name := range slices.Sorted(maps.Keys(s.steps)) {
		str([]byte(name))
		b = le.AppendUint32(b, uint32(len(s.steps[name])))
		for _, group := range slices.Sorted(maps.Keys(s.steps[name])) {
			b = le.AppendUint16(b, uint16(group))
			str(s.steps[name][group])
		}
	}
	b = le.AppendUint32(b, uint32(len(s.sinks)))
	for _, name := range slices.Sorted(maps.Keys(s.sinks)) {
		str([]byte(name))
		b = le.AppendUint64(b, uint64(s.sinks[name]))
	}
	return b
}

var errNoSnapshot = errors.New("the bytes are no snapshot of this version, or were damaged")

// ReadSnapshot reads what Bytes wrote.
func ReadSnapshot(b []byte) (*Snapshot, error) {
	r := snapshotReader{b: b}
	if string(r.take(len(snapshotMagic))) != snapshotMagic {
		return nil, errNoSnapshot
	}
	s := newSnapshot()
	s.groups = int(r.u32())
	for n := r.u32(); n > 0 && !r.bad; n-- {
		name := string(r.str())
		s.layouts[name] = string(r.str())
	}
	for n := r.u32(); n > 0 && !r.bad; n-- {
		name := r.str()
		s.sources[string(name)] = sourceState{
			Position: connector.Position{Offset: r.i64(), Record: r.i64()},
			Ended:    r.take(1)[0] != 0,
			MaxTime:  stream.EventTime(r.i64()),
		}
	}
	for n := r.u32(); n > 0 && !r.bad; n-- {
		name := string(r.str())
		s.steps[name] = map[stream.KeyGroup][]byte{}
		for g := r.u32(); g > 0 && !r.bad; g-- {
			group := stream.KeyGroup(binary.LittleEndian.Uint16(r.take(2)))
			s.put(name, group, r.str())
		}
	}
	for n := r.u32(); n > 0 && !r.bad; n-- {
		name := r.str()
		s.sinks[string(name)] = r.i64()
	}
	if r.bad || len(r.b) > 0 {
		return nil, errNoSnapshot
	}
	return s, nil
}

// layoutOf says what a step's state is made of: a snapshot of another layout
// cannot be gone on from.
func layoutOf(s *job.Step) string {
	switch {
	case s.Window != nil:
		text := "key " + s.Input.Project(s.KeyBy).String() + ", window"
		if f := s.Window.Function; f != nil {
			text += " accumulator " + f.Accumulator.String()
		}
		for _, a := range s.Window.Aggregates {
			text += fmt.Sprintf(" %s %s", a.Kind, a.Type)
			if a.Column >= 0 {
				text += " of " + s.Input.Fields()[a.Column].Type.String()
			}
		}
		if s.Window.Options.Evictor != nil {
			text += " records " + s.Input.String()
		}
		return text
	case s.WindowJoin != nil:
		return "window join " + s.WindowJoin.Left.Input.String() + " " + s.WindowJoin.Right.Input.String()
	case s.IntervalJoin != nil:
		return "interval join " + s.IntervalJoin.Left.Input.String() + " " + s.IntervalJoin.Right.Input.String()
	}
	return ""
}

// fits tells why a plan cannot go on from the snapshot; nil if it can.
func (s *Snapshot) fits(plan *job.Job) error {
	if s.groups != plan.MaxParallelism {
		return fmt.Errorf("the snapshot has %d key groups, and the job's max-parallelism is %d; it cannot be changed afterwards", s.groups, plan.MaxParallelism)
	}
	for _, step := range plan.Steps {
		switch layout, ok := s.layouts[step.Name]; {
		case !ok:
			return fmt.Errorf("the snapshot has no step %s", step.Name)
		case layout != layoutOf(step):
			return fmt.Errorf("the state of step %s is another now: the snapshot has %q, the job %q", step.Name, layout, layoutOf(step))
		}
	}
	return nil
}

// snapshotReader takes values off the front of untrusted bytes; bad is sticky,
// and what is taken then is zero.
type snapshotReader struct {
	b   []byte
	bad bool
}

func (r *snapshotReader) take(n int) []byte {
	if n > len(r.b) {
		r.b, r.bad = nil, true
		return make([]byte, min(n, 8))
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *snapshotReader) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *snapshotReader) i64() int64  { return int64(binary.LittleEndian.Uint64(r.take(8))) }
func (r *snapshotReader) str() []byte { return r.take(int(r.u32())) }
