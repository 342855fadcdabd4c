//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// secondSink is a sink for the base job besides its own.
const secondSink = "  twice: {from: hourly, file: {path: %, format: json}}\n"

func TestFilesThatAreOneOnTheDisk(t *testing.T) {
	link := func(from, to string) func(string) error {
		return func(folder string) error { return os.Symlink(to, filepath.Join(folder, from)) }
	}
	hard := func(from, to string) func(string) error {
		return func(folder string) error { return os.Link(filepath.Join(folder, to), filepath.Join(folder, from)) }
	}
	twice := func(path string) string { return base + strings.Replace(secondSink, "%", path, 1) }
	for name, c := range map[string]struct {
		job  string
		make func(folder string) error
		want []string
	}{
		"sinks by a linked folder":  {twice("there/firings.ndjson"), link("there", "out"), []string{"job.yaml:17:38: sinks.twice.file.path", "there/firings.ndjson, which sinks.twice writes", "out/firings.ndjson, which sinks.delays writes"}},
		"sinks by a link":           {twice("link"), link("link", "out/firings.ndjson"), []string{"sinks.twice", "sinks.delays"}},
		"sinks by a hard link":      {twice("hard"), hard("hard", "out/firings.ndjson"), []string{"sinks.twice", "sinks.delays"}},
		"a sink on a part file":     {twice("out/.firings.ndjson.part"), nil, []string{"sinks.twice", "the part file of sinks.delays"}},
		"a part file on a sink":     {change(t, "out/firings.ndjson", "out/.twice.part") + strings.Replace(secondSink, "%", "out/twice", 1), nil, []string{".twice.part, the part file of sinks.twice", "sinks.delays"}},
		"a source by a link":        {change(t, "out/firings.ndjson", "link"), link("link", "flights.ndjson"), []string{"sinks.delays", "sources.flights"}},
		"a source by a hard link":   {change(t, "out/firings.ndjson", "hard"), hard("hard", "flights.ndjson"), []string{"sinks.delays", "sources.flights"}},
		"a source as part file":     {change(t, "path: flights.ndjson", "path: out/.firings.ndjson.part"), hard("out/.firings.ndjson.part", "flights.ndjson"), []string{"the part file of sinks.delays", "sources.flights"}},
		"the job file":              {change(t, "out/firings.ndjson", "job.yaml"), nil, []string{"sinks.delays", "the job file itself"}},
		"the job file by a link":    {change(t, "out/firings.ndjson", "link"), link("link", "job.yaml"), []string{"sinks.delays", "the job file itself"}},
		"a module":                  {strings.Replace(wasmJob(t, "m.wasm", "delays"), "out/firings.ndjson", "m.wasm", 1), nil, []string{"sinks.delays", "modules.m"}},
		"a module by its part":      {strings.Replace(wasmJob(t, ".x.part", "delays"), "out/firings.ndjson", "x", 1), hard(".x.part", "m.wasm"), []string{"the part file of sinks.delays", "modules.m"}},
		"a sink that is not there":  {strings.Replace(twice("there/new"), "out/firings.ndjson", "out/new", 1), link("there", "out"), []string{"sinks.twice", "sinks.delays"}},
		"two sources of one pipe":   {twoSources(t, "flights", "pipe", "link"), link("link", "pipe"), []string{"job.yaml:10:18:", "sources.more", "sources.flights", "a pipe"}},
		"two sources of /dev/stdin": {twoSources(t, "flights", "/dev/stdin", "/dev/fd/0"), nil, []string{"sources.more", "sources.flights", "a pipe"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			write(t, filepath.Join(folder, "flights.ndjson"), sound)
			write(t, filepath.Join(folder, "out/firings.ndjson"), "old\n")
			write(t, filepath.Join(folder, "m.wasm"), read(t, wasmFile("delays-c")))
			write(t, filepath.Join(folder, "job.yaml"), c.job)
			if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600); err != nil {
				t.Skip(err) // a file system without such files
			}
			if c.make != nil {
				if err := c.make(folder); err != nil {
					t.Fatal(err)
				}
			}
			for _, verb := range []string{"check", "run"} {
				o := runPiped(t, folder, verb, "job.yaml")
				o.expect(t, exitBadInput, append(c.want, "job.yaml:")...)
			}
			for file, want := range map[string]string{"flights.ndjson": sound, "out/firings.ndjson": "old\n", "job.yaml": c.job} {
				if got := read(t, filepath.Join(folder, file)); got != want {
					t.Errorf("%s became %.100q", file, got)
				}
			}
		})
	}
}

