package sim

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/sim/disk"
)

// errInjected is every fault that is a call's answer, and errFull that of a full disk.
var (
	errInjected = errors.New("injected")
	errFull     = errors.New("the disk is full (injected)")
	errGone     = errors.New("the process has ended")
)

// The streams of random numbers of a seed. Each has a purpose of its own, so that a change of one does not move the others.
const (
	drawJob uint64 = iota
	drawInput
	drawFates
	drawLives
	drawReference
	drawWorld
)

func generator(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// world is what outlives a process.
type world struct {
	rand   *rand.Rand // of what the outside does by itself
	clock  *clock
	disk   *disk.Disk
	logs   map[string]*sourceLog
	topics map[string]*topic
	files  map[string]*outFile
	trace  *trace
	life   *life // the present process; nil: none

	checkpointed bool // the job has checkpoints
	manifests    map[int64]*checkpoint.Manifest
	newest       int64          // epoch of the newest manifest that is known to be durable
	noted        map[int64]bool // epochs of which it is known that their note is durable
	committed    int64          // the newest epoch of which any sink has committed something
	repeats      bool           // a checkpoint that was committed has rotted
	findings     []string
	merged       map[string]bool // files that were made of several
	counts       counts
}

// counts tell what happened in a run.
type counts struct {
	checkpoints, fallbacks int
}

func newWorld(seed uint64, plan *job.Job, spec *Spec, to io.Writer) *world {
	w := &world{
		rand: generator(seed, drawWorld), clock: &clock{now: 1_000_000}, disk: disk.New(seed),
		logs: map[string]*sourceLog{}, topics: map[string]*topic{}, files: map[string]*outFile{},
		manifests: map[int64]*checkpoint.Manifest{}, noted: map[int64]bool{}, merged: map[string]bool{},
	}
	w.trace = &trace{to: to, w: w}
	input := generator(seed, drawInput)
	for _, s := range plan.Sources {
		w.logs[s.Name] = newSourceLog(w, s, spec, input)
	}
	for _, s := range plan.Sinks {
		if s.Connector.KafkaSink != nil {
			w.topics[s.Name] = &topic{world: w, name: s.Name, ids: map[string]*transaction{}}
		} else {
			w.files[s.Name] = &outFile{world: w, name: s.Name}
		}
	}
	return w
}

func (w *world) log() *slog.Logger { return slog.New(handler{w.trace}) }

// find notes something that must not happen.
func (w *world) find(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.trace.say("FOUND: %s", text)
	const findingsMax = 20
	if len(w.findings) < findingsMax {
		w.findings = append(w.findings, text)
	}
}

// sink is a new process's part of a sink.
func (w *world) sink(l *life, s *job.Sink) (connector.Sink, error) {
	if t := w.topics[s.Name]; t != nil {
		return &topicSink{topic: t, life: l}, nil
	}
	return &fileSink{file: w.files[s.Name], life: l}, nil
}

// manifestPut notes a manifest that is durable.
func (w *world) manifestPut(m *checkpoint.Manifest) {
	for _, s := range m.Steps {
		for _, f := range s.Files {
			if n, ok := checkpoint.ParseName(f.Name); ok && n.Epoch > f.Epoch { // a merged file is named by an epoch of its own
				w.merged[f.Name] = true
			}
		}
	}
	w.manifests[m.Epoch] = m
	w.newest = max(w.newest, m.Epoch)
}

// handover is what the newest durable manifest has of a sink.
func (w *world) handover(sink string) (b []byte, epoch int64) {
	m := w.manifests[w.newest]
	if m == nil {
		return nil, 0
	}
	for _, s := range m.Sinks {
		if s.Name == sink {
			return s.Handover, m.Epoch
		}
	}
	return nil, 0
}

// final tells whether every sink has committed its last hand-over.
func (w *world) final() bool {
	for _, t := range w.topics {
		if !t.final {
			return false
		}
	}
	for _, f := range w.files {
		if !f.final {
			return false
		}
	}
	return true
}

// crash is what happens to the outside when a process ends without notice, or with the power.
func (w *world) crash(power bool) {
	w.clock.Alarm(0, nil)
	w.disk.Inject(nil)
	w.disk.Limit(0, nil)
	if power {
		w.disk.Crash()
	} else {
		w.disk.Kill()
	}
	for _, f := range w.files {
		f.crash(power)
	}
}
