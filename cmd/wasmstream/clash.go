package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/wasmstream/wasmstream/host/connector/file"
	"github.com/wasmstream/wasmstream/host/job"
)

// usedFile is a file that a job uses, as the disk has it.
type usedFile struct {
	what string      // such as "in.ndjson, which sources.flights reads"
	path string      // absolute, without symbolic links
	info os.FileInfo // nil: there is none yet
}

func newUsedFile(what, path string) usedFile {
	u := usedFile{what: what, path: path}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		u.path = real
	}
	if absolute, err := filepath.Abs(u.path); err == nil {
		u.path = absolute
	}
	if info, err := os.Stat(path); err == nil {
		u.info = info
	}
	return u
}

// is tells whether two are one file: by name, or by what the disk has there.
func (u *usedFile) is(v *usedFile) bool {
	return u.path == v.path || u.info != nil && v.info != nil && os.SameFile(u.info, v.info)
}

// clashes looks for files that a job would use in ways that exclude each other, by
// whatever names. That two paths are the same text was looked at when the job was
// read; here the disk says what they lead to.
func clashes(plan *job.Job, path string) job.Problems {
	problems := sharedPipes(plan, path)
	used := []usedFile{newUsedFile("the job file itself", path)}
	for _, m := range plan.Modules {
		used = append(used, newUsedFile(m.Shown+", the file of modules."+m.Name, m.Path))
	}
	for _, s := range plan.Sources {
		if f := s.Connector.File; f != nil {
			used = append(used, newUsedFile(f.Shown+", which sources."+s.Name+" reads", f.Path))
		}
	}
	for _, s := range plan.Sinks {
		f := s.Connector.File
		if f == nil {
			continue
		}
		target, err := file.Target(f.Path)
		if err != nil {
			continue // opening the sink says so
		}
		part := file.Part(target)
		names := []usedFile{
			newUsedFile(f.Shown+", which sinks."+s.Name+" writes", target),
			newUsedFile(filepath.Base(part)+", the part file of sinks."+s.Name, part),
		}
		if own, other := firstSame(names, used); own != nil {
			problems = append(problems, clash(path, "sinks."+s.Name, f, "The file %s, is the same as %s; a sink needs a file of its own", own.what, other.what))
		}
		used = append(used, names...)
	}
	return problems
}

// firstSame is the first of a sink's files that is one of those used already.
func firstSame(names, used []usedFile) (own, other *usedFile) {
	for i := range names {
		for j := range used {
			if names[i].is(&used[j]) {
				return &names[i], &used[j]
			}
		}
	}
	return nil, nil
}

// sharedPipes finds sources that would take each other's records away: two that
// read one pipe or terminal.
func sharedPipes(plan *job.Job, path string) (problems job.Problems) {
	var used []usedFile
	null, _ := os.Stat(os.DevNull) // which has nothing that could be taken away
	for _, s := range plan.Sources {
		f := s.Connector.File
		if f == nil {
			continue
		}
		u := newUsedFile(f.Shown+", which sources."+s.Name+" reads", f.Path)
		if u.info == nil || u.info.Mode().IsRegular() || u.info.IsDir() || os.SameFile(u.info, null) {
			continue
		}
		if _, other := firstSame([]usedFile{u}, used); other != nil {
			problems = append(problems, clash(path, "sources."+s.Name, f, "The file %s, is %s and the same as %s; each would get only some of the records, so let both steps read one source", u.what, file.Kind(u.info.Mode()), other.what))
		}
		used = append(used, u)
	}
	return problems
}

func clash(path, field string, f *job.FileConnector, format string, args ...any) job.Problem {
	return job.Problem{File: path, Line: f.Line, Column: f.Column, Field: field + ".file.path", Message: fmt.Sprintf(format, args...)}
}
