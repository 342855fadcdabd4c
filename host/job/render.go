package job

import (
	"fmt"
	"math"
	"strings"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

// String tells the plan in a few lines for people: what flows from where to
// where, with which columns.
func (j *Job) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "job %s: parallelism %d of %d, buffer-timeout %s\n", j.Name, j.Parallelism, j.MaxParallelism, formatDuration(j.BufferTimeout.Milliseconds()))
	if c := j.Compatibility; c != compatibility(nil) {
		fmt.Fprintf(&b, "compatibility Flink %s: cleanup-after-empty-firing %t, flush-when-all-idle %t, max-of-idle %t, idle-clock-pauses %t\n",
			c.Flink, c.CleanupAfterEmptyFiring, c.FlushWhenAllIdle, c.MaxOfIdle, c.IdleClockPauses)
	}
	if j.Checkpoint != nil {
		j.Checkpoint.render(&b)
	}
	if r := j.Restart; r.Strategy != NoRestart {
		fmt.Fprintf(&b, "restart %s\n", r)
	}
	if l := j.Limits.String(); l != "" {
		fmt.Fprintf(&b, "limits: %s\n", l)
	}
	for _, m := range j.Modules {
		fmt.Fprintf(&b, "module %s: %s\n", m.Name, m.Shown)
	}
	for _, s := range j.Sources {
		s.render(&b)
	}
	for _, s := range j.Steps {
		s.render(&b)
	}
	for _, s := range j.Sinks {
		fmt.Fprintf(&b, "sink %s: %s from %s\n  input %s%s\n", s.Name, s.Connector, list(s.From), s.Input, changes(s.Changing))
		if k := s.Connector.KafkaSink; k != nil {
			k.render(&b, s.Input)
		}
		if s.Encode != nil {
			s.Encode.render(&b, s.Input)
		}
	}
	return b.String()
}

func list(refs []StreamRef) string {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = r.String()
	}
	return strings.Join(names, ", ")
}

func (s *Source) render(b *strings.Builder) {
	fmt.Fprintf(b, "source %s: %s, on error %s\n  output %s\n", s.Name, s.Connector, s.OnError, s.Output)
	if s.EventTime >= 0 {
		fmt.Fprintf(b, "  event time %s\n", s.Output.Fields()[s.EventTime].Name)
	}
	if s.Timestamp != nil {
		s.Timestamp.render(b, s.Output)
	}
	if s.IngestionTime {
		b.WriteString("  event time is when a record is read\n")
	}
	if s.RecordTime {
		b.WriteString("  event time is the record's timestamp\n")
	}
	if s.Decode != nil {
		s.Decode.render(b)
	}
	for _, m := range s.Metadata {
		fmt.Fprintf(b, "  %s is the record's %s\n", s.Output.Fields()[m.Column].Name, m.Kind)
	}
	if w := s.Watermark; w != nil {
		w.render(b)
	}
}

func (w *Watermark) render(b *strings.Builder) {
	emit := "periodic"
	if w.OnEvent {
		emit = "on event"
	}
	switch {
	case w.Punctuated:
		b.WriteString("  watermark as the function says")
	case w.Strategy == NoWatermarks:
		b.WriteString("  no watermark before the end")
	case w.Strategy == Monotonous:
		fmt.Fprintf(b, "  watermark of records in order, %s", emit)
	default:
		fmt.Fprintf(b, "  watermark %s behind, %s", formatDuration(w.MaxOutOfOrderness), emit)
	}
	if w.IdleTimeout > 0 {
		fmt.Fprintf(b, ", idle after %s", formatDuration(w.IdleTimeout))
	}
	if a := w.Alignment; a != nil {
		fmt.Fprintf(b, ", at most %s ahead of the group %s", formatDuration(a.MaxDrift), a.Group)
	}
	b.WriteByte('\n')
}

// changes marks a stream whose rows may take others back.
func changes(changing bool) string {
	if changing {
		return ", with changes"
	}
	return ""
}

