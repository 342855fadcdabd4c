package conformance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/abi/conform"
)

// later are frames that only a later version of the ABI could have.
var later = []struct {
	name  string
	alter func(frame []byte, h abi.Header)
}{
	{"a frame of another version", func(frame []byte, _ abi.Header) {
		binary.LittleEndian.PutUint32(frame[abi.HeaderAtVersion:], abi.Version+1)
	}},
	{"an op of an unknown kind", func(frame []byte, h abi.Header) {
		op := abi.ReadOp(frame, int(h.OpsOffset))
		op.Kind = unknownOp
		abi.PutOp(frame, int(h.OpsOffset), op)
	}},
}

// unknownOp is a kind that no version will have.
const unknownOp abi.OpKind = 0xFFFF

// versions asks a function, as its first vector with a second frame does, what a later version would.
func (r *Report) versions(of Result, m Module, vectors []*conform.Vector, f *abi.Function, index uint32) error {
	of.Way = OtherVersions
	for _, v := range vectors {
		if len(v.Frames) < 2 || v.Fault != "" {
			continue
		}
		for _, l := range later {
			of.Case, of.Frame, of.Problem = l.name, 0, ""
			err := refuses(m, v, f, index, l.alter)
			var problem *conform.Problem
			switch {
			case errors.As(err, &problem):
				of.Frame, of.Problem = 1, problem.Text
			case err != nil:
				return fmt.Errorf("%s: %w", l.name, err)
			}
			r.Results = append(r.Results, of)
		}
		return nil
	}
	return nil
}

// refuses makes sure that the second frame of a vector, altered, ends in fail.
func refuses(m Module, v *conform.Vector, f *abi.Function, index uint32, alter func([]byte, abi.Header)) (err error) {
	p, err := newPlayer(m, f, index)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.i.Close()) }()
	if _, _, err := p.open(v.Frames[0].Frame); err != nil {
		return &conform.Problem{Op: -1, Text: "its opening ended in a fault: " + err.Error()}
	}
	frame := bytes.Clone(v.Frames[1].Frame)
	h, err := abi.ReadHeader(frame)
	if err != nil {
		return err
	}
	alter(frame, h)
	room, pointer, err := p.i.In(len(frame))
	if err != nil {
		return &conform.Problem{Op: -1, Text: err.Error()}
	}
	copy(room, frame)
	_, err = p.i.Call(index, pointer, len(frame))
	switch {
	case err == nil:
		return &conform.Problem{Op: -1, Text: "it must be refused by fail, and was answered"}
	case kindOf(err) != abi.FaultFailed.String():
		return &conform.Problem{Op: -1, Text: fmt.Sprintf("it must be refused by fail; it ended in %s: %v", kindOf(err), err)}
	}
	return nil
}
