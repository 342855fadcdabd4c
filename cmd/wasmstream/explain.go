package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/stream"
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
	var function *runtime.FunctionError
	if errors.As(err, &function) {
		return explainFault(err, function)
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
// went wrong in place of the fault's own text, and then where.
func explainFault(err error, failed *runtime.FunctionError) error {
	what, backtrace := failed.Err.Error(), []string(nil)
	var fault *sandbox.Fault
	var answer *abi.Fault
	if errors.As(failed.Err, &fault) {
		what, backtrace = fmt.Sprintf("%s: %s", fault.Kind, fault.Message), fault.Backtrace
	} else if errors.As(failed.Err, &answer) {
		what = fmt.Sprintf("%s: %s", answer.Kind, answer.Detail)
	}
	f := failed.Function
	short := fmt.Sprintf("function %s: %s", f.Name, what)
	text := oneLine(strings.Replace(err.Error(), failed.Error(), short, 1))
	text += fmt.Sprintf("\n    in module %s (%s)", f.Module.Name, shownPath(f.Module.Path))
	var opening *guest.OpenError
	switch {
	case errors.As(failed.Err, &opening) && opening.Again:
		text += "\n    as it was opened again, after a fault"
	case failed.Where != "":
		text += "\n    in a call for " + oneLine(failed.Where)
	default:
		text += "\n    as it was opened"
	}
	for i, function := range backtrace {
		if i == backtraceMax {
			text += fmt.Sprintf("\n    … and %d more", len(backtrace)-i)
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

// oneLine makes text that comes from a guest or a record one line that is safe for a terminal.
func oneLine(text string) string {
	return stream.Printable(strings.NewReplacer("\n", " ", "\t", " ", "\r", " ").Replace(text))
}

// printableLines is the same for text of several lines.
func printableLines(text string) string {
	parts := strings.Split(text, "\n")
	for i, line := range parts {
		parts[i] = stream.Printable(line)
	}
	return strings.Join(parts, "\n")
}
