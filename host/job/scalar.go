package job

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmstream/wasmstream/host/stream"
)

// checkScalar checks a value that is no mapping and no list, and keeps what it
// says in the node.
func (c *checker) checkScalar(n *node, s *shape, path string) {
	if n.form == textForm && !c.expand(n, path) {
		return
	}
	if n.unset && s.what != isWord {
		n.ok = true // nobody will look at the value
		return
	}
	message := ""
	switch s.what {
	case isScalar: // what it must be is its function's to say
	case isInteger:
		message = integerProblem(n, s)
	case isNumber:
		message = numberProblem(n, s)
	case isInstant:
		message = instantProblem(n, s)
	case isFlag:
		if n.form != boolForm && !(n.fromVariable() && (n.text == "true" || n.text == "false")) {
			message = "must be true or false; it is " + n.shown()
		}
	case isWord:
		c.checkWord(n, s, path)
		return
	default:
		message = textProblem(n, s)
	}
	if message == "" && s.what == isPattern {
		message = c.pattern(n)
	}
	if message != "" {
		c.wrong(n, path, "%s %s", last(path), message)
		return
	}
	n.ok = true
}

// textProblem checks what is written as text.
func textProblem(n *node, s *shape) string {
	wanted := map[what]string{isDuration: "a duration", isBytes: "a size", isType: "a Flink SQL type", isCall: "an aggregate", isFunction: "a function", isAddress: "an address", isTopic: "a topic", isPattern: "a regular expression"}[s.what]
	if wanted == "" {
		wanted = "text"
	} else if s.example != "" {
		wanted += ", such as " + s.example
	}
	switch n.form {
	case textForm:
	case intForm, floatForm, boolForm:
		if s.what == isDuration || s.what == isBytes {
			return fmt.Sprintf("must be %s; %s lacks a unit", wanted, n.written)
		}
		if wanted == "text" {
			return fmt.Sprintf("must be text; %s is %s unless it is put in quotes", n.written, formNames[n.form])
		}
		fallthrough
	default:
		return fmt.Sprintf("must be %s; it is %s", wanted, n.shown())
	}
	switch s.what {
	case isText:
		if n.text == "" {
			return "must not be empty"
		}
		if strings.ContainsRune(n.text, 0) {
			return "must not hold the character NUL"
		}
	case isName:
		if problem := nameProblem(n.text, false); problem != "" {
			return fmt.Sprintf("must be a name; %s is none: %s", quote(n.written), problem)
		}
	case isDuration:
		return durationProblem(n, s)
	case isBytes:
		return bytesProblem(n, s)
	case isType:
		return checkType(n)
	case isAddress:
		return addressProblem(n)
	case isTopic:
		return topicProblem(n)
	case isFunction:
		if module, function, _ := strings.Cut(n.text, "."); module == "" || function == "" {
			where := ""
			if !strings.Contains(n.text, ".") {
				where = ", without the name of its module"
			}
			return fmt.Sprintf("must be a function as module.function; it is %s%s", quote(n.written), where)
		}
	}
	return ""
}

func integerProblem(n *node, s *shape) string {
	v, err := strconv.ParseInt(n.text, 10, 64)
	number := n.form == intForm || n.fromVariable()
	if !number || err != nil && !errors.Is(err, strconv.ErrRange) || len(n.text) > 1 && n.text[0] == '0' {
		return "must be a whole number; it is " + n.shown()
	}
	if s.min == s.max && v != s.min {
		return fmt.Sprintf("must be %d; it is %s", s.min, n.shown())
	}
	if v < s.min && s.max == math.MaxInt64 {
		return fmt.Sprintf("must be at least %d; it is %s", s.min, n.shown())
	}
	if err != nil || v < s.min || v > s.max {
		return fmt.Sprintf("must be a number from %d to %d; it is %s", s.min, s.max, n.shown())
	}
	n.number = v
	return ""
}

// numberProblem wants a number that can be compared with.
func numberProblem(n *node, s *shape) string {
	v, err := floatValue(n, stream.Double)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return "must be a number; it is " + n.shown()
	}
	if s.most != 0 && (v < s.least || v > s.most) {
		return fmt.Sprintf("must be a number from %g to %g; it is %s", s.least, s.most, n.shown())
	}
	n.float = v
	return ""
}

