// Command verdict runs go test and says what came of it: the line of each package, the whole output of what failed, and
// at the end which tests did not run and why, which go test itself keeps quiet about.
//
//	go run ./host/internal/verdict [arguments of go test]
//
// It ends as go test does: 0, or 1 if anything failed.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	code, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "verdict:", err)
	}
	os.Exit(code)
}

// run runs go test and returns its exit code.
func run(arguments []string, out io.Writer) (int, error) {
	test := exec.Command("go", slices.Concat([]string{"test"}, arguments, []string{"-json"})...) // -C must be first
	test.Stderr = os.Stderr
	events, err := test.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := test.Start(); err != nil {
		return 1, err
	}
	r := report{out: out, output: map[place]*strings.Builder{}}
	readErr := r.read(events)
	err = test.Wait()
	r.end()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		return 1, nil
	case err != nil || readErr != nil:
		return 1, errors.Join(err, readErr)
	case r.failed > 0:
		return 1, errors.New("go test told of failed tests and ended well")
	}
	return 0, nil
}
