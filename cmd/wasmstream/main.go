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
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// commandLine is the whole command line.
type commandLine struct {
	Run     RunCommand     `cmd:"" help:"Run a job to the end of its input."`
	Check   CheckCommand   `cmd:"" help:"Check a job file and show its plan."`
	Test    TestCommand    `cmd:"" help:"Run scenario files: jobs with a script and all that is expected of them."`
	Module  ModuleCommands `cmd:"" help:"Look at Wasm modules, and write their manifests."`
	New     NewCommands    `cmd:"" help:"Make the folder of a new function."`
	Replay  ReplayCommand  `cmd:"" help:"Make the calls of a recording again, and show what differs."`
	Version VersionCommand `cmd:"" help:"Show the version."`

	CompileModule CompileModuleCommand `cmd:"" hidden:""`
}

const description = "A stream processor with Flink's semantics whose functions are Wasm modules."

// exitCodesHelp ends every help text.
const exitCodesHelp = `
Exit codes:
  0    all went well
  1    the job or a scenario failed
  2    wrong arguments, or a file with problems
  3    a Wasm module was refused
  130  interrupted (SIGINT); 143: terminated (SIGTERM); 129: hung up (SIGHUP)
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
	self, _ := os.Executable() // "": nothing can be started
	return &Env{
		Self:           self,
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

// togetherMax is how long after a signal others are one with it.
const togetherMax = time.Second

// watchSignals returns a context that the first SIGINT, SIGTERM or SIGHUP ends. A
// later one finds the signals' default action restored, and kills. What comes
// within togetherMax is not a later one: timeout signals a command and then its
// group, a service manager sends SIGTERM and SIGHUP, and a run that the second of
// them killed would leave its part files behind.
func watchSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	watched := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		watched = append(watched, syscall.SIGHUP)
	}
	signals, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, watched...)
	go func() {
		select {
		case s := <-signals:
			cancel(signalled(s))
		case <-ended:
			return
		}
		select {
		case <-time.After(togetherMax):
			signal.Reset(watched...)
		case <-ended:
		}
	}()
	return ctx, func() {
		close(ended)
		cancel(nil)
	}
}

// signalled is what a signal ends a command with.
func signalled(s os.Signal) error {
	switch s {
	case syscall.SIGTERM:
		return &exitError{exitTerminated, errors.New("terminated")}
	case syscall.SIGHUP:
		return &exitError{exitHungUp, errors.New("hung up")}
	}
	return &exitError{exitInterrupted, errors.New("interrupted")}
}

// execute performs a command line and returns the exit code. Output that could not
// be written is a failure, whatever the command says.
func execute(e *Env, args []string) int {
	out := &output{w: e.Stdout}
	e.Stdout = out
	code, err := perform(e, args)
	if out.err != nil && !errors.Is(err, out.err) {
		err = errors.Join(err, out.err)
	}
	if err != nil {
		report(e.Stderr, err)
		code = max(code, exitCode(err))
	}
	return code
}

// perform runs the selected command. Its exit code counts where there is no error.
func perform(e *Env, args []string) (int, error) {
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
		return exitBadInput, nil
	}
	selected, err := parser.Parse(args)
	switch {
	case helped:
		return exitOK, nil
	case errors.As(err, new(*outputError)): // the help could not be printed
		return exitFailed, err
	case err != nil:
		fmt.Fprintf(e.Stderr, "wasmstream: %s%s\n%s\n", err, nearestFlag(err), usageHint(err))
		return exitBadInput, nil
	}
	return exitOK, selected.Run(e)
}

// nearestFlag suggests a flag for one that is unknown, where the parser, which
// knows slips of two characters, does not.
func nearestFlag(err error) string {
	var parse *kong.ParseError
	_, unknown, found := strings.Cut(err.Error(), "unknown flag --")
	if !found || strings.Contains(unknown, " ") || !errors.As(err, &parse) || parse.Context == nil {
		return ""
	}
	var names []string
	for _, f := range parse.Context.Flags() {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	}
	if near := stream.Nearest(unknown, names); near != "" {
		return fmt.Sprintf(", did you mean \"--%s\"?", near)
	}
	return ""
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
	fmt.Fprintln(w, printableLines(text))
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
