package scenario

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// modules finds the bytes of a job's modules: sections of the scenario, or files.
type modules struct {
	s    *Scenario
	o    *Options
	dir  string // the job's folder
	wasm map[string][]byte
}

var errNoFiles = errors.New("there is no such section, and no other files may be read")

// read gives a module's bytes; a path is read once.
func (m *modules) read(file string) ([]byte, error) {
	if wasm, ok := m.wasm[file]; ok {
		return wasm, nil
	}
	if name, err := filepath.Rel(m.dir, file); err == nil {
		if wasm, ok := m.s.files[path.Clean(filepath.ToSlash(name))]; ok {
			return wasm, nil
		}
	}
	if m.o.ReadFile == nil {
		return nil, errNoFiles
	}
	wasm, err := m.o.ReadFile(file)
	if err == nil {
		m.wasm[file] = wasm
	}
	return wasm, err
}

func (m *modules) manifest(module job.Module) (*abi.Manifest, error) {
	wasm, err := m.read(module.Path)
	if err != nil {
		return nil, err
	}
	return m.o.Manifest(module, wasm)
}

func (m *modules) guest(f *job.Function) (runtime.Guest, error) {
	wasm, err := m.read(f.Module.Path)
	if err != nil {
		return nil, err
	}
	return m.o.Guest(f, wasm)
}

// outputs opens a function whose input is any, for job.Options.
func (m *modules) outputs(f *job.Function) (map[uint32]string, error) {
	instance, err := m.guest(f)
	if err != nil {
		return nil, err
	}
	return runtime.OutputsOf(instance, f)
}

// plan parses the scenario's job. An error of type Errors is about the scenario
// itself; one of type job.Problems has its lines in the files that it names.
func (s *Scenario) plan(o *Options) (*job.Job, *modules, error) {
	m := &modules{s: s, o: o, dir: filepath.Dir(s.path), wasm: map[string][]byte{}}
	text, file, before := s.job, s.path, s.jobLine
	if text == nil {
		file, before = s.jobFile, 0
		if !filepath.IsAbs(file) {
			file = filepath.Join(m.dir, filepath.FromSlash(file))
		}
		m.dir = filepath.Dir(file)
		err := errNoFiles
		if o.ReadFile != nil {
			text, err = o.ReadFile(file)
		}
		if err != nil {
			return nil, nil, Errors{{s.path, s.jobLine + 1, fmt.Sprintf("the job file %s cannot be read: %v", s.jobFile, err)}}
		}
	}
	options := job.Options{File: file, Dir: m.dir, Getenv: o.Getenv, Zone: time.LoadLocation, Test: true}
	if o.Manifest != nil {
		options.Manifest = m.manifest
	}
	if o.Guest != nil {
		options.Open = m.outputs
	}
	plan, err := job.Parse(text, options)
	var problems job.Problems
	if errors.As(err, &problems) {
		for i := range problems {
			if problems[i].Line > 0 {
				problems[i].Line += before
			}
		}
		return nil, nil, problems
	}
	if err == nil && o.Twins != "" {
		plan, err = s.twins(text, plan, o, options)
	}
	if err == nil && o.Parallelism > 0 {
		other := *plan
		other.Parallelism = min(o.Parallelism, plan.MaxParallelism)
		plan = &other
	}
	return plan, m, err
}

// twins is the plan with twins in the place of built-in parts. A problem with it is not
// the scenario's: lines of its text are nowhere to be found.
func (s *Scenario) twins(text []byte, plan *job.Job, o *Options, options job.Options) (*job.Job, error) {
	path := o.Twins
	if !filepath.IsAbs(path) {
		path = filepath.Join(options.Dir, path)
	}
	manifest, err := options.Manifest(job.Module{Name: twinsModule, Path: path})
	if err != nil {
		return nil, fmt.Errorf("the twins %s: %w", o.Twins, err)
	}
	for _, name := range twinFunctions {
		if manifest.FunctionIndex(name) < 0 {
			return nil, fmt.Errorf("the twins %s have no function %s", o.Twins, name)
		}
	}
	replaced, err := withTwins(text, plan, o.Twins)
	if err != nil {
		return nil, err
	}
	options.File = "the job with twins"
	plan, err = job.Parse(replaced, options)
	if err != nil {
		return nil, fmt.Errorf("with twins: %s\n%s", err.Error(), replaced) // not job.Problems
	}
	return plan, nil
}

// binding is what the lines of a script mean in the job.
type binding struct {
	outlets map[string]*outlet
	rows    stream.Batch // of all emits, with the event times that they carry
	rowOf   []int        // by action: its row; emits only
	lines   []string     // by action: what a want claims, as the sink's outlet writes it
	replies map[int]*answered
}

