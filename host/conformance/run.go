// Package conformance holds modules against the vectors of the ABI, and says which of them
// a module does not do as it must.
//
// A suite is a file of vectors with the manifest of the functions that it is for; those are
// found in a module by their names.
//
// Invariants:
//
//	(M) A vector passes only if each frame is answered by exactly the effects expected,
//	    all slots are rows of their schemas, and states hold what they must (abi/conform).
//	(F) Each vector is played in three ways: on one instance; on one that is thrown away and
//	    made anew before each frame, since a guest's memory is a cache; and on one that was
//	    opened otherwise before, in one buffer as long as frames fit, with their areas in
//	    another order, gaps between them, and what is reserved not zero.
//	(S) List, map and broadcast states are the player's own: a guest may ask for them in
//	    any way that the ABI has.
//	(V) A function refuses, by fail, a frame of another version and an op of a kind that
//	    there is not.
//
// Caveat: what a module does that no vector asks for is not seen.
package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/abi/conform"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/sandbox"
)

// Suite is a file of vectors.
type Suite struct {
	Name string
	conform.File
}

// Suites are the files that have a manifest; the others are vectors for hosts.
func Suites(files fs.FS, folder string) (suites []Suite, err error) {
	names, err := fs.Glob(files, path.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		f, err := conform.Read(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if f.Manifest != nil {
			suites = append(suites, Suite{strings.TrimSuffix(path.Base(name), ".json"), f})
		}
	}
	return suites, nil
}

// Instance is an instance of the module at test; *sandbox.Instance is one.
type Instance interface {
	guest.Instance
	// CallStates says who answers the guest's calls on states.
	CallStates(sandbox.StateCalls)
}

// Module is the module at test.
type Module interface {
	// Manifest is what the module says about itself.
	Manifest() *abi.Manifest
	// New makes an instance.
	New() (Instance, error)
}

// Result is what became of a vector, played in one way; of a function that is not
// as it must be, there is one without a vector.
type Result struct {
	Suite    string `json:"suite"`
	Function string `json:"function"`
	Role     string `json:"role"`
	Case     string `json:"case,omitempty"`
	// Way is how it was played.
	Way Way `json:"way,omitempty"`
	// Frame counts from 0, the opening; Op is the op of it that is at fault, if it is one.
	Frame   int    `json:"frame,omitempty"`
	Op      string `json:"op,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// Way is how a vector is played.
type Way string

// The ways of invariant F, and that of V.
const (
	OneInstance    Way = "on one instance"
	FreshInstances Way = "on a fresh instance for each frame"
	OtherLayout    Way = "with frames laid out otherwise"
	OtherVersions  Way = "as a later version would have it"
)

// Report is what became of a suite.
type Report struct {
	Results []Result
	// Played are the functions that the module has, Absent those that it has not.
	Played, Absent []string
}

// Run plays the suite on a module. An error is the host's.
func (s *Suite) Run(m Module) (*Report, error) {
	report := &Report{}
	for i, f := range s.Manifest.GetFunctions() {
		index := m.Manifest().FunctionIndex(f.GetName())
		if index < 0 {
			report.Absent = append(report.Absent, f.GetName())
			continue
		}
		report.Played = append(report.Played, f.GetName())
		of := Result{Suite: s.Name, Function: f.GetName(), Role: f.GetRole()}
		if part := f.Differs(m.Manifest().GetFunctions()[index]); part != "" {
			of.Problem = "its " + part + " in the manifest is not that of the suite"
			report.Results = append(report.Results, of)
			continue
		}
		vectors := s.of(i)
		for _, v := range vectors {
			if err := report.play(of, m, v, f, uint32(index), otherOpening(vectors, v)); err != nil {
				return nil, fmt.Errorf("suite %s: %q: %w", s.Name, v.Name, err)
			}
		}
		if err := report.versions(of, m, vectors, f, uint32(index)); err != nil {
			return nil, fmt.Errorf("suite %s: %w", s.Name, err)
		}
	}
	return report, nil
}

// of are the vectors of a function.
func (s *Suite) of(function int) (vectors []*conform.Vector) {
	for i := range s.Vectors {
		if v := &s.Vectors[i]; int(v.Function) == function {
			vectors = append(vectors, v)
		}
	}
	return vectors
}

// otherOpening is a frame that opens the function otherwise than a vector does; nil, if none does.
func otherOpening(vectors []*conform.Vector, than *conform.Vector) []byte {
	for _, v := range vectors {
		if v.Fault == "" && !bytes.Equal(v.Frames[0].Frame, than.Frames[0].Frame) {
			return v.Frames[0].Frame
		}
	}
	return nil
}

// play plays a vector in all ways.
func (r *Report) play(of Result, m Module, v *conform.Vector, f *abi.Function, index uint32, other []byte) error {
	of.Case = v.Name
	for _, of.Way = range []Way{OneInstance, FreshInstances, OtherLayout} {
		if of.Way == FreshInstances && len(v.Frames) < 2 {
			continue // an instance is new at its opening
		}
		result := of
		err := playOnce(m, v, f, index, of.Way, other)
		var problem *conform.Problem
		switch {
		case errors.As(err, &problem):
			result.Frame, result.Problem = problem.Frame, problem.Text
			if ops := v.Frames[problem.Frame].Ops; problem.Op >= 0 && problem.Op < len(ops) {
				result.Op = ops[problem.Op]
			}
		case err != nil:
			return err
		}
		r.Results = append(r.Results, result)
	}
	return nil
}

func playOnce(m Module, v *conform.Vector, f *abi.Function, index uint32, way Way, other []byte) (err error) {
	p, err := newPlayer(m, f, index)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.i.Close()) }()
	as := conform.Usual
	switch way {
	case FreshInstances:
		p.fresh = true
	case OtherLayout:
		as, p.keeps, p.before = conform.Reversed, true, other
	}
	failed, err := v.PlayAs(p, as)
	if err != nil || v.Fault == "" {
		return err
	}
	last := &conform.Problem{Frame: len(v.Frames) - 1, Op: -1}
	if failed == nil {
		last.Text = fmt.Sprintf("it must end in the fault %s, and did not", v.Fault)
		return last
	}
	if kind := kindOf(failed); kind != v.Fault || !strings.Contains(failed.Error(), v.Message) {
		last.Text = fmt.Sprintf("it must end in the fault %s: %s; it ended in %s: %v", v.Fault, v.Message, kind, failed)
		return last
	}
	return nil
}

// kindOf is the kind of a fault by its name.
func kindOf(err error) string {
	var fault *sandbox.Fault
	var large *sandbox.TooLargeError
	switch {
	case errors.As(err, &fault):
		return fault.Kind.String()
	case errors.As(err, &large):
		return abi.FaultTooLarge.String()
	}
	return "an error"
}

// player is an instance as vectors see it.
type player struct {
	i      Instance
	index  uint32
	fresh  bool
	keeps  bool   // the buffer of the frame before, where the next one fits
	before []byte // the function is opened by this first
	opened bool
	states *conform.Store

	pointer uint32 // of the buffer that is kept
	room    int
}

func newPlayer(m Module, f *abi.Function, index uint32) (*player, error) {
	states, err := conform.NewStore(f)
	if err != nil {
		return nil, err
	}
	instance, err := m.New()
	if err != nil {
		return nil, &conform.Problem{Op: -1, Text: "no instance could be made: " + err.Error()}
	}
	instance.CallStates(states)
	return &player{i: instance, index: index, states: states}, nil
}

// Perform implements conform.Guest: it opens the function with the first frame.
func (p *player) Perform(_ uint32, frame []byte, owners []conform.Owner) (effects, after []byte, err error) {
	if err := p.states.Begin(frame, owners); err != nil {
		return nil, nil, err
	}
	if !p.opened {
		p.opened = true
		return p.open(frame)
	}
	if p.fresh {
		if err := p.i.Rebuild(); err != nil {
			return nil, nil, err
		}
	}
	if !p.keeps || len(frame) > p.room {
		_, pointer, err := p.i.In(len(frame))
		if err != nil {
			return nil, nil, err
		}
		p.pointer, p.room = pointer, len(frame)
	}
	copy(p.i.Frame(), frame)
	effects, err = p.i.Call(p.index, p.pointer, len(frame))
	if after = p.i.Frame(); len(after) > len(frame) {
		after = after[:len(frame)]
	}
	return effects, after, err
}

func (p *player) open(frame []byte) (effects, after []byte, err error) {
	if p.before != nil {
		if _, err := p.i.Open(p.index, p.before); err != nil {
			return nil, nil, err
		}
	}
	effects, err = p.i.Open(p.index, frame)
	return effects, frame, err
}

// Entries implements conform.Guest.
func (p *player) Entries(owner, state int) [][2][]byte { return p.states.Entries(owner, state) }
