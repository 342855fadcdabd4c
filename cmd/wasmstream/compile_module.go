package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/wasmstream/wasmstream/host/sandbox"
)

// CompileModuleCommand is what the program starts itself as to compile a module, which
// is hostile until it ran. It limits itself first, reads the module from stdin, and
// leaves the code in the cache; a refusal is JSON on stdout.
type CompileModuleCommand struct {
	Job string `arg:"" help:"What to do, as JSON."`
}

// exitTooLong is how a compiling process ends that has used up its time.
const exitTooLong = 124

// Run implements the command.
func (c *CompileModuleCommand) Run(e *Env) error {
	var job sandbox.ChildJob
	if err := json.Unmarshal([]byte(c.Job), &job); err != nil {
		return &exitError{exitBadInput, err}
	}
	if err := limitProcess(job); err != nil {
		return fmt.Errorf("the process cannot be limited: %w", err)
	}
	go watchTime(job.CPU)
	wasm, err := io.ReadAll(io.LimitReader(e.Stdin, int64(job.ModuleBytesMax)+1))
	if err != nil {
		return err
	}
	err = sandbox.CompileChild(e.Context, job, wasm)
	var refused *sandbox.RefusedError
	if errors.As(err, &refused) {
		return &exitError{exitRefused, json.NewEncoder(e.Stdout).Encode(refused)}
	}
	return err
}

// watchTime ends the process when it has used its processor time: the system's own
// limit counts whole seconds.
func watchTime(most time.Duration) {
	for range time.Tick(10 * time.Millisecond) {
		if processorTime() > most {
			os.Exit(exitTooLong)
		}
	}
}

// saidMax bounds what is taken of what a compiling process says.
const saidMax = 16 << 10

// compileChild returns what starts the program as a process that compiles a module.
func compileChild(self string) sandbox.Child {
	return func(ctx context.Context, job sandbox.ChildJob, wasm []byte) error {
		text, err := json.Marshal(job)
		if err != nil {
			return err
		}
		timed, cancel := context.WithTimeout(ctx, job.Wall)
		defer cancel()
		var stdout, stderr head
		cmd := exec.CommandContext(timed, self, "compile-module", string(text))
		cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = []string{}, bytes.NewReader(wasm), &stdout, &stderr
		cmd.WaitDelay = time.Second
		err = cmd.Run()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case timed.Err() != nil:
			return fmt.Errorf("it took longer than %s by the clock: the machine is busy, try again; for a module that you trust, --compile-in-process does without", job.Wall)
		}
		return childEnded(err, job, stdout.text, string(stderr.text))
	}
}

// childEnded says what the end of a compiling process means.
func childEnded(err error, job sandbox.ChildJob, stdout []byte, stderr string) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("the process could not be started: %w; --compile-in-process does without", err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	switch code := exit.ExitCode(); {
	case code == exitRefused:
		refused := &sandbox.RefusedError{}
		if err := json.Unmarshal(stdout, refused); err != nil {
			return fmt.Errorf("the process answered what cannot be read: %w", err)
		}
		return refused
	case code == exitTooLong || code == -1 && exit.UserTime()+exit.SystemTime() >= job.CPU*9/10: // the system's signal for it is that of others, too
		return &sandbox.DiedError{Reason: fmt.Sprintf("compiling it takes more than %s of processor time", job.CPU), Slow: true}
	case strings.Contains(stderr, "out of memory") || strings.Contains(stderr, "cannot allocate memory") || strings.Contains(stderr, "pthread_create failed"):
		return &sandbox.DiedError{Reason: fmt.Sprintf("compiling it takes more than %d MiB of memory", job.MemoryBytesMax>>20)}
	case code == exitFailed || code == exitBadInput && !strings.Contains(stderr, "goroutine "):
		return errors.New(first)
	}
	return &sandbox.DiedError{Reason: strings.TrimSpace(exit.String() + " " + first)}
}

// head keeps the first bytes that are written to it.
type head struct{ text []byte }

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), saidMax-len(h.text))]...)
	return len(p), nil
}
