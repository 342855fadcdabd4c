package reference

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Answer is what the reference says to a scenario.
type Answer struct {
	Text   string   // the scenario with its want lines and answers written anew
	Doubts []string // why the answer is no measure; nil: it is one
	Unlike []string // what Flink does otherwise by a fault, and the reference does not
}

// errFailed: a script goes on after the job failed, and not with a restore.
var errFailed = errors.New("the job has failed")

// run performs a script.
type run struct {
	plan         *plan
	restartEvery bool
	pipeline     *pipeline // nil: the job failed
	doubts       *doubts
	checkpoints  map[string]checkpoint
	watermarks   map[string]int64 // by source, since the last restart
	idle         map[string]bool
	dropped      map[string]int64 // by step, before the last restart
	clock        int64
	out          strings.Builder
	emits        string // the source of the last action, if that was an emit
}

// Fill writes the want lines of a scenario and the answers to its questions, in
// the form that an update of `wasmstream test` has. restartEvery restarts the job
// after every action, and repeats watermarks and idleness.
func Fill(scenario string, restartEvery bool) (Answer, error) {
	before, script, after := cut(scenario)
	_, jobText, ok := strings.Cut(before, "-- job.yaml --\n")
	if !ok {
		return Answer{}, errors.New("there is no job.yaml")
	}
	jobText, _, _ = strings.Cut(jobText, "\n-- ")
	plan, err := parsePlan(jobText)
	if err != nil {
		return Answer{}, err
	}
	r := &run{
		plan: plan, restartEvery: restartEvery, doubts: newDoubts(), checkpoints: map[string]checkpoint{},
		watermarks: map[string]int64{}, idle: map[string]bool{}, dropped: map[string]int64{},
	}
	if word := plan.refusal(); word != "" {
		return Answer{Text: before + "want-error " + word + "\n" + after}, nil
	}
	if err := r.attempt(func() error { return r.start(checkpoint{}) }); err != nil {
		return Answer{}, err
	}
	for line := range strings.Lines(script) {
		if err := r.line(line); err != nil {
			return Answer{}, fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
		}
	}
	return Answer{before + r.out.String() + after, r.doubts.list, r.doubts.unlike}, nil
}

// cut takes the script out of a scenario.
func cut(scenario string) (before, script, after string) {
	const header = "-- script --\n"
	i := strings.Index(scenario, header) + len(header)
	before, script = scenario[:i], scenario[i:]
	if j := strings.Index("\n"+script, "\n-- "); j >= 0 {
		script, after = script[:j], script[j:]
	}
	return before, script, after
}

// line performs one line, and writes it with what it led to.
func (r *run) line(line string) error {
	words := strings.Fields(line)
	switch {
	case len(words) == 0 || words[0][0] == '#':
		r.out.WriteString(line)
		return nil
	case words[0] == "want" || words[0] == "want-error":
		return nil
	case words[0] == "want-watermark" || words[0] == "want-late-dropped":
		fmt.Fprintf(&r.out, "%s %s %s\n", words[0], words[1], r.answer(words))
		return nil
	case r.pipeline == nil && words[0] != "restore":
		return errFailed
	}
	r.out.WriteString(strings.TrimRight(line, "\n") + "\n")
	if words[0] != "emit" || r.emits != words[1] {
		r.doubts.action++
	}
	r.emits = ""
	if words[0] == "emit" {
		r.emits = words[1]
	}
	return r.attempt(func() error {
		if err := r.act(words, strings.TrimSpace(line)); err != nil || !r.restartEvery {
			return err
		}
		return r.restartInPlace()
	})
}

func (r *run) answer(words []string) string {
	if words[0] == "want-late-dropped" {
		return fmt.Sprint(r.dropped[words[1]] + r.pipeline.operators[words[1]].dropped())
	}
	i := slices.IndexFunc(r.pipeline.sinks, func(s *sinkInput) bool { return s.name == words[1] })
	return timeText(r.pipeline.sinks[i].seen)
}

// attempt does something to the job and writes what the sinks receive. A failure
// of the job is a panic within the steps, and a line of the script here.
func (r *run) attempt(action func() error) (err error) {
	var failed failure
	func() {
		defer func() {
			if v := recover(); v != nil {
				word, ok := v.(failure)
				if !ok {
					panic(v) // a fault of the reference itself
				}
				failed = word
			}
		}()
		err = action()
	}()
	if r.pipeline != nil {
		for _, s := range r.pipeline.sinks {
			if failed != "" && len(s.received) > 0 {
				r.doubts.add("what an action put out before it failed")
			}
			r.writeReceived(s)
		}
	}
	if failed != "" {
		if out := r.pipeline.streams[r.emits]; out == nil || !out.single() {
			r.doubts.add("a failure while other steps have work to do")
		}
		r.stop()
		fmt.Fprintf(&r.out, "want-error %s\n", string(failed))
	}
	return err
}

