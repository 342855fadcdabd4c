package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/window"
)

// operation tells in a few words what a step does.
func operation(s *job.Step) string {
	text := ""
	switch {
	case s.Window != nil:
		text = windowStep(s)
	case s.WindowJoin != nil:
		j := s.WindowJoin
		text = fmt.Sprintf("%s join on %s, %s", j.Type, joinKey(&j.Left, &j.Right), windows(&j.Options))
	case s.IntervalJoin != nil:
		j := s.IntervalJoin
		text = fmt.Sprintf("%s join on %s, right from %s to %s after left", j.Type, joinKey(&j.Left, &j.Right), bound(j.Lower, j.LowerExclusive), bound(j.Upper, j.UpperExclusive))
	case s.CoGroup != nil:
		g := s.CoGroup
		text = fmt.Sprintf("co-group on %s, %s", joinKey(&g.Left, &g.Right), windows(&g.Options))
	case len(s.Functions) > 0:
		text = functionStep(s)
	case len(s.From) > 1:
		text = "union"
	default:
		text = "pass-through"
	}
	if s.Combine == job.CombineMax {
		text += ", highest watermark"
	}
	return text
}

// functionStep is what a step does that is a function.
func functionStep(s *job.Step) string {
	text := ""
	if sides := s.Sides(); sides != nil && len(sides[1].Key) > 0 {
		text = "on " + joinKey(sides[0], sides[1]) + ", "
	} else if sides != nil {
		text = "by " + strings.Join(sides[0].Input.Project(sides[0].Key).Names(), ", ") + ", "
	} else if s.KeyBy != nil {
		text = "by " + strings.Join(s.Input.Project(s.KeyBy).Names(), ", ") + ", "
	}
	if e := s.Enrich; e != nil && e.Unordered {
		text += "unordered, "
	}
	for i, f := range s.Functions {
		if i > 0 {
			text += ", "
		}
		text += shownFunction(f)
	}
	return text
}

func shownFunction(f *job.Function) string {
	return fmt.Sprintf("Wasm function %s.%s", f.Module.Name, f.Name)
}

func windowStep(s *job.Step) string {
	w := s.Window
	text := "by " + strings.Join(s.Input.Project(s.KeyBy).Names(), ", ") + ", " + windows(&w.Options)
	if len(w.Aggregates) > 0 {
		text += ", " + aggregates(s)
	}
	for _, f := range s.Functions {
		text += ", " + shownFunction(f)
	}
	if w.Output != job.Append {
		text += fmt.Sprintf(", output %s", w.Output)
	}
	return text
}

func windows(o *window.Options) string {
	a, text := o.Assigner, ""
	switch a.Kind {
	case window.Tumbling:
		text = "tumbling windows of " + milliseconds(a.Size)
	case window.Sliding:
		text = fmt.Sprintf("sliding windows of %s every %s", milliseconds(a.Size), milliseconds(a.Slide))
	case window.Session:
		text = "sessions with a gap of " + milliseconds(a.Gap)
		if a.GapByRecord {
			text = "sessions with each record's own gap"
		}
	case window.GlobalWindows:
		text = "global windows"
	case window.FunctionWindows:
		text = "windows of a function"
		if a.Merging {
			text += ", which merge"
		}
	}
	if a.Offset != 0 {
		text += " offset by " + milliseconds(a.Offset)
	}
	if a.Zone != nil {
		text += fmt.Sprintf(" in %s", a.Zone)
	}
	if a.Processing {
		text += " of processing time"
	}
	for t := o.Trigger; t != nil; t = t.Nested {
		text += fmt.Sprintf(", trigger %s", t.Kind)
	}
	if o.Evictor != nil {
		text += ", evictor"
	}
	if o.AllowedLateness > 0 {
		text += fmt.Sprintf(", %s late allowed", milliseconds(o.AllowedLateness))
	}
	return text
}

func joinKey(left, right *job.Side) string {
	l, r := left.Input.Project(left.Key).Names(), right.Input.Project(right.Key).Names()
	pairs := make([]string, len(l))
	for i := range l {
		pairs[i] = l[i] + " = " + r[i]
	}
	return strings.Join(pairs, ", ")
}

func bound(ms int64, exclusive bool) string {
	switch {
	case ms == math.MinInt64 || ms == math.MaxInt64:
		return "without a bound"
	case exclusive:
		return milliseconds(ms) + " (exclusive)"
	}
	return milliseconds(ms)
}

func aggregates(s *job.Step) string {
	calls := make([]string, len(s.Window.Aggregates))
	for i, a := range s.Window.Aggregates {
		calls[i] = a.Kind.String()
		if a.Column >= 0 {
			calls[i] += "(" + s.Input.Fields()[a.Column].Name + ")"
		}
	}
	return strings.Join(calls, ", ")
}
