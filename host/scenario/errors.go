package scenario

import (
	"fmt"
	"strings"
)

// Error is one mistake in a scenario file.
type Error struct {
	File    string
	Line    int
	Message string
}

// Error is file:line: message.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message) }

// Errors are all the mistakes in a scenario file that one look at it finds.
type Errors []*Error

// Error has a line for each mistake.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Result makes the mistakes the result of a scenario: the first at its line, the
// others below it with theirs.
func (e Errors) Result() Result {
	r := Result{File: e[0].File, Outcome: Wrong, Line: e[0].Line, Message: e[0].Message}
	if len(e) > 1 {
		r.Message += "\n" + e[1:].Error()
	}
	return r
}

// meant suggests a name in the words of every message about unknown names.
func meant(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", near)
}
