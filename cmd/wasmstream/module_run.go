package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/wasmstream/wasmstream/host/conformance"
)

// runCosts is what `module inspect --run` finds out.
type runCosts struct {
	// Cases is the file that says what functions were asked; empty: rows were made up.
	Cases string `json:"cases,omitempty"`
	// Unused is why a file that lies there was not taken.
	Unused    string              `json:"cases_unused,omitempty"`
	Functions []*conformance.Cost `json:"functions"`
}

// costs runs all functions of a module. For functions that failed there are costs and an
// error.
func (c *InspectCommand) costs(e *Env, path string) (found *runCosts, err error) {
	module, closeAll, err := loadModule(e, path, c.on(c.options(e)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	found = &runCosts{Cases: c.casesOf(path), Functions: []*conformance.Cost{}}
	var suite *conformance.Suite
	if found.Cases != "" {
		read, err := suiteOf(found.Cases, module.Manifest())
		if err != nil && c.Cases != "" {
			return nil, err
		}
		if err != nil { // they may be of another module
			found.Cases, found.Unused = "", err.Error()
		} else {
			suite = &read
		}
	}
	var errs []error
	for i := range module.Manifest().GetFunctions() {
		cost, err := conformance.Costs(module, i, suite, monotonic())
		if err != nil {
			return found, &exitError{exitBadInput, &fileError{path, err}}
		}
		if found.Functions = append(found.Functions, cost); cost.Problem != "" {
			errs = append(errs, fmt.Errorf("function %s failed: %s", cost.Function, cut(oneLine(cost.Problem), problemMax)))
		}
	}
	if len(errs) > 0 {
		return found, &exitError{exitFailed, &fileError{path, errors.Join(errs...)}}
	}
	return found, nil
}

// casesOf are the cases for a module: those that were named, or that lie beside it or in
// the folder above it, as in udfs/NAME/LANGUAGE.
func (c *InspectCommand) casesOf(path string) string {
	if c.Cases != "" {
		return c.Cases
	}
	for _, folder := range []string{".", ".."} {
		cases := filepath.Join(filepath.Dir(path), folder, "cases.txt")
		if info, err := os.Stat(cases); err == nil && info.Mode().IsRegular() {
			return cases
		}
	}
	return ""
}

// tell is what was found out, for people; nil: nothing was.
func (r *runCosts) tell(w io.Writer) {
	if r == nil {
		return
	}
	if r.Unused != "" {
		fmt.Fprintf(w, "\n  not used: %s\n", cut(oneLine(r.Unused), lineMax))
	}
	for _, f := range r.Functions {
		on := "rows that are made up"
		if !f.Generated {
			on = r.Cases
		}
		fmt.Fprintf(w, "\n  %s (%s), run on %s\n", oneLine(f.Function), f.Role, on)
		if f.Skipped != "" {
			fmt.Fprintf(w, "  not run: %s; --cases names a file that has them\n", cut(oneLine(f.Skipped), problemMax))
			continue
		}
		if f.Problem != "" {
			fmt.Fprintf(w, "  FAILED: %s\n", cut(oneLine(f.Problem), problemMax))
		}
		tellCost(w, f)
	}
}

func tellCost(w io.Writer, f *conformance.Cost) {
	t := newTable(textColumn, textColumn)
	if f.Start > 0 {
		t.add("start", brief(f.Start)+" for an instance, "+brief(f.Opening.Time)+" and "+grouped(f.Opening.Fuel)+" of fuel for its opening")
		t.add("memory", fmt.Sprintf("%d KiB", f.MemoryBytes>>10))
	}
	if a := f.Together; a != nil {
		t.add("together", fmt.Sprintf("%.0f of fuel and %.0f ns an op, in frames of up to %d", a.Fuel, a.Nanos, a.OpsMax))
	}
	t.write(w)
	if len(f.Ops) == 0 {
		return
	}
	n := numberColumn
	t = newTable(textColumn, n, n, n, n, n, n, n, n)
	t.add("alone", "asked", "fuel: least", "median", "most", "time", "effects: least", "median", "most")
	for _, o := range f.Ops {
		t.add(o.Op, grouped(int64(o.Asked)), grouped(o.Fuel.Least), grouped(o.Fuel.Median), grouped(o.Fuel.Most), brief(o.Time),
			grouped(o.Effects.Least), grouped(o.Effects.Median), grouped(o.Effects.Most))
	}
	t.write(w)
}

// brief is a short time with three digits, about.
func brief(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/float64(time.Microsecond))
	}
	return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}
