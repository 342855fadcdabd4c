package conformance

import (
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
)

// Module is the module at test.
type Module interface {
	Manifest() *abi.Manifest
	// New makes an instance.
	New() (Instance, error)
}

// Result is what became of a vector; of a function that is not as it must be, there is
// one without a vector.
type Result struct {
	Suite    string `json:"suite"`
	Function string `json:"function"`
	Role     string `json:"role"`
	Case     string `json:"case,omitempty"`
	// Fresh is whether the instance was made anew before each frame.
	Fresh bool `json:"fresh,omitempty"`
	// Frame counts from 0, the opening; Op is what it was about, if one op is at fault.
	Frame   int    `json:"frame,omitempty"`
	Op      string `json:"op,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// Passed tells a vector that was played as it must be.
func (r *Result) Passed() bool { return r.Problem == "" }

// Report is what became of a suite.
type Report struct {
	Results []Result
	// Played are the functions that the module has, Absent those that it has not.
	Played, Absent []string
}

// Run plays a suite on a module. An error is the host's.
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
		for k := range s.Vectors {
			if v := &s.Vectors[k]; v.Function == i {
				if err := s.both(report, of, m, v, f, index); err != nil {
					return nil, err
				}
			}
		}
	}
	return report, nil
}

// both plays a vector on one instance, and on many.
func (s *Suite) both(report *Report, of Result, m Module, v *Vector, f *abi.Function, index int) error {
	of.Case = v.Name
	for _, of.Fresh = range []bool{false, true} {
		if of.Fresh && len(v.Frames) < 2 {
			continue // an instance is always new at its opening
		}
		instance, err := m.New()
		if err != nil {
			return fmt.Errorf("an instance could not be made: %w", err)
		}
		p := &player{v: v, function: f, index: uint32(index), i: instance, fresh: of.Fresh}
		result, failed := of, p.play()
		if err := instance.Close(); err != nil {
			return err
		}
		var at *problem
		switch {
		case errors.As(failed, &at):
			result.Frame, result.Problem = at.frame, at.text
			if ops := v.Frames[at.frame].Ops; at.op >= 0 && at.op < len(ops) {
				result.Op = ops[at.op]
			}
		case failed != nil:
			return fmt.Errorf("the vector %q: %w", v.Name, failed)
		}
		report.Results = append(report.Results, result)
	}
	return nil
}
