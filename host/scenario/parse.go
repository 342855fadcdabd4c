package scenario

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/wasmstream/wasmstream/host/stream"
)

// Scenario is a scenario file that was read.
type Scenario struct {
	path    string
	job     []byte            // the job's text; nil: jobFile has it
	jobFile string            // as the scenario writes it
	jobLine int               // line of the file before the job's first
	files   map[string][]byte // further sections by name
	text    []string          // lines of the whole file, each with what ends it
	from    int               // the script is lines[from:to]
	to      int
	actions []action
}

// The names of sections that mean something.
const (
	sectionJob     = "job.yaml"
	sectionJobFile = "job"
	sectionScript  = "script"
)

// errorsMax bounds how many mistakes are told of one file.
const errorsMax = 20

// parser reads one file.
type parser struct {
	*Scenario
	errs Errors
}

func (p *parser) wrong(line int, format string, args ...any) {
	if len(p.errs) < errorsMax {
		p.errs = append(p.errs, &Error{p.path, line, fmt.Sprintf(format, args...)})
	}
}

// Parse reads a scenario file. The path is for messages, and for finding the job
// file that the scenario may name and its modules. The error is of type Errors.
func Parse(path string, text []byte) (*Scenario, error) {
	p := &parser{Scenario: &Scenario{path: path, files: map[string][]byte{}}}
	p.text = strings.SplitAfter(string(text), "\n")
	if last := len(p.text) - 1; p.text[last] == "" {
		p.text = p.text[:last]
	}
	p.sections(txtar.Parse(text))
	p.script()
	p.order()
	if len(p.errs) > 0 {
		return nil, p.errs
	}
	return p.Scenario, nil
}

// sections takes the archive apart. The archive has only whole lines, so the
// lines before a section are those of the ones before it and their headers.
func (p *parser) sections(a *txtar.Archive) {
	line := bytes.Count(a.Comment, []byte("\n"))
	seen := map[string]int{}
	for _, f := range a.Files {
		line++
		if before := seen[f.Name]; before > 0 {
			p.wrong(line, "the section %s is there twice: the first is in line %d", f.Name, before)
		} else {
			seen[f.Name] = line
			p.section(f, line)
		}
		line += bytes.Count(f.Data, []byte("\n"))
	}
	names := slices.Collect(maps.Keys(seen))
	switch job, file := seen[sectionJob], seen[sectionJobFile]; {
	case job > 0 && file > 0:
		p.wrong(max(job, file), "there are two jobs, %s and %s; a scenario has one", sectionJob, sectionJobFile)
	case job+file == 0:
		p.wrong(1, "there is no job: no section begins with \"-- %s --\" or \"-- %s --\"%s", sectionJob, sectionJobFile,
			meant(stream.Nearest(sectionJob, names)))
	}
	if seen[sectionScript] == 0 {
		p.wrong(1, "there is no script: no section begins with \"-- %s --\"%s", sectionScript,
			meant(stream.Nearest(sectionScript, names)))
	}
}

// section takes the section whose header is in the line.
func (p *parser) section(f txtar.File, line int) {
	switch f.Name {
	case sectionJob:
		p.job, p.jobLine = f.Data, line
		if p.job == nil {
			p.job = []byte{}
		}
	case sectionJobFile:
		p.jobFile, p.jobLine = strings.TrimSpace(string(f.Data)), line
		if p.jobFile == "" || strings.Contains(p.jobFile, "\n") {
			p.wrong(line, "the section %s has to have one line, the path of the job file", sectionJobFile)
		}
	case sectionScript:
		p.from, p.to = line, line+bytes.Count(f.Data, []byte("\n"))
	default:
		name := path.Clean(f.Name)
		if !isWithin(name) {
			p.wrong(line, "the section %s is not in the job's folder, where it would be laid", f.Name)
		}
		p.files[name] = f.Data
	}
}

// isWithin tells whether a clean path with slashes stays in its folder.
func isWithin(name string) bool {
	return !path.IsAbs(name) && name != "." && name != ".." && !strings.HasPrefix(name, "../")
}

func (p *parser) script() {
	for i := p.from; i < p.to; i++ {
		line := strings.TrimSpace(p.text[i])
		if line == "" || line[0] == '#' {
			continue
		}
		a, err := parseAction(line)
		if err != nil {
			p.wrong(i+1, "%v", err)
			continue
		}
		a.line = i + 1
		p.actions = append(p.actions, a)
	}
}

// order finds what is wrong with the order of the lines: it can be told without
// the job.
func (p *parser) order() {
	checkpoints := map[string]map[string]bool{} // the sources that had ended, by checkpoint
	ended := map[string]bool{}
	failed := 0 // the line of the last want-error, unless a restore followed
	var clockNow stream.ProcTime
	for i := range p.actions {
		a := &p.actions[i]
		if failed > 0 && a.kind != restore {
			p.wrong(a.line, "the job has failed in line %d; only a restore may follow", failed)
			return // whatever follows is wrong for the same reason
		}
		switch a.kind {
		case wantError:
			failed = a.line
		case emit:
			if ended[a.name] {
				p.wrong(a.line, "the source %s has ended: it emits nothing any more", a.name)
			}
		case end:
			ended[a.name] = true
		case clock:
			if a.now < clockNow {
				p.wrong(a.line, "the clock stands at %d and cannot go back", clockNow)
			}
			clockNow = max(clockNow, a.now)
		case keepCheckpoint:
			checkpoints[a.name] = maps.Clone(ended)
		case restore:
			of, ok := checkpoints[a.name]
			if !ok {
				p.wrong(a.line, "no checkpoint %s was taken before%s", a.name,
					meant(stream.Nearest(a.name, slices.Sorted(maps.Keys(checkpoints)))))
			}
			ended, failed = maps.Clone(of), 0
			if ended == nil {
				ended = map[string]bool{}
			}
		}
	}
}