// checkWord takes a word of a closed set. What is not offered yet may also be
// written as a mapping.
func (c *checker) checkWord(n *node, s *shape, path string) {
	word, line, column := n.text, n.line, n.column
	if n.form == mappingForm && len(n.entries) > 0 && len(s.later) > 0 {
		word, line, column = n.entries[0].key, n.entries[0].line, n.entries[0].column
	} else if n.form == mappingForm || n.form == listForm || n.form == nullForm {
		c.wrong(n, path, "%s must be one of %s; it is %s", last(path), strings.Join(slices.Concat(s.words, s.mapped), ", "), n.shown())
		return
	}
	switch {
	case n.form != mappingForm && slices.Contains(s.words, word):
		n.ok = true
	case slices.Contains(s.words, word):
		c.add(line, column, path, "%s must be the word %s alone; it is a mapping", last(path), word)
	case slices.Contains(s.mapped, word):
		c.add(line, column, path, "The word %s needs a value: write {%s: …}", word, word)
	case slices.Contains(s.later, word):
		c.later(line, column, path, "The %s %s is not offered yet", last(path), word)
	default:
		all := slices.Concat(s.words, s.mapped, s.later)
		known := "it is one of "
		if len(all) == 1 {
			known = "it must be "
		}
		c.add(line, column, path, "%s cannot be %s%s", last(path), quote(word), c.suggest(word, all, known))
	}
}

func checkType(n *node) string {
	t, err := stream.ParseType(n.text)
	if err != nil {
		hint := ""
		if strings.ContainsAny(n.text, "(<") && !strings.ContainsAny(n.text, ")>") {
			hint = "; a type with a comma in it must be put in quotes"
		}
		return "is wrong: " + err.Error() + hint
	}
	n.typ = &t
	return ""
}

// expand replaces ${NAME} in a text by the variable of that name, and $${ by ${.
func (c *checker) expand(n *node, path string) bool {
	if n.expanded {
		return true
	}
	n.expanded = true
	var b strings.Builder
	rest, sound := n.text, true
	for {
		before, after, found := strings.Cut(rest, "${")
		if literal, escaped := strings.CutSuffix(before, "$"); found && escaped {
			b.WriteString(literal + "${")
			rest = after
			continue
		}
		b.WriteString(before)
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed || !isVariable(name) {
			c.wrong(n, path, "%s has a ${ that is not followed by the name of an environment variable and }; $${ stands for ${ itself", last(path))
			return false
		}
		value, set := "", false
		if c.o.Getenv != nil {
			value, set = c.o.Getenv(name)
		}
		if !set && !c.replaced {
			c.wrong(n, path, "The environment variable %s, which %s uses, is not set", name, last(path))
			sound = false
		}
		n.unset = n.unset || !set
		n.variable = true
		b.WriteString(value)
		rest = tail
	}
	n.text = b.String()
	if n.text == "" && c.replaced {
		n.text = n.written // a connector that is not opened needs no true address
	}
	return sound
}

// fromVariable tells of a text that comes from a variable, so may stand for a
// number or a truth value.
func (n *node) fromVariable() bool { return n.form == textForm && n.variable }

func isVariable(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

func durationProblem(n *node, s *shape) string {
	ms, message := stream.ParseDuration(n.text)
	switch {
	case message != "":
		return quote(n.written) + " " + message + ourDuration(n.text)
	case s.min == 1 && ms < 1:
		return "must be positive; it is " + n.written
	case s.min == 0 && ms < 0:
		return "must not be negative; it is " + n.written
	case ms < s.min:
		return fmt.Sprintf("must be at least %s; it is %s", formatDuration(s.min), n.written)
	case ms > s.max:
		return fmt.Sprintf("must be at most %s; it is %s", formatDuration(s.max), n.written)
	}
	n.number = ms
	return ""
}

// flinkUnits are the words that Flink's configuration has for our units.
var flinkUnits = regexp.MustCompile(`\s*(milliseconds?|millis?|ms|seconds?|sec|minutes?|min|hours?|days?|[smhd])\s*`)

// ourDuration proposes how to write what Flink's configuration takes and we do
// not: "3 s", "10 min".
func ourDuration(text string) string {
	const bytesMax = 64
	if len(text) > bytesMax {
		return ""
	}
	ours := flinkUnits.ReplaceAllStringFunc(strings.ToLower(strings.TrimSpace(text)), func(unit string) string {
		if unit = strings.TrimSpace(unit); unit == "ms" || strings.HasPrefix(unit, "milli") {
			return "ms"
		}
		return unit[:1]
	})
	if ms, message := stream.ParseDuration(ours); message == "" && ours != text {
		return "; did you mean " + formatDuration(ms) + "?"
	}
	return ""
}

// formatDuration writes milliseconds as job files have them.
func formatDuration(ms int64) string { return stream.FormatDuration(ms) }

// milliseconds turns what is at most DelayMax into Go's duration.
func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func bytesProblem(n *node, s *shape) string {
	digits := len(n.text) - len(strings.TrimLeft(n.text, "0123456789"))
	scale, known := map[string]int64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[n.text[digits:]]
	if digits == 0 || !known {
		return quote(n.written) + " is no size: a size is a number with the unit B, KiB, MiB or GiB, such as 16MiB"
	}
	v, err := strconv.ParseInt(n.text[:digits], 10, 64)
	if err != nil || v < 0 || v > s.max/scale || v*scale < s.min {
		return fmt.Sprintf("must be from %s to %s; it is %s", formatBytes(s.min), formatBytes(s.max), n.written)
	}
	n.number = v * scale
	return ""
}

func formatBytes(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}
