package main

import "io"

// output is standard output. It keeps the first error, so that no command has to
// look at each line that it prints.
type output struct {
	w   io.Writer
	err *outputError
}

// outputError is that output could not be written.
type outputError struct{ err error }

// Error implements error.
func (e *outputError) Error() string { return "the output could not be written: " + e.err.Error() }

// Unwrap is the cause.
func (e *outputError) Unwrap() error { return e.err }

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(b)
	if err != nil {
		o.err = &outputError{err}
		return n, o.err
	}
	return n, nil
}
