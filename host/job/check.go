package job

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/host/stream"
)

// ProblemsMax is how many problems are told; a job with more has one cause.
const ProblemsMax = 100

// checker collects problems and holds values to their shapes.
type checker struct {
	o        Options
	problems []Problem
	warnings []Problem
	patterns map[string]*regexp.Regexp // those compiled so far, by text
	replaced bool                      // within a connector that a scenario's script stands in for
}

func (c *checker) add(line, column int, path, format string, args ...any) {
	c.append(Problem{Line: line, Column: column, Field: path, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) append(p Problem) {
	if !c.full() {
		p.File = c.o.File
		c.problems = append(c.problems, p)
	}
}

// full tells that no more problems are taken: what is costly to tell need not
// be found out.
func (c *checker) full() bool { return len(c.problems) >= ProblemsMax }

// wrong adds a problem of a value.
func (c *checker) wrong(n *node, path, format string, args ...any) {
	c.add(n.line, n.column, path, format, args...)
}

// later adds what is not offered yet.
func (c *checker) later(line, column int, path, format string, args ...any) {
	c.append(Problem{Line: line, Column: column, Field: path, Message: fmt.Sprintf(format, args...), Unsupported: true})
}

func (c *checker) warn(n *node, path, format string, args ...any) {
	if len(c.warnings) < ProblemsMax {
		c.warnings = append(c.warnings, Problem{File: c.o.File, Line: n.line, Column: n.column, Field: path, Message: fmt.Sprintf(format, args...)})
	}
}

// last is the last part of a path: what messages call the value.
func last(path string) string {
	if path == "" {
		return "The job file"
	}
	return path[strings.LastIndexByte(path, '.')+1:]
}

// check holds a value to a shape; n.ok tells the result. Values that are not ok
// are left alone by everything after it, so nothing is reported twice.
func (c *checker) check(n *node, s *shape, path string) {
	for s.what == isEither {
		s = s.choose(n)
	}
	switch s.what {
	case isFields, isNamed:
		if c.form(n, mappingForm, "a mapping", s, path) {
			switch {
			case s.what == isFields:
				n.ok = true
				c.checkFields(n, s, path)
			case s.columns && len(n.entries) > ColumnsMax:
				c.wrong(n, path, "%s has %d entries; at most %d are allowed", last(path), len(n.entries), ColumnsMax)
			default:
				n.ok = true
				c.checkNamed(n, s, path)
			}
		}
	case isList:
		if !c.form(n, listForm, "a list", s, path) {
			return
		}
		if len(n.items) == 0 {
			c.wrong(n, path, "%s must have at least one element", last(path))
			return
		}
		n.ok = true
		for i, item := range n.items {
			c.check(item, s.of, fmt.Sprintf("%s[%d]", path, i))
		}
	default:
		c.checkScalar(n, s, path)
	}
}

func (c *checker) form(n *node, f form, wanted string, s *shape, path string) bool {
	if n.form == f {
		return true
	}
	example := ""
	if s.example != "" {
		example = ", such as " + s.example
	}
	c.wrong(n, path, "%s must be %s%s; it is %s", last(path), wanted, example, n.shown())
	return false
}

// checkFields checks a mapping of fixed fields.
func (c *checker) checkFields(n *node, s *shape, path string) {
	for _, e := range n.entries {
		i := slices.IndexFunc(s.fields, func(f field) bool { return f.name == e.key })
		at := join(path, e.key)
		if i < 0 {
			c.unknownField(n, e, s, path)
			continue
		}
		f := s.fields[i]
		replaced := f.connector && c.o.Test
		switch {
		case replaced && f.later:
			e.value.ok = true
		case f.later:
			c.later(e.line, e.column, at, "%s is not offered yet", e.key)
		default:
			before := c.replaced
			c.replaced = c.replaced || replaced
			c.check(e.value, f.shape, at)
			c.replaced = before
			if f.required && f.shape.what == isNamed && e.value.ok && len(e.value.entries) == 0 {
				c.wrong(e.value, at, "%s must name at least one %s", e.key, f.shape.noun)
			}
		}
	}
	for _, f := range s.fields {
		if f.required && !n.has(f.name) {
			c.wrong(n, path, "The field %s is missing%s", f.name, explained(f.doc))
		}
	}
	for _, group := range s.one {
		c.checkChoice(n, s, group, path)
	}
}

// explained is a field's doc as the rest of a sentence.
func explained(doc string) string {
	doc = strings.TrimSuffix(doc, ".")
	if doc == "" {
		return ""
	}
	return " (" + strings.ToLower(doc[:1]) + doc[1:] + ")"
}

func (c *checker) unknownField(n *node, e entry, s *shape, path string) {
	at := join(path, e.key)
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	if near := nearest(e.key, names); near != "" {
		n.meant = append(n.meant, near)
	}
	where := "A job"
	if path != "" {
		where = path
	}
	if slices.Contains(s.words, e.key) {
		c.add(e.line, e.column, path, "%s must be the word %s alone; it is a mapping", last(path), e.key)
		n.meant = append(n.meant, names...)
		return
	}
	names = append(names, s.words...)
	if len(names) == 0 {
		c.add(e.line, e.column, at, "%s has no fields, so no %s", where, quote(e.key))
		return
	}
	c.add(e.line, e.column, at, "%s has no field %s%s", where, quote(e.key), c.suggest(e.key, names, "its fields are "))
}

// nearest is the known name that a wrong one probably stands for, or "".
func nearest(name string, known []string) string {
	const bytesMax, knownMax = 64, 1000 // the search takes time that grows with all of them
	if len(name) > bytesMax {
		return ""
	}
	return stream.Nearest(name, known[:min(len(known), knownMax)])
}

// suggest ends a sentence about an unknown name: with the nearest one, else
// with all of them.
func (c *checker) suggest(name string, known []string, all string) string {
	if c.full() {
		return ""
	}
	if near := nearest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	const most = 20
	if len(known) == 0 {
		return ""
	}
	if len(known) > most {
		return fmt.Sprintf("; %s%s and %d more", all, strings.Join(known[:most], ", "), len(known)-most)
	}
	return "; " + all + strings.Join(known, ", ")
}

// checkChoice wants exactly one field of a group.
func (c *checker) checkChoice(n *node, s *shape, group choice, path string) {
	var offered, there []string
	for _, f := range s.fields {
		if slices.Contains(group.names, f.name) && !f.later && (f.name != testField.name || c.o.Test) {
			offered = append(offered, f.name)
		}
	}
	for _, e := range n.entries {
		if slices.Contains(group.names, e.key) {
			there = append(there, e.key)
		}
	}
	switch {
	case slices.ContainsFunc(group.names, func(name string) bool { return slices.Contains(n.meant, name) }):
	case len(there) == 0:
		c.wrong(n, path, "%s needs %s %s: %s", path, article(group.noun), group.noun, strings.Join(offered, ", "))
	case len(there) > 1:
		c.wrong(n.get(there[1]), join(path, there[1]), "%s has more than one %s: %s; exactly one is allowed", path, group.noun, strings.Join(there, ", "))
	}
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an"
	}
	return "a"
}

// checkNamed checks a mapping whose keys the user chose.
func (c *checker) checkNamed(n *node, s *shape, path string) {
	for _, e := range n.entries {
		at := join(path, e.key)
		if message := nameProblem(e.key, s.columns); message != "" {
			c.add(e.line, e.column, at, "%s cannot be the name of a %s: %s", quote(e.key), s.noun, message)
		}
		c.check(e.value, s.of, at)
	}
}

// nameProblem says what is wrong with a name, "" if nothing is. Dots would be
// ambiguous: they stand between a step and its output, a module and its function.
func nameProblem(name string, column bool) string {
	switch {
	case name == "":
		return "it is empty"
	case len(name) > NameBytesMax:
		return fmt.Sprintf("it is longer than %d bytes", NameBytesMax)
	case column:
		return ""
	}
	for _, r := range name {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return fmt.Sprintf("it has %q in it, and only letters, digits, _ and - are allowed", r)
		}
	}
	return ""
}
