package planted

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Bug is a patch, what is wrong with it, and the test that says so.
type Bug struct {
	Name    string // of its file, without the ending
	What    string
	Package string // as go test is told
	Test    string // a function, and behind slashes subtests
	edits   []edit
}

// edit is what a patch does to one file.
type edit struct {
	path  string // in the tree
	hunks []hunk
}

// hunk is lines, newlines included, in place of others.
type hunk struct {
	line     int // of the first, from 1, when the patch was made
	old, new []string
}

// Load reads the patches of a folder, by name.
func Load(folder string) ([]*Bug, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.patch"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	var bugs []*Bug
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		b, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		b.Name = strings.TrimSuffix(filepath.Base(path), ".patch")
		bugs = append(bugs, b)
	}
	return bugs, nil
}

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@`)

// parse reads a patch.
func parse(text string) (*Bug, error) {
	b := &Bug{}
	for number, line := range slices.Collect(strings.Lines(text)) {
		if err := b.parseLine(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
	}
	if b.What == "" || b.Test == "" || len(b.edits) == 0 {
		return nil, errors.New("it must have a line What: …, a line Test: PACKAGE TEST, and a difference")
	}
	return b, nil
}

func (b *Bug) parseLine(line string) error {
	if len(b.edits) == 0 && !strings.HasPrefix(line, "--- ") { // the head
		if what, ok := strings.CutPrefix(line, "What: "); ok {
			b.What = strings.TrimSpace(what)
		}
		if test, ok := strings.CutPrefix(line, "Test: "); ok {
			b.Package, b.Test, _ = strings.Cut(strings.TrimSpace(test), " ")
		}
		return nil
	}
	var at *edit
	if len(b.edits) > 0 {
		at = &b.edits[len(b.edits)-1]
	}
	switch head := hunkHead.FindStringSubmatch(line); {
	case strings.HasPrefix(line, "--- a/"):
		b.edits = append(b.edits, edit{path: strings.TrimSpace(strings.TrimPrefix(line, "--- a/"))})
	case strings.HasPrefix(line, "+++ b/"), strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "):
	case head != nil:
		first, err := strconv.Atoi(head[1])
		at.hunks = append(at.hunks, hunk{line: first})
		return err
	case at != nil && len(at.hunks) > 0 && at.hunks[len(at.hunks)-1].parseLine(line):
	default:
		return fmt.Errorf("%q is no part of a difference", line)
	}
	return nil
}

func (h *hunk) parseLine(line string) bool {
	switch rest := line[1:]; line[0] {
	case ' ':
		h.old, h.new = append(h.old, rest), append(h.new, rest)
	case '-':
		h.old = append(h.old, rest)
	case '+':
		h.new = append(h.new, rest)
	default:
		return false
	}
	return true
}

// Apply returns the files of the tree that the bug changes, with it, by their paths there.
func (b *Bug) Apply(tree string) (map[string]string, error) {
	files := map[string]string{}
	for _, e := range b.edits {
		text, err := os.ReadFile(filepath.Join(tree, e.path))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
		if files[e.path], err = e.apply(string(text)); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", b.Name, e.path, err)
		}
	}
	return files, nil
}

func (e *edit) apply(text string) (string, error) {
	lines := slices.Collect(strings.Lines(text))
	moved := 0 // by the hunks before
	for i, h := range e.hunks {
		at := h.find(lines, h.line-1+moved)
		if at < 0 {
			return "", fmt.Errorf("hunk %d does not apply: the lines that it is about have changed; they were\n%s", i+1, strings.Join(h.old, ""))
		}
		lines = slices.Concat(lines[:at], h.new, lines[at+len(h.old):])
		moved = at + len(h.new) - (h.line - 1 + len(h.old))
	}
	return strings.Join(lines, ""), nil
}

// find returns where the hunk's old lines stand nearest to a place; -1: nowhere.
func (h *hunk) find(lines []string, near int) int {
	best := -1
	for at := 0; at+len(h.old) <= len(lines); at++ {
		if !slices.Equal(lines[at:at+len(h.old)], h.old) {
			continue
		}
		if best < 0 || distance(at, near) < distance(best, near) {
			best = at
		}
	}
	return best
}

func distance(a, b int) int { return max(a-b, b-a) }
