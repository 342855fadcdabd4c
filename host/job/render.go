package job

import (
	"fmt"
	"strings"

	"github.com/wasmstream/wasmstream/host/stream"
)

// String tells the plan in a few lines for people: what flows from where to
// where, with which columns.
func (j *Job) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "job %s: parallelism %d of %d, buffer-timeout %s\n", j.Name, j.Parallelism, j.MaxParallelism, formatDuration(j.BufferTimeout.Milliseconds()))
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
		fmt.Fprintf(&b, "sink %s: %s from %s\n  input %s\n", s.Name, s.Connector, list(s.From), s.Input)
	}
	return b.String()
}

// String is the connector in a few words.
func (c Connector) String() string {
	if c.File == nil {
		return "test"
	}
	text := fmt.Sprintf("file %s (%s)", c.File.Shown, c.File.Format)
	if c.File.RecordBytesMax != 0 {
		text += ", records of at most " + formatBytes(int64(c.File.RecordBytesMax))
	}
	return text
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
	if s.IngestionTime {
		b.WriteString("  event time is when a record is read\n")
	}
	if w := s.Watermark; w != nil {
		emit := "periodic"
		if w.OnEvent {
			emit = "on event"
		}
		fmt.Fprintf(b, "  watermark %s behind, %s", formatDuration(w.MaxOutOfOrderness), emit)
		if w.IdleTimeout > 0 {
			fmt.Fprintf(b, ", idle after %s", formatDuration(w.IdleTimeout))
		}
		b.WriteByte('\n')
	}
}

func columns(s *stream.Schema, at []int) string {
	names := make([]string, len(at))
	for i, c := range at {
		names[i] = s.Fields()[c].Name
	}
	return strings.Join(names, ", ")
}

func (s *Step) render(b *strings.Builder) {
	fmt.Fprintf(b, "step %s: from %s\n  input %s\n", s.Name, list(s.From), s.Input)
	if w := s.Window; w != nil {
		fmt.Fprintf(b, "  key %s\n", columns(s.Input, s.KeyBy))
		t := w.Options.Assigner
		fmt.Fprintf(b, "  tumbling windows of %s, offset %s, lateness %s", formatDuration(t.Size), formatDuration(t.Offset), formatDuration(w.Options.AllowedLateness))
		if w.LateOutput != "" {
			fmt.Fprintf(b, ", late output %s", w.LateOutput)
		}
		b.WriteByte('\n')
		for _, a := range w.Aggregates {
			argument := ""
			if a.Column >= 0 {
				argument = "(" + s.Input.Fields()[a.Column].Name + ")"
			}
			fmt.Fprintf(b, "  %s %s = %s%s\n", a.Name, a.Type, a.Kind, argument)
		}
		if f := w.Function; f != nil {
			fmt.Fprintf(b, "  function %s.%s, number %d, of (%s)\n    accumulator %s\n    result %s\n    parameters %s %x\n",
				f.Module.Name, f.Name, f.Index, columns(s.Input, f.Input), f.Accumulator, f.Result, f.ParameterSchema, []byte(f.Parameters))
		}
	}
	fmt.Fprintf(b, "  output %s\n", s.Output)
}