// twoSources is the base job with two sources, over files of these paths.
func twoSources(t *testing.T, name, one, other string) string {
	t.Helper()
	const more = "  more:\n    file: {path: %, format: json}\n    schema: {scheduled: TIMESTAMP(3), origin: STRING, delay: INT}\n    event-time: scheduled\n"
	return change(t, "path: flights.ndjson", "path: "+one, "steps:\n", strings.Replace(more, "%", other, 1)+"steps:\n",
		"schema: {flight: BIGINT, scheduled: TIMESTAMP(3), delay: INT, distance: INT, origin: STRING}", "schema: {scheduled: TIMESTAMP(3), origin: STRING, delay: INT}",
		"from: "+name+"\n", "from: ["+name+", more]\n")
}

// runPiped runs the binary with a pipe as its standard input.
func runPiped(t *testing.T, folder string, args ...string) outcome {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cmd := command(ctx, folder, args...)
	cmd.Stdin = r
	return finish(t, ctx, cmd)
}

func TestSourcesThatMayBeReadTwice(t *testing.T) {
	t.Parallel()
	for _, paths := range [][2]string{{"flights.ndjson", "./flights.ndjson"}, {"/dev/null", "/dev/null"}} {
		folder := t.TempDir()
		write(t, filepath.Join(folder, "flights.ndjson"), sound)
		write(t, filepath.Join(folder, "job.yaml"), twoSources(t, "flights", paths[0], paths[1]))
		run(t, folder, "run", "job.yaml").expect(t, exitOK)
	}
}

// TestInputsThatAreNoFiles is about what is read as a whole: nobody waits for the
// other end of a pipe.
func TestInputsThatAreNoFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600); err != nil {
		t.Skip(err) // a file system without such files
	}
	write(t, filepath.Join(folder, "flights.ndjson"), sound)
	write(t, filepath.Join(folder, "m.wasm"), read(t, wasmFile("delays-c")))
	write(t, filepath.Join(folder, "job.yaml"), wasmJob(t, "pipe", "delays"))
	write(t, filepath.Join(folder, "s.scenario"), "-- job --\npipe\n-- script --\n")
	for _, line := range []string{
		"run pipe", "check pipe", "test pipe", "module inspect pipe", "module pack pipe", "module pack m.wasm --manifest pipe",
		"run job.yaml", "check job.yaml", "run /dev/null", "test /dev/null", "module inspect /dev/zero",
	} {
		o := run(t, folder, strings.Fields(line)...)
		if said := o.stdout + o.stderr; o.code != exitBadInput || !strings.Contains(said, "; a regular file is needed") {
			t.Errorf("%s: exit code %d\n%s", line, o.code, said)
		}
	}
	o := run(t, folder, "test", "s.scenario")
	if o.code != exitFailed || !strings.Contains(o.stdout, "s.scenario:2: error: the job file pipe cannot be read: it is a pipe") {
		t.Errorf("a scenario of a job that is a pipe: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err) // a file system without such files
	}
	defer full.Close()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "flights.ndjson"), sound)
	write(t, filepath.Join(folder, "job.yaml"), base)
	write(t, filepath.Join(folder, "m.wasm"), read(t, wasmFile("delays-c")))
	write(t, filepath.Join(folder, "s.scenario"), "-- job.yaml --\n"+strings.ReplaceAll(base, "file: {path: flights.ndjson, format: json}", "test: {}")+"-- script --\n")
	for _, line := range []string{
		"run job.yaml", "run --json job.yaml", "check job.yaml", "check --json job.yaml", "version", "version --json", "--help", "run --help",
		"module inspect m.wasm", "module inspect --json m.wasm", "test s.scenario", "test --json s.scenario --update",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		cmd := command(ctx, folder, strings.Fields(line)...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		_ = cmd.Run() // an exit code is what is expected
		said := "wasmstream: the output could not be written: "
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || strings.Count(stderr.String(), said) != 1 {
			t.Errorf("%s: exit code %d\n%s", line, code, stderr.String())
		}
		cancel()
	}
}
