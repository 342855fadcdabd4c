package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/wasmstream/wasmstream/host/format"
	formatjson "github.com/wasmstream/wasmstream/host/format/json"
	"github.com/wasmstream/wasmstream/host/scenario"
	"github.com/wasmstream/wasmstream/host/stream"
)

// TestCommand runs scenario files.
type TestCommand struct {
	Paths         []string `arg:"" name:"path" help:"Scenario files, or folders: every *.scenario below them." placeholder:"FILE|DIR"`
	Update        bool     `help:"Rewrite the want lines from what the job did."`
	JSON          bool     `name:"json" help:"Print one JSON object for each scenario."`
	Batch         *int     `help:"Hand consecutive emit lines over in batches of up to N." placeholder:"N"`
	Parallelism   *int     `help:"Run each keyed step in N tasks, whatever the job says." placeholder:"N"`
	FreshInstance bool     `help:"Throw Wasm instances away after every call."`
	RestartEvery  bool     `help:"Restart the job after every action; folders named restart-sensitive are left out."`
	State         string   `help:"Where state is kept: memory or disk." enum:"memory,disk" default:"memory" placeholder:"memory|disk"`
	WasmTwins     string   `help:"Replace built-in parts by their Wasm twins: go, c or rust." enum:",go,c,rust" default:"" placeholder:"go|c|rust"`
	SandboxFlags
}

// scenarioExtension is how the names of scenario files end.
const scenarioExtension = ".scenario"

// restartSensitive is the name of folders whose scenarios Flink itself does not
// pass with a restart after every action.
const restartSensitive = "restart-sensitive"

// scenarioBytesMax bounds a scenario file.
const scenarioBytesMax = 64 << 20

// Run runs the scenarios, several at a time, and prints what became of them in
// the order of the files.
func (c *TestCommand) Run(e *Env) error {
	e.Log = newLog(newScreen(e), e.StderrTerminal, "warn")
	limits := c.SandboxFlags.options(e)
	limits.FreshInstance = c.FreshInstance
	modules, err := newScenarioModules(e, limits)
	if err != nil {
		return err
	}
	defer modules.Close()
	o := c.options(e, modules)
	files, err := c.files()
	wrong := c.offered()
	if wrong == nil && c.WasmTwins != "" {
		o.Twins, wrong = findTwins(c.WasmTwins)
	}
	if wrong == nil {
		wrong = o.Validate()
	}
	if err := errors.Join(wrong, err); err != nil {
		return &exitError{exitBadInput, err}
	}
	passed, failed, unreadable := 0, 0, 0
	for r := range c.results(e.Context, files, o) {
		if err := c.print(e.Stdout, r); err != nil {
			return err
		}
		switch {
		case r.unreadable:
			unreadable++
			fallthrough
		case r.Outcome != scenario.Pass:
			failed++
		default:
			passed++
		}
	}
	if e.Context.Err() != nil {
		return context.Cause(e.Context)
	}
	closing := e.Stdout
	if c.JSON {
		closing = e.Stderr // standard output has objects only
	}
	fmt.Fprintf(closing, "%d passed, %d failed\n", passed, failed)
	switch {
	case unreadable > 0:
		return &exitError{code: exitBadInput}
	case failed > 0:
		return &exitError{code: exitFailed}
	}
	return nil
}

// offered refuses flags that stand for what is to come, and numbers that are none
// of anything; where a flag is left out, the scenario has its own.
func (c *TestCommand) offered() error {
	var errs []error
	for _, f := range []struct {
		flag  string
		value *int
		most  int
	}{{"batch", c.Batch, scenario.BatchMax}, {"parallelism", c.Parallelism, scenario.ParallelismMax}} {
		if f.value != nil && (*f.value < 1 || *f.value > f.most) {
			errs = append(errs, fmt.Errorf("--%s is %d; choose from 1 to %d", f.flag, *f.value, f.most))
		}
	}
	if c.State != "memory" {
		errs = append(errs, fmt.Errorf("--state %s is not offered yet", c.State))
	}
	return errors.Join(errs...)
}

