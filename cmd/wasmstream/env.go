package main

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/wasmstream/wasmstream/host/stream"
)

// Env is what a command gets from the process that it runs in. A test makes one
// of its own, so no command touches os.Stdout, the clock or a signal by itself.
type Env struct {
	Self           string // the program's file, to be started again
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	StdoutTerminal bool // whether Stdout is a terminal
	StderrTerminal bool // whether Stderr is a terminal
	StderrColumns  func() int
	Getenv         func(name string) (string, bool)
	Clock          stream.Clock
	Log            *slog.Logger

	// Context is done when the user interrupts; its cause is then an *exitError
	// with the exit code for the signal.
	Context context.Context
}

// The exit codes of every command, as --help and the README tell them.
const (
	exitOK          = 0
	exitFailed      = 1   // the job or a scenario failed
	exitBadInput    = 2   // wrong arguments, or a job file with problems
	exitRefused     = 3   // a module was refused
	exitHungUp      = 129 // SIGHUP
	exitInterrupted = 130 // SIGINT
	exitTerminated  = 143 // SIGTERM
)

// exitError is an error that decides the exit code. Without an err nothing is
// printed: the command has said all there is to say.
type exitError struct {
	code int
	err  error
}

// Error implements error.
func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap gives the reason.
func (e *exitError) Unwrap() error { return e.err }

// exitCode is the code that a command's error ends the process with: that of an
// exitError in it, else exitFailed.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	return exitFailed
}
