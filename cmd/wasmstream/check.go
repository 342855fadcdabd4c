package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// CheckCommand checks a job without running it.
type CheckCommand struct {
	Job  string `arg:"" help:"The job file." placeholder:"JOB"`
	JSON bool   `name:"json" help:"Print JSON."`
	SandboxFlags
}

// checkResult is what `check --json` prints.
type checkResult struct {
	Job      string       `json:"job,omitempty"`
	Status   string       `json:"status"` // ok or refused
	Error    string       `json:"error,omitempty"`
	Problems []problem    `json:"problems,omitempty"`
	Warnings []problem    `json:"warnings,omitempty"`
	Sources  []sourcePlan `json:"sources,omitempty"`
	Steps    []stepPlan   `json:"steps,omitempty"`
	Sinks    []sinkPlan   `json:"sinks,omitempty"`
}

type sourcePlan struct {
	Name     string   `json:"name"`
	Path     string   `json:"path"`
	Used     []string `json:"columns_used"`
	Declared []string `json:"columns_declared"`
}

type stepPlan struct {
	Name    string       `json:"name"`
	From    []string     `json:"from"`
	What    string       `json:"operation"`
	Columns []columnPlan `json:"columns"`
	Outputs []outputPlan `json:"outputs,omitempty"` // of its functions, beside the main one
}

type outputPlan struct {
	Name    string       `json:"name"` // STEP.OUTPUT
	Columns []columnPlan `json:"columns"`
}

type sinkPlan struct {
	Name    string       `json:"name"`
	Path    string       `json:"path"`
	From    []string     `json:"from"`
	Columns []columnPlan `json:"columns"`
}

type columnPlan struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

const statusSound = "ok"

// Run checks the job, its modules included: they are compiled, and none of their
// code runs.
func (c *CheckCommand) Run(e *Env) error {
	screen := newScreen(e)
	e.Log = newLog(screen, e.StderrTerminal, "warn")
	m := newModules(e, c.options(e))
	defer m.Close()
	plan, err := readJob(e, c.Job, m)
	if err == nil {
		err = m.loadAll(plan)
	}
	if c.JSON {
		return errors.Join(err, printJSON(e.Stdout, checked(plan, err)))
	}
	if err != nil {
		return err
	}
	for _, w := range plan.Warnings {
		screen.printf("warning: %s\n", oneLine(w.String()))
	}
	checked(plan, nil).tell(e.Stdout)
	return nil
}

func checked(plan *job.Job, err error) *checkResult {
	c := &checkResult{Status: statusSound}
	if err != nil {
		c.Status, c.Error = statusRefused, err.Error()
		var list job.Problems
		if errors.As(err, &list) {
			c.Problems = problems(list)
		}
	}
	if plan == nil {
		return c
	}
	c.Job, c.Warnings = plan.Name, problems(plan.Warnings)
	for _, s := range plan.Sources {
		c.Sources = append(c.Sources, sourcePlan{s.Name, placeOf(s.Connector), s.Output.Names(), columnNames(s)})
	}
	for _, s := range plan.Steps {
		c.Steps = append(c.Steps, stepPlan{s.Name, references(s.Reads()), operation(s), columnsOf(s.Output), outputsOf(s)})
	}
	for _, s := range plan.Sinks {
		c.Sinks = append(c.Sinks, sinkPlan{s.Name, placeOf(s.Connector), references(s.From), columnsOf(s.Input)})
	}
	return c
}

// columnNames are those that a source has: of its records, and of what it knows beside
// them, as far as anybody uses that.
func columnNames(s *job.Source) []string {
	names := s.Schema.Names()
	for _, m := range s.Metadata {
		names = append(names[:len(names):len(names)], s.Output.Fields()[m.Column].Name)
	}
	return names
}

func references(refs []job.StreamRef) []string {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = r.String()
	}
	return names
}

// outputsOf are the outputs that functions of a step have beside the main one.
func outputsOf(s *job.Step) (named []outputPlan) {
	for _, f := range s.Functions {
		for _, o := range f.Outputs {
			if o.Name != "" {
				named = append(named, outputPlan{job.StreamRef{Name: s.Name, Output: o.Name}.String(), columnsOf(o.Schema)})
			}
		}
	}
	return named
}

func columnsOf(s *stream.Schema) []columnPlan {
	columns := make([]columnPlan, s.Len())
	for i, f := range s.Fields() {
		columns[i] = columnPlan{f.Name, f.Type.String()}
	}
	return columns
}

// milliseconds writes a duration without the zeroes that Go's has: 1h, not 1h0m0s.
func milliseconds(ms int64) string {
	text := (time.Duration(ms) * time.Millisecond).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// tell is the plan for people.
func (c *checkResult) tell(w io.Writer) {
	fmt.Fprintf(w, "%s is sound\n\n", c.Job)
	t := newTable(textColumn, textColumn, textColumn)
	for _, s := range c.Sources {
		t.add("source", s.Name, s.Path)
		t.add("", "", fmt.Sprintf("reads %d of %d columns: %s", len(s.Used), len(s.Declared), strings.Join(s.Used, ", ")))
	}
	for _, s := range c.Steps {
		t.add("step", s.Name, "from "+strings.Join(s.From, ", ")+": "+s.What)
		t.add("", "", "gives "+columnList(s.Columns))
		for _, o := range s.Outputs {
			t.add("", "", "and "+o.Name+": "+columnList(o.Columns))
		}
	}
	for _, s := range c.Sinks {
		t.add("sink", s.Name, "from "+strings.Join(s.From, ", ")+" to "+s.Path)
		t.add("", "", "writes "+columnList(s.Columns))
	}
	t.write(w)
}

func columnList(columns []columnPlan) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.Name + " " + c.Type
	}
	return strings.Join(list, ", ")
}
