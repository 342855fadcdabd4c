//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// started is a run that goes on for as long as its input does not end.
type started struct {
	*exec.Cmd
	folder string
	input  *os.File // the pipe that it reads
	stderr bytes.Buffer
}

// start runs the base job on a named pipe, feeds it with some records, and waits
// until it writes.
func start(t *testing.T) *started {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	s := &started{folder: t.TempDir()}
	pipe := filepath.Join(s.folder, "flights.ndjson")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Skip(err) // a file system without named pipes
	}
	write(t, filepath.Join(s.folder, "job.yaml"), base)
	write(t, s.result(), "from before\n")
	s.Cmd = command(ctx, s.folder, "run", "job.yaml")
	s.Stderr = &s.stderr
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.input, err = os.OpenFile(pipe, os.O_WRONLY, 0); err != nil { // waits for the reader
		t.Fatal(err)
	}
	t.Cleanup(func() { s.input.Close() })
	flights, err := os.ReadFile(filepath.Join(testdata, "flights-20k.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.input.Write(flights); err != nil {
		t.Fatal(err)
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for !s.writes() {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("the run did not begin to write within %s", deadline)
		}
	}
	return s
}

func (s *started) result() string { return filepath.Join(s.folder, "out/firings.ndjson") }

// writes tells whether there is a half file, with something in it.
func (s *started) writes() bool {
	info, err := os.Stat(filepath.Join(s.folder, "out/.firings.ndjson.part"))
	return err == nil && info.Size() > 0
}

func TestSignalsEndARunCleanly(t *testing.T) {
	for s, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			r := start(t)
			if err := r.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			_ = r.Wait() // an exit code that is not 0 is what is expected
			if code := r.ProcessState.ExitCode(); code != want {
				t.Errorf("exit code %d, want %d\n%s", code, want, r.stderr.String())
			}
			if got := read(t, r.result()); got != "from before\n" {
				t.Errorf("the result of an earlier run became %.100q", got)
			}
			if r.writes() {
				t.Error("the half file is left behind")
			}
			if !strings.Contains(r.stderr.String(), "nothing was written") {
				t.Errorf("stderr:\n%s", r.stderr.String())
			}
		})
	}
}

func TestTheEndOfAPipeEndsTheRun(t *testing.T) {
	t.Parallel()
	r := start(t)
	if err := r.input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, r.stderr.String())
	}
	if lines := strings.Count(read(t, r.result()), "\n"); lines != 17648 {
		t.Errorf("%d rows, want 17648", lines)
	}
}

// TestASignalAgainKills is about a run that cannot end by itself, or does so
// slowly: it waits for somebody to write into its pipe.
func TestASignalAgainKills(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	folder := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(folder, "flights.ndjson"), 0o644); err != nil {
		t.Skip(err)
	}
	write(t, filepath.Join(folder, "job.yaml"), base)
	cmd := command(ctx, folder, "run", "job.yaml")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var told []byte
	for buffer := make([]byte, 1024); !bytes.Contains(told, []byte("job started")); {
		n, err := stderr.Read(buffer)
		if err != nil {
			t.Fatalf("%v after %s", err, told)
		}
		told = append(told, buffer[:n]...)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ends is looked at below
	}()
	for {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended meanwhile
		select {
		case <-ended:
			if ctx.Err() != nil {
				t.Error("it had to be killed otherwise")
			}
			return
		case <-time.After(20 * time.Millisecond): // the signals must not become one
		}
	}
}