func (c *TestCommand) options(e *Env, m *scenarioModules) scenario.Options {
	given := func(n *int) int {
		if n == nil {
			return 0
		}
		return *n
	}
	return scenario.Options{
		Batch: given(c.Batch), Parallelism: given(c.Parallelism), RestartEvery: c.RestartEvery, Update: c.Update,
		Decoder: func(declared, output *stream.Schema) (format.Decoder, error) {
			return formatjson.NewDecoder(declared, output)
		},
		Encoder: func(s *stream.Schema) (format.Encoder, error) {
			return formatjson.NewEncoder(s, formatjson.EncoderOptions{Timestamps: formatjson.Millis, AppendOnly: true})
		},
		ReadFile: readModule, Getenv: e.Getenv, Manifest: m.Manifest, Guest: m.Guest,
	}
}

// files lists the scenarios that the paths name, each once.
func (c *TestCommand) files() ([]string, error) {
	var files []string
	var errs []error
	seen := map[string]bool{}
	for _, path := range c.Paths {
		found, err := c.below(path)
		if err != nil {
			errs = append(errs, &fileError{path, notThere(err, path)})
		}
		for _, f := range found {
			if !seen[f] && !c.leavesOut(f) {
				files = append(files, f)
			}
			seen[f] = true
		}
	}
	return files, errors.Join(errs...)
}

// leavesOut tells whether a scenario is not to be run, though it was named: Flink
// itself does not pass it this way.
func (c *TestCommand) leavesOut(path string) bool {
	folders := strings.Split(filepath.ToSlash(filepath.Dir(path)), "/")
	return c.RestartEvery && slices.Contains(folders, restartSensitive)
}

// below lists the scenarios below a folder; a file stands for itself.
func (*TestCommand) below(root string) (files []string, err error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{filepath.Clean(root)}, nil
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != scenarioExtension {
			return err
		}
		files = append(files, path)
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("there is no file *%s below it", scenarioExtension)
	}
	return files, err
}

// testResult is a scenario's result. unreadable is a file that is no scenario, or
// could not be read or written.
type testResult struct {
	scenario.Result
	unreadable bool
}

// results runs the files with as many workers as there are processors and yields
// the results in the order of the files, until the context is done.
func (c *TestCommand) results(ctx context.Context, files []string, o scenario.Options) func(yield func(testResult) bool) {
	return func(yield func(testResult) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		slots := make([]chan testResult, len(files))
		for i := range slots {
			slots[i] = make(chan testResult, 1)
		}
		var next atomic.Int64
		for range min(goruntime.GOMAXPROCS(0), len(files)) {
			go func() {
				for i := int(next.Add(1)) - 1; i < len(files) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
					slots[i] <- c.test(files[i], o)
				}
			}()
		}
		for _, slot := range slots {
			select {
			case r := <-slot:
				if !yield(r) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// test runs one file.
func (c *TestCommand) test(path string, o scenario.Options) testResult {
	unreadable := func(err error) testResult {
		r := scenario.Result{File: path, Outcome: scenario.Wrong, Message: err.Error()}
		var mistakes scenario.Errors
		if errors.As(err, &mistakes) {
			r = mistakes.Result()
		}
		return testResult{r, true}
	}
	text, err := readScenario(path)
	if err != nil {
		return unreadable(err)
	}
	s, err := scenario.Parse(path, text)
	if err != nil {
		return unreadable(err)
	}
	r := s.Run(o)
	if len(r.Updated) > scenarioBytesMax {
		return unreadable(fmt.Errorf("with its want lines it would have more than %d bytes; it stays as it is", scenarioBytesMax))
	}
	if r.Updated != nil {
		if err := replaceFile(path, r.Updated); err != nil {
			return unreadable(err)
		}
	}
	return testResult{r, false}
}

func readScenario(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, notThere(err, path)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, scenarioBytesMax+1))
	if err == nil && len(text) > scenarioBytesMax {
		err = fmt.Errorf("it has more than %d bytes", scenarioBytesMax)
	}
	return text, notThere(err, path)
}

// print tells of a result: of all of them as JSON, else of those that did not
// pass or changed their file.
func (c *TestCommand) print(w io.Writer, r testResult) (err error) {
	switch {
	case c.JSON:
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(r.Result)
	case r.Updated != nil && r.Outcome == scenario.Pass:
		_, err = fmt.Fprintf(w, "%s: updated\n", r.File)
	case r.Outcome != scenario.Pass:
		_, err = fmt.Fprintln(w, printableLines(r.Result.String()))
	}
	return err
}
