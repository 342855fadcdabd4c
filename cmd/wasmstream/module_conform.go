package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/conformance"
	"github.com/wasmstream/wasmstream/host/sandbox"
)

// ConformCommand plays the conformance suite on a module.
type ConformCommand struct {
	File  string `arg:"" help:"A file of Wasm that has functions of the suite: see udfs/README.md." placeholder:"FILE"`
	Cases string `help:"Cases of the module's own functions, to be played instead of the suite." placeholder:"CASES.txt" xor:"suite"`
	Suite string `help:"The suite to play, if the module has functions of several." placeholder:"NAME" xor:"suite"`
	JSON  bool   `name:"json" help:"Print one JSON object."`
	SandboxFlags
	CompileFlag
}

// conformity is what `module conform --json` prints.
type conformity struct {
	File   string `json:"file"`
	Passed bool   `json:"passed"`
	// Vectors is how many were played, each way counted.
	Vectors int      `json:"vectors"`
	Played  []string `json:"functions"`
	// Absent are functions of suites of which the module has others.
	Absent   []string             `json:"absent"`
	Failures []conformance.Result `json:"failures"`
}

// testModule makes instances for the suite.
type testModule struct{ *sandbox.Module }

// New implements conformance.Module.
func (m testModule) New() (conformance.Instance, error) {
	return m.Instantiate(context.Background(), sandbox.InstanceOptions{})
}

// Run plays all suites of which the module has a function.
func (c *ConformCommand) Run(e *Env) (err error) {
	module, closeAll, err := loadModule(e, c.File, c.on(c.options(e)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	suites, err := suitesOf(c.Cases, module.Manifest())
	if err != nil {
		return err
	}
	found := &conformity{File: c.File, Played: []string{}, Absent: []string{}, Failures: []conformance.Result{}}
	var offered []string
	for _, s := range suites {
		for _, f := range s.Manifest.GetFunctions() {
			offered = append(offered, f.GetName())
		}
	}
	chosen, err := c.choose(suites, module.Manifest())
	if err != nil {
		return &exitError{exitBadInput, &fileError{c.File, err}}
	}
	for _, s := range chosen {
		report, err := s.Run(module)
		if err != nil {
			return &fileError{c.File, err}
		}
		found.add(report)
	}
	if len(found.Played) == 0 {
		return &exitError{exitBadInput, &fileError{c.File, fmt.Errorf("it has no function of the suites: they are %s", strings.Join(offered, ", "))}}
	}
	found.Passed = len(found.Failures)+len(found.Absent) == 0
	if c.JSON {
		err = printJSON(e.Stdout, found)
	} else {
		found.tell(e.Stdout)
	}
	if err == nil && !found.Passed {
		return &exitError{exitFailed, nil}
	}
	return err
}

// choose are the suites that are played.
func (c *ConformCommand) choose(suites []conformance.Suite, m *abi.Manifest) ([]conformance.Suite, error) {
	if c.Suite == "" {
		return conformance.Choose(suites, m)
	}
	var names []string
	for _, s := range suites {
		if s.Name == c.Suite {
			return []conformance.Suite{s}, nil
		}
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("there is no suite %q; there are %s", c.Suite, strings.Join(names, ", "))
}

// suitesOf are the conformance suite, or what the cases say.
func suitesOf(path string, m *abi.Manifest) ([]conformance.Suite, error) {
	if path == "" {
		return conformance.Suites(abi.Vectors, "next/vectors")
	}
	suite, err := suiteOf(path, m)
	return []conformance.Suite{suite}, err
}

func suiteOf(path string, m *abi.Manifest) (conformance.Suite, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return conformance.Suite{}, &exitError{exitBadInput, &fileError{path, notThere(err, path)}}
	}
	suite, err := conformance.OfCases(filepath.Base(path), m, text)
	if err != nil {
		return suite, &exitError{exitBadInput, &fileError{path, err}}
	}
	return suite, nil
}

// loadModule reads and compiles a module; closeAll gives back what it holds.
func loadModule(e *Env, path string, o sandbox.Options) (m testModule, closeAll func() error, err error) {
	wasm, err := readModule(path)
	if err != nil {
		return m, nil, &exitError{exitBadInput, &fileError{path, err}}
	}
	engine, err := sandbox.NewEngine(e.Context, o)
	if err != nil {
		return m, nil, err
	}
	module, err := engine.Load(e.Context, strings.TrimSuffix(filepath.Base(path), ".wasm"), wasm)
	var refused *sandbox.RefusedError
	if errors.As(err, &refused) {
		err = &exitError{exitRefused, &fileError{path, errors.New("refused: " + refused.Reason)}}
	}
	if err != nil {
		return m, nil, errors.Join(err, engine.Close())
	}
	return testModule{module}, engine.Close, nil
}

func (f *conformity) add(r *conformance.Report) {
	if len(r.Played) == 0 {
		return
	}
	f.Played, f.Absent = append(f.Played, r.Played...), append(f.Absent, r.Absent...)
	f.Vectors += len(r.Results)
	for _, result := range r.Results {
		if result.Problem != "" {
			f.Failures = append(f.Failures, result)
		}
	}
}

// tell is the outcome for people. Texts of the module may be hostile. A line of cases that fails in several ways is told
// once.
func (f *conformity) tell(w io.Writer) {
	told := map[string]bool{}
	for _, r := range f.Failures {
		if line, _, ofCases := strings.Cut(r.Op, ": "); ofCases && strings.HasPrefix(line, "line ") {
			if told[line] {
				continue
			}
			told[line] = true
		}
		fmt.Fprintf(w, "FAILED  %s (%s)", r.Function, r.Role)
		if r.Case != "" {
			fmt.Fprintf(w, ": %s", r.Case)
		}
		if r.Way != "" && r.Way != conformance.OneInstance {
			fmt.Fprintf(w, ", %s", r.Way)
		}
		fmt.Fprintln(w)
		switch {
		case r.Op != "":
			fmt.Fprintf(w, "        frame %d, %s\n", r.Frame, oneLine(r.Op))
		case r.Case != "":
			fmt.Fprintf(w, "        frame %d\n", r.Frame)
		}
		fmt.Fprintf(w, "        %s\n", cut(oneLine(r.Problem), problemMax))
	}
	if len(f.Absent) > 0 {
		fmt.Fprintf(w, "ABSENT  %s\n", strings.Join(f.Absent, ", "))
	}
	verdict := "all passed"
	if !f.Passed {
		verdict = fmt.Sprintf("%d failed, %d functions are absent", len(f.Failures), len(f.Absent))
	}
	fmt.Fprintf(w, "%s: %d functions, %d vectors: %s\n", f.File, len(f.Played), f.Vectors, verdict)
}

// problemMax bounds the characters of what is told of a failure.
const problemMax = 2000
