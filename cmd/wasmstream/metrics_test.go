//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// watched is a run that can be watched.
type watched struct {
	*testing.T
	*exec.Cmd
	url    string
	ctx    context.Context
	stdout bytes.Buffer
	said   chan string // all of stderr, when it has ended
}

// watchRun starts `run job.yaml` with --metrics and reads in the log where that is.
func watchRun(t *testing.T, folder string, flags ...string) *watched {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	w := &watched{T: t, ctx: ctx, said: make(chan string, 1)}
	w.Cmd = command(ctx, folder, append([]string{"run", "job.yaml", "--metrics", "127.0.0.1:0"}, flags...)...)
	w.Stdout = &w.stdout
	stderr, err := w.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	lines, all := bufio.NewScanner(stderr), ""
	for w.url == "" && lines.Scan() {
		all += lines.Text() + "\n"
		if m := regexp.MustCompile(`url=(http://127\.0\.0\.1:\d+)/metrics`).FindStringSubmatch(lines.Text()); m != nil {
			w.url = m[1]
		}
	}
	if w.url == "" {
		t.Fatalf("the log names no address\n%s", all)
	}
	go func() {
		for lines.Scan() {
			all += lines.Text() + "\n"
		}
		w.said <- all
	}()
	return w
}

// end waits for the run and returns its exit code and stderr.
func (w *watched) end() (code int, stderr string) {
	stderr = <-w.said
	_ = w.Wait() // the exit code tells
	return w.ProcessState.ExitCode(), stderr
}

// get asks; status is 0 if nobody answers.
func (w *watched) get(path string) (status int, body string) {
	request, err := http.NewRequestWithContext(w.ctx, http.MethodGet, w.url+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}

// value is the value of a metric whose labels have these values among them.
func (w *watched) value(name string, labels ...string) (float64, bool) {
	w.Helper()
	status, text := w.get("/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if status != http.StatusOK || err != nil {
		w.Fatalf("status %d, %v\n%s", status, err, text)
	}
	f := families[name]
	if f == nil {
		return 0, false
	}
	for _, m := range f.Metric {
		values := ""
		for _, l := range m.Label {
			values += " " + l.GetValue()
		}
		if values == " "+strings.Join(labels, " ") {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue(), true
		}
	}
	return 0, false
}

// until asks until something holds.
func (w *watched) until(what string, holds func() bool) {
	w.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-w.ctx.Done():
			w.Fatalf("%s: it did not come to that within %s", what, deadline)
		}
	}
}

// pipe makes a named pipe in a folder.
func pipe(t *testing.T, folder string) string {
	t.Helper()
	path := filepath.Join(folder, "flights.ndjson")
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Skip(err) // a file system without named pipes
	}
	return path
}

func feed(t *testing.T, path string) *os.File {
	t.Helper()
	input, err := os.OpenFile(path, os.O_WRONLY, 0) // waits for the reader
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { input.Close() })
	if _, err := input.WriteString(read(t, filepath.Join(testdata, "flights-20k.ndjson"))); err != nil {
		t.Fatal(err)
	}
	return input
}

