package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/recording"
	"github.com/wasmstream/wasmstream/host/sandbox"
)

// ReplayCommand makes the calls of a recording again.
type ReplayCommand struct {
	File   string   `arg:"" help:"What run --record has written." placeholder:"RECORDING"`
	Module []string `help:"Replay on this module: FILE, or NAME=FILE where the job has several. By default on the recorded ones." placeholder:"FILE" sep:"none"`
	JSON   bool     `name:"json" help:"Print a JSON object for each call that differs, and one at the end."`
	SandboxFlags
	CompileFlag
}

// replaySum is what a replay came to; --json prints it last.
type replaySum struct {
	File      string `json:"file"`
	Functions int    `json:"functions"`
	Calls     int    `json:"calls"`
	Differ    int    `json:"differ"`
	// Cut is why the recording breaks off, Ended why it ended before its run.
	Cut   string `json:"cut,omitempty"`
	Ended string `json:"ended,omitempty"`
}

// replay is one run of the command.
type replay struct {
	c       *ReplayCommand
	out     io.Writer
	engine  *sandbox.Engine
	in      *recording.Reader
	modules map[string]*sandbox.Module // by name in the job
	players map[uint32]*recording.Player
	opened  []*sandbox.Instance
	sum     replaySum
}

// differencesShown bounds the calls that people are shown; --json has all.
const differencesShown = 20

// Run replays all calls.
func (c *ReplayCommand) Run(e *Env) (err error) {
	f, err := openRegular(c.File)
	if err != nil {
		return &exitError{exitBadInput, &fileError{c.File, notThere(err, c.File)}}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r := &replay{c: c, out: e.Stdout, modules: map[string]*sandbox.Module{}, players: map[uint32]*recording.Player{}, sum: replaySum{File: c.File}}
	if r.in, err = recording.NewReader(f, info.Size()); err != nil {
		return &exitError{exitBadInput, &fileError{c.File, err}}
	}
	if r.engine, err = sandbox.NewEngine(e.Context, c.on(sandbox.Options{CacheDir: c.dir(), ModuleBytesMax: moduleBytesMax, MemoryPagesMax: memoryPagesMax})); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.loadModules(); err != nil {
		return err
	}
	if err := r.all(e.Context); err != nil {
		return err
	}
	return r.end()
}

// loadModules loads what --module names.
func (r *replay) loadModules() error {
	for _, text := range r.c.Module {
		if text == "" {
			return &exitError{exitBadInput, errors.New("--module is empty: it names a file of Wasm; leave it out to replay on the recorded modules")}
		}
		name, path, named := strings.Cut(text, "=")
		if !named {
			path = text
			if len(r.in.Header.Modules) != 1 {
				return &exitError{exitBadInput, fmt.Errorf("--module %s: the recording has the modules %s; say NAME=FILE", text, strings.Join(r.names(), ", "))}
			}
			name = r.in.Header.Modules[0].Name
		}
		if r.recorded(name) == nil {
			return &exitError{exitBadInput, fmt.Errorf("--module %s: the recording has no module %s; its modules are %s", text, name, strings.Join(r.names(), ", "))}
		}
		if err := r.load(name, path, ""); err != nil {
			return err
		}
	}
	return nil
}

func (r *replay) names() (names []string) {
	for _, m := range r.in.Header.Modules {
		names = append(names, m.Name)
	}
	return names
}

func (r *replay) recorded(name string) *recording.Module {
	for i := range r.in.Header.Modules {
		if m := &r.in.Header.Modules[i]; m.Name == name {
			return m
		}
	}
	return nil
}

// load loads a module; with a digest it must be the one that was recorded.
func (r *replay) load(name, path, digest string) error {
	wasm, err := readModule(path)
	if err != nil {
		return &exitError{exitBadInput, &fileError{path, err}}
	}
	sum := sha256.Sum256(wasm)
	if is := "sha256:" + hex.EncodeToString(sum[:]); digest != "" && is != digest {
		return &exitError{exitBadInput, &fileError{path, fmt.Errorf(
			"it is not the module %s that was recorded any more; to see what it does differently, say --module %s=%s", name, name, path)}}
	}
	module, err := r.engine.Load(context.Background(), name, wasm)
	var refused *sandbox.RefusedError
	if errors.As(err, &refused) {
		return &exitError{exitRefused, &fileError{path, errors.New("refused: " + refused.Reason)}}
	}
	r.modules[name] = module
	return err
}

// all replays what the recording has, record by record.
func (r *replay) all(ctx context.Context) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		f, c, err := r.in.Next()
		var cut *recording.CutError
		switch {
		case errors.As(err, &cut):
			r.sum.Cut = cut.Reason
			return nil
		case errors.Is(err, io.EOF):
			r.sum.Ended = r.in.Reason
			return nil
		case err != nil:
			return &exitError{exitBadInput, &fileError{r.c.File, err}}
		case f != nil:
			err = r.open(f)
		default:
			err = r.call(c)
		}
		if err != nil {
			return err
		}
	}
}

