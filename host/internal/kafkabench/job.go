package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// job is what a job file says.
type job struct {
	in, out  string // topics
	bounded  bool
	window   string
	source   string // more of the watermark
	top      string // more at the top
	interval string
	delivery string
}

// text is the job file. The consumer group shows how far the job is.
func (j *job) text(at, name string) string {
	bounded, prefix := "", ""
	if j.bounded {
		bounded = ", bounded: true"
	}
	if j.delivery == "exactly-once" {
		prefix = ", transactional-id-prefix: " + name
	}
	return fmt.Sprintf(`version: 1
name: bench
%[1]scheckpoint: {dir: state, interval: %[2]s}
sources:
  clicks:
    kafka: {brokers: [%[3]q], topics: [%[4]s], format: json, start: earliest, group: %[5]s%[6]s}
    schema: {user_id: STRING, ts: TIMESTAMP(3)}
    event-time: ts
    watermark: {%[7]s}
steps:
  counts: {from: clicks, key-by: [user_id], window: {tumbling: {size: %[8]s}}, aggregate: {n: count}}
sinks:
  out: {from: counts, kafka: {brokers: [%[3]q], topic: %[9]s, format: json, key: [user_id], delivery: %[10]s%[11]s}}
`, j.top, j.interval, at, j.in, name, bounded, j.source, j.window, j.out, j.delivery, prefix)
}

// process is a job that runs.
type process struct {
	name    string // of its consumer group, too
	command *exec.Cmd
	out     bytes.Buffer // the result
	log     bytes.Buffer
	ended   chan error
	peakMB  float64 // as of the last look
}

// start runs the command on its processor.
func (b *bench) start(j *job) (*process, error) {
	b.started++
	p := &process{name: fmt.Sprintf("bench-%d-%d", os.Getpid(), b.started), ended: make(chan error, 1)}
	folder := filepath.Join(b.folder, p.name)
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "job.yaml")
	if err := os.WriteFile(path, []byte(j.text(b.at, p.name)), 0o600); err != nil {
		return nil, err
	}
	arguments := []string{"-c", jobCore, b.binary, "run", "--json", "--log-level", "warn", path}
	if b.profile != "" {
		arguments = append(arguments, "--cpuprofile", b.profile)
	}
	p.command = exec.Command("taskset", arguments...)
	p.command.Env = append(os.Environ(), "GOMAXPROCS=1")
	p.command.Stdout, p.command.Stderr = &p.out, &p.log
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.command.Wait() }()
	return p, nil
}

// look notes the peak of the memory so far. What the system tells at the end would not do: that counts what this
// process had when it started the other.
func (p *process) look() {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return // it has ended
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	if kb, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(line, "kB")), 64); err == nil {
		p.peakMB = kb / 1024
	}
}

// failed says how the job ended, with what it logged.
func (p *process) failed() error {
	return fmt.Errorf("the job has ended, %s, and said:\n%s", p.command.ProcessState, p.log.String())
}

// stopMax is how long a job may take to end when it is asked to.
const stopMax = 20 * time.Second

// stop asks the job to end, and waits.
func (p *process) stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopMax):
		return errors.Join(errors.New("the job does not end when it is asked to"), p.command.Process.Kill())
	}
}

// cpu is the processor time that a job took that has ended.
func (p *process) cpu() time.Duration {
	s := p.command.ProcessState
	return s.UserTime() + s.SystemTime()
}
