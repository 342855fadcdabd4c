package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/wasmstream/wasmstream/host/stream"
)

// kind is what a line of a script does.
type kind uint8

const (
	emit kind = iota
	watermark
	idle
	active
	clock
	restart
	keepCheckpoint
	restore
	end
	reply
	want
	wantWatermark
	wantLateDropped
	wantError
)

// argument is a part of a line.
type argument uint8

const (
	name     argument = iota // of a source, sink, step or checkpoint
	moment                   // an event time
	now                      // a reading of the clock
	answer                   // a moment, or ? for an update to fill in
	count                    // a number, or ? likewise
	record                   // [KIND] JSON [@T], to the end of the line
	object                   // JSON, to the end of the line
	anything                 // text, to the end of the line
)

// form is how the lines of one kind are written.
type form struct {
	word      string
	usage     string
	arguments []argument
}

// forms are in the order of the kinds.
var forms = [...]form{
	emit:            {"emit", "emit SOURCE [KIND] JSON [@T]", []argument{name, record}},
	watermark:       {"watermark", "watermark SOURCE T", []argument{name, moment}},
	idle:            {"idle", "idle SOURCE", []argument{name}},
	active:          {"active", "active SOURCE", []argument{name}},
	clock:           {"clock", "clock T", []argument{now}},
	restart:         {"restart", "restart", nil},
	keepCheckpoint:  {"checkpoint", "checkpoint NAME", []argument{name}},
	restore:         {"restore", "restore NAME", []argument{name}},
	end:             {"end", "end SOURCE", []argument{name}},
	reply:           {"answer", "answer STEP JSON", []argument{name, object}},
	want:            {"want", "want SINK [KIND] JSON [@T]", []argument{name, record}},
	wantWatermark:   {"want-watermark", "want-watermark SINK T", []argument{name, answer}},
	wantLateDropped: {"want-late-dropped", "want-late-dropped STEP N", []argument{name, count}},
	wantError:       {"want-error", "want-error TEXT", []argument{anything}},
}

// action is a line of a script that is neither blank nor a comment.
type action struct {
	kind   kind
	line   int    // of the file, from 1
	text   string // without space around it
	name   string // of a source, sink, step or checkpoint
	change stream.ChangeKind
	json   string
	time   stream.EventTime // MinTime also where there is none
	timed  bool             // whether a record has an @T
	now    stream.ProcTime
	count  int64
	asked  bool   // a question whose answer is ?
	phrase string // that an error is to contain
}

// isClaim tells whether the line says something of the action before it,
// instead of doing anything.
func (a *action) isClaim() bool { return a.kind >= want }

func words() []string {
	list := make([]string, len(forms))
	for k := range forms {
		list[k] = forms[k].word
	}
	return list
}

// parseAction reads a line, which is neither blank nor a comment.
func parseAction(line string) (action, error) {
	a := action{text: strings.TrimSpace(line), time: stream.MinTime}
	word, rest := cutWord(a.text)
	for k := range forms {
		if forms[k].word == word {
			a.kind = kind(k)
			if err := a.parse(rest, &forms[k]); err != nil {
				return action{}, fmt.Errorf("%w; the form is: %s", err, forms[k].usage)
			}
			return a, nil
		}
	}
	return action{}, fmt.Errorf("there is no action %q%s", word, meant(stream.Nearest(word, words())))
}

func (a *action) parse(rest string, f *form) error {
	for _, arg := range f.arguments {
		if rest == "" {
			return fmt.Errorf("%s lacks a part", f.word)
		}
		if arg == record {
			return a.parseRecord(rest)
		}
		if arg == object {
			a.json = rest
			return nil
		}
		if arg == anything {
			a.phrase = rest
			return nil
		}
		var word string
		word, rest = cutWord(rest)
		if err := a.parseWord(arg, word); err != nil {
			return err
		}
	}
	if rest != "" {
		return fmt.Errorf("%q is one part too many", rest)
	}
	return nil
}

func (a *action) parseWord(arg argument, word string) (err error) {
	switch {
	case arg == name:
		a.name = word
	case word == "?" && (arg == answer || arg == count):
		a.asked = true
	case arg == now:
		var t stream.EventTime
		t, err = parseTime(word)
		a.now = stream.ProcTime(t)
	case arg == count:
		if a.count, err = strconv.ParseInt(word, 10, 64); err != nil || a.count < 0 {
			return fmt.Errorf("%q is no number of records", word)
		}
	default:
		a.time, err = parseTime(word)
	}
	return err
}

// parseRecord reads [KIND] JSON [@T]. The JSON goes to the last brace of the
// line: nothing behind it has one.
func (a *action) parseRecord(rest string) error {
	if rest[0] != '{' {
		var word string
		word, rest = cutWord(rest)
		var ok bool
		if a.change, ok = stream.ParseChangeKind(word); !ok {
			return fmt.Errorf("%q is neither a change kind (+I, -U, +U, -D) nor a JSON object", word)
		}
	}
	close := strings.LastIndexByte(rest, '}')
	if rest == "" || rest[0] != '{' || close < 0 {
		return fmt.Errorf("%q is no JSON object", rest)
	}
	a.json, rest = rest[:close+1], rest[close+1:]
	if rest == "" {
		return nil
	}
	at, ok := strings.CutPrefix(strings.TrimSpace(rest), "@")
	if !ok || rest[0] != ' ' && rest[0] != '\t' {
		return fmt.Errorf("%q stands where only a time, such as @1000, may stand", rest)
	}
	a.timed = true
	var err error
	a.time, err = parseTime(at)
	return err
}

// cutWord takes the first word off a line.
func cutWord(line string) (word, rest string) {
	i := strings.IndexAny(line, " \t")
	if i < 0 {
		return line, ""
	}
	return line[:i], strings.TrimLeft(line[i:], " \t")
}

func parseTime(text string) (stream.EventTime, error) {
	switch text {
	case "min":
		return stream.MinTime, nil
	case "max":
		return stream.MaxTime, nil
	}
	t, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no time: an integer of milliseconds, min or max", text)
	}
	return stream.EventTime(t), nil
}