// writeReceived writes what a sink received, by time, then text.
func (r *run) writeReceived(s *sinkInput) {
	type written struct {
		time int64
		line string
	}
	var lines []written
	for _, got := range s.received {
		line := "want " + s.name
		if got.change != "" {
			line += " " + got.change
		}
		line += " " + s.schema.write(got.row)
		if got.time != minTime {
			line += " @" + timeText(got.time)
		}
		lines = append(lines, written{got.time, line + "\n"})
	}
	s.received = nil
	slices.SortFunc(lines, func(a, b written) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.line, b.line)) })
	for _, w := range lines {
		r.out.WriteString(w.line)
	}
}

func (r *run) act(words []string, line string) (err error) {
	name := ""
	if len(words) > 1 {
		name = words[1]
	}
	switch words[0] {
	case "emit":
		return r.emit(name, line)
	case "watermark":
		var t int64
		if t, err = parseTime(words[2]); err == nil && !r.idle[name] && t > r.watermarkOf(name) {
			r.watermarks[name] = t
			r.pipeline.streams[name].watermark(t)
		}
	case "idle", "active":
		r.idle[name] = words[0] == "idle"
		r.pipeline.noteStatus()
		r.pipeline.streams[name].status(r.idle[name])
	case "clock":
		r.clock, err = parseTime(name)
		r.pipeline.clock(r.clock)
	case "end":
		delete(r.watermarks, name)
		delete(r.idle, name)
		r.pipeline.end(name)
	case "checkpoint":
		r.checkpoints[name] = r.pipeline.save()
	case "restore":
		err = r.start(r.checkpoints[name])
	case "restart":
		err = r.start(r.pipeline.save())
	default:
		err = errors.New("there is no such action")
	}
	return err
}

func (r *run) watermarkOf(source string) int64 {
	if t, ok := r.watermarks[source]; ok {
		return t
	}
	return minTime
}

// emit SOURCE [KIND] JSON [@T]
func (r *run) emit(name, line string) error {
	open, close := strings.IndexByte(line, '{'), strings.LastIndexByte(line, '}')
	i := slices.IndexFunc(r.plan.sources, func(s source) bool { return s.name == name })
	if i < 0 || open < 0 || close < open {
		return errors.New("no such source, or no record")
	}
	s := r.plan.sources[i]
	values, err := s.schema.read(line[open : close+1])
	if err != nil {
		return err
	}
	out := record{row: values, time: minTime}
	if head := strings.Fields(line[:open]); len(head) == 3 && head[2] != "+I" {
		out.change = head[2]
	}
	if at, ok := strings.CutPrefix(strings.TrimSpace(line[close+1:]), "@"); ok {
		if out.time, err = parseTime(at); err != nil {
			return err
		}
	} else if s.eventTime >= 0 && values[s.eventTime] != nil {
		out.time = values[s.eventTime].(int64)
	}
	r.pipeline.streams[name].record(out)
	return nil
}

// start builds the job anew. What a failed job had dropped still counts.
func (r *run) start(from checkpoint) error {
	var received [][]record // by the job before, because of this action
	if r.pipeline != nil {
		for _, s := range r.pipeline.sinks {
			received = append(received, s.received)
		}
	}
	r.stop()
	r.watermarks, r.idle = map[string]int64{}, map[string]bool{}
	p, err := newPipeline(r.plan, from, r.clock, r.doubts)
	if err != nil {
		return err
	}
	r.pipeline = p
	for i, list := range received {
		p.sinks[i].received = append(list, p.sinks[i].received...)
	}
	return nil
}

func (r *run) stop() {
	if r.pipeline == nil {
		return
	}
	for name, op := range r.pipeline.operators {
		r.dropped[name] += op.dropped()
	}
	r.pipeline = nil
}

func (r *run) restartInPlace() error {
	watermarks, idle := r.watermarks, r.idle
	if err := r.start(r.pipeline.save()); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(watermarks)) {
		r.watermarks[name] = watermarks[name]
		r.pipeline.streams[name].watermark(watermarks[name])
	}
	for _, name := range slices.Sorted(maps.Keys(idle)) {
		if idle[name] {
			r.idle[name] = true
			r.pipeline.streams[name].status(true)
		}
	}
	return nil
}