// binder makes a binding.
type binder struct {
	*Scenario
	o       *Options
	plan    *job.Job
	readers map[string]*reader // of sources
	modules *modules
	times   map[string]*runtime.EventTimes // of sources whose function says the event time
	errs    Errors
	*binding
}

func (s *Scenario) bind(plan *job.Job, m *modules, o *Options) (*binding, error) {
	b := &binder{Scenario: s, o: o, plan: plan, readers: map[string]*reader{}, modules: m, times: map[string]*runtime.EventTimes{}, binding: &binding{
		outlets: map[string]*outlet{}, rowOf: make([]int, len(s.actions)), lines: make([]string, len(s.actions)), replies: map[int]*answered{},
	}}
	defer func() {
		for _, t := range b.times {
			_ = t.Close() // it was asked for times only
		}
	}()
	for i, sink := range plan.Sinks {
		out, err := newOutlet(o, sink.Name, i, sink.Input)
		if err != nil {
			return nil, Errors{{s.path, s.jobLine, fmt.Sprintf("sink %s: %v", sink.Name, err)}}
		}
		b.outlets[sink.Name] = out
	}
	for i := range s.actions {
		a := &s.actions[i]
		if err := b.action(i, a); err != nil && len(b.errs) < errorsMax {
			b.errs = append(b.errs, &Error{s.path, a.line, err.Error()})
		}
	}
	if len(b.errs) > 0 {
		return nil, b.errs
	}
	return b.binding, nil
}

func (b *binder) action(i int, a *action) error {
	switch a.kind {
	case emit:
		return b.emit(i, a)
	case watermark, idle, active, end:
		_, err := b.source(a.name)
		return err
	case reply:
		return b.reply(i, a)
	case want:
		if b.o.Update {
			return nil // it will be replaced, whatever it says
		}
		return b.want(i, a)
	case wantWatermark:
		if b.outlets[a.name] == nil {
			return b.unknownSink(a.name)
		}
	case wantLateDropped:
		if !slices.ContainsFunc(b.plan.Steps, func(s *job.Step) bool { return s.Name == a.name }) {
			return unknown("step", a.name, b.plan.Steps, func(s *job.Step) string { return s.Name })
		}
	}
	if a.asked && !b.o.Update {
		return fmt.Errorf("? stands for an answer that an update fills in")
	}
	return nil
}

func (b *binder) source(name string) (*job.Source, error) {
	for _, s := range b.plan.Sources {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, unknown("source", name, b.plan.Sources, func(s *job.Source) string { return s.Name })
}

func (b *binder) unknownSink(name string) error {
	return unknown("sink", name, b.plan.Sinks, func(s *job.Sink) string { return s.Name })
}

func unknown[T any](what, name string, all []T, nameOf func(T) string) error {
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = nameOf(v)
	}
	return fmt.Errorf("the job has no %s %s%s", what, name, meant(stream.Nearest(name, names)))
}

func (b *binder) emit(i int, a *action) error {
	s, err := b.source(a.name)
	if err != nil {
		return err
	}
	r := b.readers[s.Name]
	if r == nil {
		if r, err = newReader(b.o, s.Schema, s.Output); err != nil {
			return err
		}
		b.readers[s.Name] = r
	}
	b.rowOf[i] = b.rows.Len()
	var wrong error
	err = r.read(&b.rows, a.json, a.change, func(row stream.Row) stream.EventTime {
		switch {
		case a.timed:
			return a.time
		case s.Timestamp != nil:
			var at stream.EventTime
			at, wrong = b.timeOf(s, row)
			return at
		case s.EventTime < 0:
			return a.time
		}
		c := s.Output.Column(s.EventTime)
		if c.IsNull(row) {
			return stream.MinTime
		}
		ms, _ := c.Timestamp(row)
		return stream.EventTime(ms)
	})
	if err == nil && wrong != nil {
		err = fmt.Errorf("the function %s fails on it: %w", s.Timestamp.Name, wrong)
	}
	return err
}

// timeOf asks the source's function for a record's event time.
func (b *binder) timeOf(s *job.Source, row stream.Row) (stream.EventTime, error) {
	if b.times[s.Name] == nil {
		instance, err := b.modules.guest(s.Timestamp)
		if err != nil {
			return 0, err
		}
		if b.times[s.Name], err = runtime.NewEventTimes(instance, s); err != nil {
			return 0, err
		}
	}
	return b.times[s.Name].Of(row)
}

// want brings an expected line into the form in which the sink's rows are
// written.
func (b *binder) want(i int, a *action) error {
	out := b.outlets[a.name]
	if out == nil {
		return b.unknownSink(a.name)
	}
	batch := &out.reader.scratch
	batch.Reset()
	if err := out.reader.read(batch, a.json, a.change, func(stream.Row) stream.EventTime { return a.time }); err != nil {
		return err
	}
	b.lines[i] = out.line(batch.Row(0), batch.Time(0))
	return nil
}
