package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/sandbox"
)

// locatedError is an error whose text begins with a place in a file.
type locatedError struct {
	text string
	err  error
}

// Error implements error.
func (e *locatedError) Error() string { return e.text }

// Unwrap is the cause.
func (e *locatedError) Unwrap() error { return e.err }

// explain turns an error of a running job into what a user wants to read: the
// record's file and line instead of its source and number, and a guest's fault
// with the way to it.
func explain(plan *job.Job, err error) error {
	var record *runtime.RecordError
	if errors.As(err, &record) {
		return locate(plan, record)
	}
	var fault *sandbox.Fault
	if errors.As(err, &fault) {
		return explainFault(plan, err, fault)
	}
	return err
}

// locate names a record by its file and line.
func locate(plan *job.Job, r *runtime.RecordError) error {
	for _, s := range plan.Sources {
		if s.Name == r.Source && s.Connector.File != nil {
			return &locatedError{fmt.Sprintf("%s:%d: %s", shownPath(s.Connector.File.Path), r.Record+1, oneLine(r.Err.Error())), r}
		}
	}
	return r
}

// backtraceMax is how many functions of a backtrace are worth reading.
const backtraceMax = 8

// explainFault tells step and function, as the engine has wrapped the fault, what
// went wrong, and then where in the guest.
func explainFault(plan *job.Job, err error, f *sandbox.Fault) error {
	what := fmt.Sprintf("%s: %s", f.Kind, f.Message)
	text := oneLine(strings.Replace(err.Error(), f.Error(), what, 1))
	for _, m := range plan.Modules {
		if m.Name == f.Module {
			text += fmt.Sprintf("\n    in module %s (%s), called by %s", m.Name, shownPath(m.Path), f.Entry)
		}
	}
	for i, function := range f.Backtrace {
		if i == backtraceMax {
			text += fmt.Sprintf("\n    … and %d more", len(f.Backtrace)-i)
			break
		}
		text += "\n    at " + oneLine(function)
	}
	return &faultError{text, err}
}

// faultError is a guest's fault, told for people.
type faultError struct {
	text string
	err  error
}

// Error implements error.
func (e *faultError) Error() string { return e.text }

// Unwrap is the error as the engine gave it.
func (e *faultError) Unwrap() error { return e.err }

// oneLine makes text that comes from a guest or a record safe for a terminal:
// control characters, which could do anything there, become spaces.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