// open makes an instance for a recorded one.
func (r *replay) open(f *recording.Function) error {
	m := r.recorded(f.Module)
	if m == nil {
		return &exitError{exitBadInput, &fileError{r.c.File, fmt.Errorf("its header has no module %s", f.Module)}}
	}
	if r.modules[f.Module] == nil {
		if err := r.load(f.Module, m.Path, m.Digest); err != nil {
			return err
		}
	}
	module := r.modules[f.Module]
	index := module.Manifest().FunctionIndex(f.Name)
	if index < 0 {
		return &exitError{exitBadInput, fmt.Errorf("the module %s has no function %s any more", f.Module, f.Name)}
	}
	limits, err := recordedLimits(f.Limits)
	if err != nil {
		return &exitError{exitBadInput, &fileError{r.c.File, err}}
	}
	instance, err := module.Instantiate(context.Background(), limits)
	if err != nil {
		return err
	}
	r.opened = append(r.opened, instance)
	player, d, err := recording.NewPlayer(f, instance, uint32(index), module.Manifest().GetFunctions()[index])
	if err != nil {
		return &exitError{exitFailed, err}
	}
	r.players[f.ID] = player
	r.sum.Functions++
	return r.tell(d)
}

// recordedLimits are the limits that a function is held to again, so that a call ends where
// it did. A recording may be from anywhere: they are no more than a job may have.
func recordedLimits(l recording.Limits) (sandbox.InstanceOptions, error) {
	for _, x := range []struct {
		name        string
		value, most int64
	}{
		{"fuel", l.Fuel, job.CountMax}, {"fuelPerOp", l.FuelPerOp, job.CountMax},
		{"outputBytes", l.OutputBytes, job.OutputBytesMax}, {"memoryBytes", l.MemoryBytes, job.MemoryBytesMax},
	} {
		if x.value < 0 || x.value > x.most {
			return sandbox.InstanceOptions{}, fmt.Errorf("its limit %s is %d, and a job's is at most %d", x.name, x.value, x.most)
		}
	}
	if l.MemoryBytes == 0 { // it is older than limits in recordings
		l.MemoryBytes = recordedMemoryBytes
	}
	return instanceLimits(l.Fuel, l.FuelPerOp, l.OutputBytes, l.MemoryBytes), nil
}

// recordedMemoryBytes is the memory of an instance of which a recording does not tell it.
const recordedMemoryBytes = 64 << 20

func (r *replay) call(c *recording.Call) error {
	player := r.players[c.Function]
	if player == nil {
		return &exitError{exitBadInput, &fileError{r.c.File, fmt.Errorf("a call of function %d, which it has not opened", c.Function)}}
	}
	d, err := player.Replay(c)
	if err != nil {
		return err
	}
	r.sum.Calls++
	return r.tell(d)
}

// tell tells of a call that differs.
func (r *replay) tell(d *recording.Difference) error {
	if d == nil {
		return nil
	}
	r.sum.Differ++
	if r.c.JSON {
		encoder := json.NewEncoder(r.out)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(d)
	}
	if r.sum.Differ > differencesShown {
		return nil
	}
	fmt.Fprintf(r.out, "step %s, %s, instance %d, call %d\n", oneLine(d.Step), oneLine(d.Function), d.Instance, d.Call)
	if d.Is != "" {
		fmt.Fprintf(r.out, "  was: %s\n  is:  %s\n", cut(oneLine(d.Was), lineMax), cut(oneLine(d.Is), lineMax))
	}
	for i, p := range d.Parts {
		if i == listMax {
			fmt.Fprintf(r.out, "  … and %d more\n", len(d.Parts)-i)
			break
		}
		tellPart(r.out, &p)
	}
	return nil
}

func tellPart(w io.Writer, p *recording.Part) {
	if p.Op != nil {
		fmt.Fprintf(w, "  op %d, %s\n", *p.Op, cut(oneLine(p.Ask), 2*lineMax))
	} else {
		fmt.Fprintf(w, "  slot %d afterwards, %s\n", *p.Slot, cut(oneLine(p.Of), lineMax))
	}
	for _, side := range []struct {
		mark  string
		lines []string
	}{{"-", p.Was}, {"+", p.Is}} {
		for i, line := range side.lines {
			if i == listMax {
				fmt.Fprintf(w, "    %s … and %d more\n", side.mark, len(side.lines)-i)
				break
			}
			fmt.Fprintf(w, "    %s %s\n", side.mark, cut(oneLine(line), 2*lineMax))
		}
	}
}

// end tells what it came to. Calls that differ are a failure, and what is missing may be.
func (r *replay) end() error {
	s := &r.sum
	if r.c.JSON {
		encoder := json.NewEncoder(r.out)
		if err := encoder.Encode(s); err != nil {
			return err
		}
	} else {
		if s.Differ > differencesShown {
			fmt.Fprintf(r.out, "… and %d more calls; --json has all\n", s.Differ-differencesShown)
		}
		if s.Ended != "" {
			fmt.Fprintf(r.out, "the recording ended before its run: %s\n", s.Ended)
		}
		fmt.Fprintf(r.out, "%s: %s calls of %d instances of functions: %s\n", s.File, grouped(int64(s.Calls)), s.Functions, s.verdict())
	}
	return s.failure()
}

func (s *replaySum) failure() error {
	var missing error
	if s.Cut != "" {
		missing = &fileError{s.File, fmt.Errorf("its end is missing, so what came after these %s calls is not known: %s", grouped(int64(s.Calls)), s.Cut)}
	}
	switch {
	case s.Differ > 0:
		return &exitError{exitFailed, missing}
	case missing != nil:
		return &exitError{exitBadInput, missing}
	}
	return nil
}

func (s *replaySum) verdict() string {
	if s.Differ == 0 {
		return "all are as they were"
	}
	return fmt.Sprintf("%s differ", grouped(int64(s.Differ)))
}

func (r *replay) close() error {
	var errs []error
	for _, i := range r.opened {
		errs = append(errs, i.Close())
	}
	return errors.Join(append(errs, r.engine.Close())...)
}
