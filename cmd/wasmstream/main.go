// Command wasmstream runs event-time stream jobs whose functions are Wasm modules.
// This package chooses the implementations that a job runs with and turns what
// becomes of it into text and an exit code; everything else is below host.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/wasmstream/wasmstream/host/job"
)

// commandLine is the whole command line.
type commandLine struct {
	Run     RunCommand     `cmd:"" help:"Run a job to the end of its input."`
	Check   CheckCommand   `cmd:"" help:"Check a job file and show its plan."`
	Test    TestCommand    `cmd:"" help:"Run scenario files: jobs with a script and all that is expected of them."`
	Module  ModuleCommands `cmd:"" help:"Look at Wasm modules, and write their manifests."`
	Version VersionCommand `cmd:"" help:"Show the version."`
}

const description = "A stream processor with Flink's semantics whose functions are Wasm modules."

// exitCodesHelp ends every help text.
const exitCodesHelp = `
Exit codes:
  0    all went well
  1    the job or a scenario failed
  2    wrong arguments, or a file with problems
  3    a Wasm module was refused
  130  interrupted (SIGINT); 143: terminated (SIGTERM)
`

func main() {
	e, restore := processEnv()
	code := execute(e, os.Args[1:])
	restore()
	os.Exit(code)
}

// processEnv is the Env of this process.
func processEnv() (*Env, func()) {
	ctx, restore := watchSignals(context.Background())
	return &Env{
		Stdin:          os.Stdin,
		Stdout:         os.Stdout,
		Stderr:         os.Stderr,
		StdoutTerminal: isTerminal(os.Stdout),
		StderrTerminal: isTerminal(os.Stderr),
		StderrColumns: func() int {
			columns, _, err := term.GetSize(int(os.Stderr.Fd()))
			if err != nil {
				return columnsDefault
			}
			return columns
		},
		Getenv:  os.LookupEnv,
		Clock:   newWallClock(),
		Log:     slog.New(slog.DiscardHandler),
		Context: ctx,
	}, restore
}

// columnsDefault is how wide a terminal is taken to be that does not say so.
const columnsDefault = 80

// isTerminal tells whether a file is a terminal that understands control
// characters.
func isTerminal(f *os.File) bool {
	return os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// watchSignals returns a context that the first SIGINT or SIGTERM ends. The next
// one finds the signals' default action restored, and kills.
func watchSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Reset(os.Interrupt, syscall.SIGTERM)
			code, word := exitInterrupted, "interrupted"
			if s == syscall.SIGTERM {
				code, word = exitTerminated, "terminated"
			}
			cancel(&exitError{code, errors.New(word)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// execute performs a command line and returns the exit code.
func execute(e *Env, args []string) int {
	var line commandLine
	helped := false
	parser, err := kong.New(&line,
		kong.Name("wasmstream"), kong.Description(description), kong.Writers(e.Stdout, e.Stderr),
		kong.Exit(func(int) { helped = true }), kong.Help(printHelp),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
	)
	if err != nil {
		panic(err) // the tags of a command are wrong; every test would have told
	}
	if len(args) == 0 {
		_, _ = parser.Parse([]string{"--help"}) // prints it
		return exitBadInput
	}
	selected, err := parser.Parse(args)
	switch {
	case helped:
		return exitOK
	case err != nil:
		fmt.Fprintf(e.Stderr, "wasmstream: %s\n%s\n", err, usageHint(err))
		return exitBadInput
	}
	if err = selected.Run(e); err != nil {
		report(e.Stderr, err)
	}
	return exitCode(err)
}

// usageHint says where to look when a command line was wrong.
func usageHint(err error) string {
	var parse *kong.ParseError
	command := "wasmstream"
	if errors.As(err, &parse) && parse.Context != nil && parse.Context.Selected() != nil {
		command = parse.Context.Selected().FullPath()
	}
	return "See " + command + " --help."
}

// printHelp is kong's help with the exit codes below it.
func printHelp(o kong.HelpOptions, c *kong.Context) error {
	if err := kong.DefaultHelpPrinter(o, c); err != nil {
		return err
	}
	_, err := io.WriteString(c.Stdout, exitCodesHelp)
	return err
}

// report prints an error. One that begins with a file stands alone, so that editors
// find the place; the others are told to be the program's.
func report(w io.Writer, err error) {
	text := err.Error()
	if text == "" {
		return
	}
	if !beginsWithFile(err) {
		text = "wasmstream: " + text
	}
	fmt.Fprintln(w, text)
}

func beginsWithFile(err error) bool {
	var problems job.Problems
	var located *locatedError
	var file *fileError
	switch {
	case errors.As(err, &problems):
		return true
	case errors.As(err, &located):
		return strings.HasPrefix(err.Error(), located.Error())
	case errors.As(err, &file):
		return strings.HasPrefix(err.Error(), file.Error())
	}
	return false
}
