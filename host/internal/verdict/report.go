package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// event is a line of go test -json; `go doc test2json` describes it.
type event struct {
	Action, Package, Test, Output string
}

// place is a test, or a package as a whole if the name is empty.
type place struct{ pkg, name string }

// report gathers events and tells of them.
type report struct {
	out                     io.Writer
	output                  map[place]*strings.Builder // of what has not ended yet
	running                 []place                    // in order of their first output
	passed, failed, skipped int
	notRun                  []string
}

// read takes events until there are no more. A line that is none, as go prints before any test runs, is passed on.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
				fmt.Fprint(r.out, line)
			} else {
				r.take(e)
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

func (r *report) take(e event) {
	at := place{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		if r.output[at] == nil {
			r.output[at] = &strings.Builder{}
			r.running = append(r.running, at)
		}
		r.output[at].WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(e)
		}
	}
}

func (r *report) endTest(e event) {
	at := place{e.Package, e.Test}
	output := r.output[at]
	delete(r.output, at)
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		if output != nil {
			fmt.Fprint(r.out, output.String())
		}
	case "skip":
		r.skipped++
		r.notRun = append(r.notRun, fmt.Sprintf("%s %s: %s", short(e.Package), e.Test, reason(output)))
	}
}

// endPackage prints the package's own line, and if it failed all that it said, with what its unfinished tests did: one
// that panics or runs out of time never ends.
func (r *report) endPackage(e event) {
	var rest []place
	for _, at := range r.running {
		output := r.output[at]
		if at.pkg != e.Package {
			rest = append(rest, at)
			continue
		}
		delete(r.output, at)
		if output == nil {
			continue
		}
		for line := range strings.Lines(output.String()) {
			ends := strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "?") || strings.HasPrefix(line, "FAIL\t")
			if e.Action == "fail" || at.name == "" && ends {
				fmt.Fprint(r.out, line)
			}
		}
	}
	r.running = rest
}

// end tells what did not run, and the numbers.
func (r *report) end() {
	if len(r.notRun) > 0 {
		fmt.Fprintf(r.out, "\n!! NOT RUN: %d\n", len(r.notRun))
		for _, line := range r.notRun {
			fmt.Fprintf(r.out, "!!   %s\n", line)
		}
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}

// reason is what a skipped test said, on one line and without what go test puts around it.
func reason(output *strings.Builder) string {
	if output == nil {
		return "no reason given"
	}
	var said []string
	for line := range strings.Lines(output.String()) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- SKIP") {
			said = append(said, line)
		}
	}
	return strings.Join(said, " ")
}

// short is a package's path in its module's repository.
func short(pkg string) string {
	return strings.TrimPrefix(pkg, "github.com/wasmstream/wasmstream/")
}
