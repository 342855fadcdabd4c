// Command kafka starts brokers for tests, runs a command that finds them in its environment, and ends them with it.
//
//	go run ./host/internal/servers/kafka -- make test
//	go run ./host/internal/servers/kafka -releases 4.4 -- bash
//	go run ./host/internal/servers/kafka -fetch
//
// All test packages then share them; otherwise each starts its own. It ends as the command does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/wasmstream/wasmstream/host/internal/servers"
)

func main() {
	// The command is asked to end when we are; the brokers end after it.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	code, err := run(ctx, os.Args[1:], os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kafka:", err)
	}
	os.Exit(code)
}

// run does what the arguments say and returns the exit code.
func run(ctx context.Context, arguments []string, out io.Writer) (int, error) {
	flags := flag.NewFlagSet("kafka", flag.ContinueOnError)
	names := flags.String("releases", allReleases(), "which to start, with commas between")
	fetch := flags.Bool("fetch", false, "only fetch their jars")
	if err := flags.Parse(arguments); err != nil {
		return 2, nil // the flag package has told
	}
	chosen, err := choose(*names)
	if err != nil {
		return 2, err
	}
	if *fetch {
		return exitCode(each(chosen, func(r servers.Release) error {
			_, err := servers.Fetch(ctx, r)
			return err
		}))
	}
	if flags.NArg() == 0 {
		return 2, errors.New("which command is to run? For example: go run ./host/internal/servers/kafka -- make test")
	}
	return with(ctx, chosen, flags.Args(), out)
}

// with runs a command beside brokers.
func with(ctx context.Context, chosen []servers.Release, command []string, out io.Writer) (code int, err error) {
	brokers := make([]*servers.Broker, len(servers.Releases))
	defer func() {
		for _, b := range brokers {
			if b != nil {
				err = errors.Join(err, b.Close())
			}
		}
	}()
	err = each(chosen, func(r servers.Release) (err error) {
		brokers[r], err = servers.Launch(ctx, servers.Options{Release: r})
		return err
	})
	if err != nil {
		return 1, err
	}
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = os.Environ()
	for _, r := range chosen {
		fmt.Fprintf(out, "kafka: %s=%s\n", r.Variable(), brokers[r].Bootstrap)
		c.Env = append(c.Env, r.Variable()+"="+brokers[r].Bootstrap)
	}
	return exitCode(c.Run())
}

// exitCode is how to end after an error; that of a command that has ended is for the command to tell.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode(), nil
	}
	return 1, err
}

// each does something for all releases at once.
func each(chosen []servers.Release, do func(servers.Release) error) error {
	errs := make([]error, len(chosen))
	var all sync.WaitGroup
	for i, r := range chosen {
		all.Go(func() { errs[i] = do(r) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func allReleases() string {
	var names []string
	for _, r := range servers.Releases {
		names = append(names, r.String())
	}
	return strings.Join(names, ",")
}

func choose(names string) ([]servers.Release, error) {
	var chosen []servers.Release
	for name := range strings.SplitSeq(names, ",") {
		r, ok := find(name)
		if !ok {
			return nil, fmt.Errorf("no release is called %q; there are %s", name, allReleases())
		}
		chosen = append(chosen, r)
	}
	return chosen, nil
}

func find(name string) (servers.Release, bool) {
	for _, r := range servers.Releases {
		if r.String() == name {
			return r, true
		}
	}
	return 0, false
}
