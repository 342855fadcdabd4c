//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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
	for s, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
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

// TestASignalBeforeAnyCheckpoint: what the next run does is said as it is.
func TestASignalBeforeAnyCheckpoint(t *testing.T) {
	for _, c := range []struct{ before, meanwhile, want string }{
		{"state/1-000003.manifest", "state/other", "no checkpoint is complete in state, so the next run begins anew"}, // one of a history that is over
		{"state/other", "state/1-000001.manifest", "the next run goes on from the newest checkpoint in state"},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		folder := t.TempDir()
		write(t, filepath.Join(folder, "job.yaml"), change(t, "sources:\n", "checkpoint: {dir: state, interval: 1h}\nsources:\n"))
		write(t, filepath.Join(folder, c.before), "")
		pipe := filepath.Join(folder, "flights.ndjson")
		if err := syscall.Mkfifo(pipe, 0o644); err != nil {
			t.Skip(err) // a file system without named pipes
		}
		input, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that the input does not end
		if err != nil {
			t.Fatal(err)
		}
		defer input.Close()
		cmd := command(ctx, folder, "run", "job.yaml", "--fresh")
		said, rest := startUntil(t, cmd, "job started")
		write(t, filepath.Join(folder, c.meanwhile), "")
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		more, err := io.ReadAll(rest)
		if _ = cmd.Wait(); err != nil || !strings.Contains(string(more), c.want) {
			t.Errorf("%v\n%s%s", err, said, more)
		}
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
		t.Skip(err) // a file system without named pipes
	}
	write(t, filepath.Join(folder, "job.yaml"), base)
	cmd := command(ctx, folder, "run", "job.yaml")
	startUntil(t, cmd, "job started")
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

// TestSignalsAtAnyMoment: whenever signals come, one or two of them as timeout
// sends, a run leaves what was there, or all of its result, and nothing else. A
// signal that comes before the run listens may kill it, and it is not to be seen
// from what is left whether one did.
func TestSignalsAtAnyMoment(t *testing.T) {
	const seed, runs, workers = 7, 240, 8
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(w)))
			folder := sandboxed(t)
			for range runs / workers {
				delays := []time.Duration{time.Duration(random.Int64N(int64(110 * time.Millisecond)))}
				if random.IntN(3) > 0 {
					delays = append(delays, time.Duration(random.Int64N(int64(5*time.Millisecond))))
				}
				signalledAt(t, folder, delays, [...]syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}[random.IntN(3)])
			}
		})
	}
	group.Wait()
}

// signalledAt runs a job and sends a signal after each of the delays.
func signalledAt(t *testing.T, folder string, delays []time.Duration, s syscall.Signal) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cmd := command(ctx, folder, "run", "jobs/hourly-delays-builtin.yaml")
	stderr := new(bytes.Buffer)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return
	}
	var first time.Time
	for i, d := range delays {
		<-time.After(d)
		if i == 0 {
			first = time.Now()
		}
		_ = cmd.Process.Signal(s) // it may have ended meanwhile
	}
	together := time.Since(first) < togetherMax
	_ = cmd.Wait() // how it ends is looked at below
	if !together {
		t.Logf("%s after %v: a busy machine has made two of what was to be one", s, delays)
		removeResults(t, folder)
		return
	}
	state := cmd.ProcessState
	killed := state.Sys().(syscall.WaitStatus).Signaled()
	if code := state.ExitCode(); !killed && code != exitOK && code != 128+int(s) {
		t.Errorf("%s after %v: exit code %d\n%s", s, delays, code, stderr)
	}
	if killed && strings.Contains(stderr.String(), "job started") {
		t.Errorf("%s after %v killed a run that listens\n%s", s, delays, stderr)
	}
	list, err := os.ReadDir(filepath.Join(folder, "jobs/out"))
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	for _, f := range list {
		if strings.HasSuffix(f.Name(), ".part") {
			t.Errorf("%s after %v: %s is left behind\n%s", s, delays, f.Name(), stderr)
		}
	}
	if len(list)%2 != 0 {
		t.Errorf("%s after %v: %d of 2 results", s, delays, len(list))
	}
	removeResults(t, folder)
}

func removeResults(t *testing.T, folder string) {
	if err := os.RemoveAll(filepath.Join(folder, "jobs/out")); err != nil {
		t.Error(err)
	}
}

// TestSlowFunctionsDoNotHoldUpTheEnd: SIGTERM ends a run between the calls of a function
// that takes long for each record, and not behind the batch at hand, which takes minutes.
func TestSlowFunctionsDoNotHoldUpTheEnd(t *testing.T) {
	folder := sandboxed(t)
	write(t, filepath.Join(folder, "in.ndjson"), strings.Repeat(`{"k":1,"n":13}`+"\n", 20_000))
	write(t, filepath.Join(folder, "job.yaml"), greedyJob("limits: {fuel: 1000000000, fuel-per-op: 1000000000}\n", "{from: in, map: {wasm: greedy.burn, with: {n: 30000000}}}"))
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cmd := command(ctx, folder, "run", "job.yaml")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(stderr)
	for { // until the function is asked
		line, err := said.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "burning") {
			break
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, said)
	_ = cmd.Wait() // it tells the exit code
	if code := cmd.ProcessState.ExitCode(); code != 143 || ctx.Err() != nil {
		t.Errorf("exit code %d, want 143 within %s", code, deadline)
	}
	if _, err := os.Stat(filepath.Join(folder, "out.ndjson")); err == nil {
		t.Error("there is a result")
	}
}