func columns(s *stream.Schema, at []int) string {
	if len(at) == 0 {
		return "nothing"
	}
	names := make([]string, len(at))
	for i, c := range at {
		names[i] = s.Fields()[c].Name
	}
	return strings.Join(names, ", ")
}

func (s *Step) render(b *strings.Builder) {
	fmt.Fprintf(b, "step %s: ", s.Name)
	switch {
	case s.WindowJoin != nil:
		j := s.WindowJoin
		fmt.Fprintf(b, "%s window join\n", j.Type)
		renderSides(b, &j.Left, &j.Right)
		renderOptions(b, &j.Options, j.Left.Input, j.Left.GapField, j.Left.TriggerField, j.Left.EvictorField)
		b.WriteByte('\n')
		s.renderFunctions(b)
	case s.CoGroup != nil:
		g := s.CoGroup
		b.WriteString("co-group\n")
		renderSides(b, &g.Left, &g.Right)
		renderOptions(b, &g.Options, g.Left.Input, g.Left.GapField, g.Left.TriggerField, g.Left.EvictorField)
		b.WriteByte('\n')
		s.renderFunctions(b)
	case s.IntervalJoin != nil:
		s.IntervalJoin.render(b)
		s.renderFunctions(b)
	case s.Process != nil && s.Sides() != nil:
		b.WriteString("two inputs\n")
	default:
		fmt.Fprintf(b, "from %s\n  input %s\n", list(s.From), s.Input)
	}
	if s.Combine != CombineMin {
		fmt.Fprintf(b, "  watermark is the %s of its inputs\n", s.Combine)
	}
	if s.IgnoreChanges {
		b.WriteString("  changes are taken as plain records\n")
	}
	if s.Each != nil {
		s.Each.render(b, s.Input)
	}
	if s.Pass != nil {
		fmt.Fprintf(b, "  the key stands behind %s\n", columns(s.Input, s.Pass))
	}
	if s.OnFault != Fail {
		fmt.Fprintf(b, "  on fault %s, up to a rate of %g\n", s.OnFault, s.FaultRate)
	}
	if l := s.Limits.String(); l != "" {
		fmt.Fprintf(b, "  limits: %s\n", l)
	}
	if s.Window != nil {
		s.renderWindow(b)
	}
	if s.Enrich != nil {
		s.Enrich.render(b, s)
	}
	if s.Process != nil {
		s.renderProcess(b)
	}
	fmt.Fprintf(b, "  output %s%s\n", s.Output, changes(s.Changing))
}

func (s *Step) renderWindow(b *strings.Builder) {
	w := s.Window
	fmt.Fprintf(b, "  key %s\n", columns(s.Input, s.KeyBy))
	renderOptions(b, &w.Options, s.Input, w.GapField, w.TriggerField, w.EvictorField)
	if w.LateOutput != "" {
		fmt.Fprintf(b, ", late output %s", w.LateOutput)
	}
	if w.Output != Append {
		fmt.Fprintf(b, ", output %s", w.Output)
	}
	b.WriteByte('\n')
	for _, a := range w.Aggregates {
		argument := ""
		if a.Column >= 0 {
			argument = "(" + s.Input.Fields()[a.Column].Name + ")"
		}
		fmt.Fprintf(b, "  %s %s = %s%s\n", a.Name, a.Type, a.Kind, argument)
	}
	s.renderFunctions(b)
}

// renderFunctions tells of the functions of a step. One that takes what another made
// has no columns of the step.
func (s *Step) renderFunctions(b *strings.Builder) {
	inputs := []*stream.Schema{s.Input}
	if sides := s.Sides(); sides != nil {
		inputs = []*stream.Schema{sides[0].Input, sides[1].Input}
	}
	for _, f := range s.Functions {
		if w := s.Window; w != nil && f == w.Apply && (w.Function != nil || w.Reduce != nil || len(w.Aggregates) > 0) {
			f.render(b, f.Inputs[0].Schema)
			continue
		}
		f.render(b, inputs...)
	}
}