// TestRunMetrics watches a run on a pipe. The file has 20,000 flights, of which 67 are
// too late, and the job has nobody for them.
func TestRunMetrics(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "job.yaml"), change(t, ", late-output: late", ""))
	path := pipe(t, folder)
	w := watchRun(t, folder)
	input := feed(t, path)
	w.until("all records are there", func() bool {
		n, _ := w.value("wasmstream_task_numRecordsIn", "hourly-delays", "step", "hourly", "0")
		return n == 20_000
	})
	for _, c := range []struct {
		want   float64
		name   string
		labels string
	}{
		{20_000, "wasmstream_task_numRecordsOut", "hourly-delays source flights 0"},
		{67, "wasmstream_task_numLateRecordsDropped", "hourly-delays step hourly 0"},
		{0, "wasmstream_job_numRestarts", "hourly-delays"},
	} {
		if got, there := w.value(c.name, strings.Split(c.labels, " ")...); !there || got != c.want {
			t.Errorf("%s is %v (there: %v), want %v", c.name, got, there, c.want)
		}
	}
	now := float64(time.Now().UnixMilli())
	lag, _ := w.value("wasmstream_split_watermarkLag", "false", "hourly-delays", "flights", "")
	at, _ := w.value("wasmstream_task_currentOutputWatermark", "hourly-delays", "source", "flights", "0")
	if off := now - at - lag; off > float64(deadline.Milliseconds()) || off < -float64(deadline.Milliseconds()) {
		t.Errorf("the watermark %v is said to be %v behind %v", at, lag, now)
	}
	for _, path := range []string{"/health", "/ready"} {
		if status, text := w.get(path); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	if code, stderr := w.end(); code != exitOK {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if status, _ := w.get("/health"); status != 0 {
		t.Error("somebody answers after the end")
	}
}

// TestRunFunctionMetrics: what a function costs is told while the job runs, with and
// without a recording. Each flight is one op at least, and an op of this function takes some
// dozens of instructions.
func TestRunFunctionMetrics(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--record", "calls"}} {
		folder := t.TempDir()
		write(t, filepath.Join(folder, "m.wasm"), read(t, wasmFile("delays-c")))
		write(t, filepath.Join(folder, "job.yaml"), wasmJob(t, "m.wasm", "delays"))
		path := pipe(t, folder)
		w := watchRun(t, folder, flags...)
		input := feed(t, path)
		of := func(name string) float64 {
			v, there := w.value("wasmstream_function_"+name, "m.delays", "hourly-delays", "step", "hourly", "aggregate", "0")
			if !there {
				t.Fatalf("no %s", name)
			}
			return v
		}
		w.until("all records are there", func() bool { return of("numOps") >= 20_000-67 })
		if fuel := of("fuel") / of("numOps"); fuel < 5 || fuel > 2000 {
			t.Errorf("%v of fuel for an op", fuel)
		}
		if calls := of("numCalls"); calls < 1 || calls > of("numOps") {
			t.Errorf("%v calls for %v ops", calls, of("numOps"))
		}
		if memory := of("peakMemoryBytes"); memory < 1<<16 || memory > 64<<20 {
			t.Errorf("%v bytes of memory", memory)
		}
		if of("instances") != 1 || of("numInstancesRebuilt") != 0 {
			t.Errorf("%v instances, %v rebuilt", of("instances"), of("numInstancesRebuilt"))
		}
		if v, there := w.value("wasmstream_function_numFaults", "trap", "m.delays", "hourly-delays", "step", "hourly", "aggregate", "0"); !there || v != 0 {
			t.Errorf("%v traps (there: %v)", v, there)
		}
		if err := input.Close(); err != nil {
			t.Fatal(err)
		}
		if code, stderr := w.end(); code != exitOK {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
	}
}

// TestNotReadyWhileItWaits: a job whose result another run is writing is not ready, and
// says why; it is ready when the other has gone.
func TestNotReadyWhileItWaits(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "job.yaml"), change(t, "name: hourly-delays\n", "name: hourly-delays\nrestart: {fixed-delay: {delay: 200ms, attempts: 1000}}\n"))
	input := pipe(t, folder)
	free := lockPart(t, folder)
	w := watchRun(t, folder, "--json")
	w.until("it waits", func() bool {
		status, text := w.get("/ready")
		return status == http.StatusServiceUnavailable && strings.Contains(text, "the job failed and is started again after 200ms: sink delays: cannot write out/firings.ndjson: another run is writing it")
	})
	if status, text := w.get("/health"); status != http.StatusOK {
		t.Errorf("health: %d %s", status, text)
	}
	free()
	fed := feed(t, input)
	w.until("it is ready", func() bool { status, _ := w.get("/ready"); return status == http.StatusOK })
	restarts, _ := w.value("wasmstream_job_numRestarts", "hourly-delays")
	if restarts < 1 {
		t.Errorf("%v restarts", restarts)
	}
	if err := fed.Close(); err != nil {
		t.Fatal(err)
	}
	code, stderr := w.end()
	var result runResult
	if err := json.Unmarshal(w.stdout.Bytes(), &result); err != nil || code != exitOK {
		t.Fatalf("exit code %d, %v\n%s", code, err, stderr)
	}
	if result.Restarts != int64(restarts) {
		t.Errorf("%d restarts in the result, %v before", result.Restarts, restarts)
	}
}

func TestMetricsAddress(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "job.yaml"), base)
	write(t, filepath.Join(folder, "flights.ndjson"), sound)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	run(t, folder, "run", "--metrics", address, "job.yaml").expect(t, exitBadInput, "--metrics: cannot listen on "+address+": address already in use")
	run(t, folder, "run", "--metrics", "9249", "job.yaml").expect(t, exitBadInput, `--metrics: "9249" is no address: missing port in address; it is host:port, such as 127.0.0.1:9249`)
}

// TestCheckpointsInTheResult: the last checkpoint, at the end of the input, is counted.
func TestCheckpointsInTheResult(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "job.yaml"), change(t, "name: hourly-delays\n", "name: hourly-delays\ncheckpoint: {dir: state, interval: 1h}\n"))
	write(t, filepath.Join(folder, "flights.ndjson"), sound)
	if got := runJSON(t, folder, exitOK); got.Checkpoints == nil || *got.Checkpoints != (checkpointResult{Completed: 1}) || got.Restarts != 0 {
		t.Errorf("%+v, %d restarts", got.Checkpoints, got.Restarts)
	}
	o := run(t, folder, "run", "--fresh", "job.yaml")
	o.expect(t, exitOK)
	if !regexp.MustCompile(`(?m)^  checkpoints +1$`).MatchString(o.stdout) {
		t.Errorf("the summary does not tell of the checkpoint\n%s", o.stdout)
	}
}