func renderSides(b *strings.Builder, left, right *Side) {
	for i, s := range []*Side{left, right} {
		fmt.Fprintf(b, "  %s from %s\n    input %s\n    key %s\n    puts out %s\n", joinWords[LeftJoin+JoinType(i)], list(s.From), s.Input, columns(s.Input, s.Key), columns(s.Input, s.Output))
		if s.LateOutput != "" {
			fmt.Fprintf(b, "    late output %s\n", s.LateOutput)
		}
	}
}

func (j *IntervalJoin) render(b *strings.Builder) {
	fmt.Fprintf(b, "%s interval join\n", j.Type)
	renderSides(b, &j.Left, &j.Right)
	bound := func(ms int64, exclusive bool) string {
		switch {
		case ms == math.MinInt64 || ms == math.MaxInt64:
			return "without bound"
		case exclusive:
			return formatDuration(ms) + " exclusive"
		}
		return formatDuration(ms)
	}
	fmt.Fprintf(b, "  right after left by %s to %s\n", bound(j.Lower, j.LowerExclusive), bound(j.Upper, j.UpperExclusive))
}

// renderOptions tells which windows there are and when they fire; the columns
// are those of one side.
func renderOptions(b *strings.Builder, o *window.Options, s *stream.Schema, gap, trigger, evictor int) {
	a := o.Assigner
	name := func(column int) string { return s.Fields()[column].Name }
	switch a.Kind {
	case window.Tumbling:
		fmt.Fprintf(b, "  tumbling windows of %s, offset %s", formatDuration(a.Size), formatDuration(a.Offset))
	case window.Sliding:
		fmt.Fprintf(b, "  sliding windows of %s every %s, offset %s", formatDuration(a.Size), formatDuration(a.Slide), formatDuration(a.Offset))
	case window.Session:
		if gap >= 0 {
			fmt.Fprintf(b, "  sessions with the gap %s", name(gap))
		} else {
			fmt.Fprintf(b, "  sessions with a gap of %s", formatDuration(a.Gap))
		}
		if a.Overlapping {
			b.WriteString(", those that touch stay two")
		}
	case window.GlobalWindows:
		b.WriteString("  global windows")
	case window.FunctionWindows:
		b.WriteString("  windows of a function")
	}
	if a.Zone != nil {
		fmt.Fprintf(b, ", days of %s", a.Zone)
	}
	if a.Processing {
		b.WriteString(", processing time")
	}
	fmt.Fprintf(b, ", lateness %s", formatDuration(o.AllowedLateness))
	if o.Trigger != nil {
		column := ""
		if trigger >= 0 {
			column = name(trigger)
		}
		fmt.Fprintf(b, ", trigger %s", triggerText(o.Trigger, column))
	}
	if e := o.Evictor; e != nil {
		switch e.Kind {
		case window.ByCount:
			fmt.Fprintf(b, ", evictor keeps %d", e.Count)
		case window.ByTime:
			fmt.Fprintf(b, ", evictor keeps the last %s", formatDuration(e.Size))
		case window.ByDelta:
			fmt.Fprintf(b, ", evictor keeps %s within %g", name(evictor), e.Threshold)
		case window.ByFunction:
			b.WriteString(", evictor is a function")
		}
		if e.After {
			b.WriteString(", after")
		}
	}
}

// triggerText is a trigger as the job file writes it.
func triggerText(t *window.Trigger, column string) string {
	word := ""
	for name, known := range triggerKinds {
		if known.kind == t.Kind {
			word = name
		}
	}
	switch t.Kind {
	case window.Count:
		return fmt.Sprintf("{%s: %d}", word, t.Count)
	case window.ContinuousEventTime, window.ContinuousProcessingTime:
		return fmt.Sprintf("{%s: %s}", word, formatDuration(t.Interval))
	case window.Purging:
		return fmt.Sprintf("{%s: %s}", word, triggerText(t.Nested, column))
	case window.Delta:
		return fmt.Sprintf("{%s: {field: %s, threshold: %g}}", word, column, t.Threshold)
	case window.Timeout:
		return fmt.Sprintf("{%s: {trigger: %s, after: %s, reset: %t}}", word, triggerText(t.Nested, column), formatDuration(t.Interval), t.Reset)
	}
	return word
}
