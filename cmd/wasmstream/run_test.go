package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRunHourlyDelays(t *testing.T) {
	for _, name := range []string{"hourly-delays-builtin", "hourly-delays", "hourly-delays-c"} {
		for _, workers := range []string{"1", "2"} {
			t.Run(name+" on "+workers, func(t *testing.T) {
				t.Parallel()
				folder := sandboxed(t)
				run(t, folder, "run", "--workers", workers, "jobs/"+name+".yaml").expect(t, exitOK, "job started", "job ended")
				for _, file := range []string{"firings.ndjson", "late.ndjson"} {
					want := read(t, filepath.Join(testdata, "hourly-delays", file))
					got := read(t, filepath.Join(folder, "jobs/out", file))
					if diff := cmp.Diff(sortedLines(want), sortedLines(got)); diff != "" {
						t.Errorf("%s (-want +got):\n%.2000s", file, diff)
					}
				}
			})
		}
	}
}

func TestRunShowsTheResult(t *testing.T) {
	t.Parallel()
	o := run(t, sandboxed(t), "run", "jobs/hourly-delays.yaml")
	o.expect(t, exitOK)
	for _, line := range []string{
		"hourly-delays finished in",
		"  records  20,000",
		"  firings  17,648",
		"  late         67",
		"  delays  17,648  jobs/out/firings.ndjson",
		"  late        67  jobs/out/late.ndjson",
		"  origin  flights  delay_sum  delay_max  window_start      window_end\n",
		"  DTW           1         66         66  2001-01-01 00:00  2001-01-01 01:00\n",
		"  …             …          …          …  …                 …\n",
		"  CLT           1         -9         -9  2001-03-31 22:00  2001-03-31 23:00\n",
	} {
		if !strings.Contains(o.stdout, line) {
			t.Errorf("the summary has no %q", line)
		}
	}
	if t.Failed() {
		t.Log(o.stdout)
	}
}

func TestASecondRunReplacesTheFirst(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "job.yaml"), base)
	result := filepath.Join(folder, "out/firings.ndjson")
	write(t, filepath.Join(folder, "flights.ndjson"), sound)
	run(t, folder, "run", "job.yaml").expect(t, exitOK)
	once := read(t, result)
	write(t, filepath.Join(folder, "flights.ndjson"), sound+sound)
	run(t, folder, "run", "job.yaml").expect(t, exitOK)
	twice := read(t, result)
	want := `{"origin":"LAS","flights":%d,"delay_sum":%d,"window_start":978310800000,"window_end":978314400000}` + "\n"
	if once != fmt.Sprintf(want, 1, -5) || twice != fmt.Sprintf(want, 2, -10) {
		t.Errorf("first %s, second %s", once, twice)
	}
}

// runJSON runs with --json and reads the one object on stdout.
func runJSON(t *testing.T, folder string, code int) runResult {
	t.Helper()
	o := run(t, folder, "run", "--json", "job.yaml")
	o.expect(t, code)
	decoder := json.NewDecoder(strings.NewReader(o.stdout))
	var result runResult
	if err := decoder.Decode(&result); err != nil {
		t.Fatalf("stdout is no JSON: %v\n%s", err, o.stdout)
	}
	if decoder.More() {
		t.Errorf("stdout has more than one value:\n%s", o.stdout)
	}
	return result
}

func TestRunJSON(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "job.yaml"), base)
	write(t, filepath.Join(folder, "flights.ndjson"), sound)
	got := runJSON(t, folder, exitOK)
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0].Message, "hourly.late") {
		t.Errorf("warnings %v", got.Warnings)
	}
	got.Warnings, got.Seconds, got.RecordsPerSecond = nil, 0, 0
	want := runResult{
		Job: "hourly-delays", Status: "finished", Records: 1, Bytes: int64(len(sound)), Firings: 1,
		Sinks: []sinkResult{{"delays", "out/firings.ndjson", 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	write(t, filepath.Join(folder, "flights.ndjson"), sound+"x\n")
	got = runJSON(t, folder, exitFailed)
	if got.Status != "failed" || !strings.HasPrefix(got.Error, "flights.ndjson:2: ") || got.Sinks != nil {
		t.Errorf("of a failed job: %+v", got)
	}

	write(t, filepath.Join(folder, "job.yaml"), change(t, "from: hourly,", "from: hurly,"))
	got = runJSON(t, folder, exitBadInput)
	if got.Status != "refused" || len(got.Problems) != 1 || got.Problems[0].Line != 16 {
		t.Errorf("of a job that is refused: %+v", got)
	}
}

func TestBadRecords(t *testing.T) {
	for name, c := range map[string]struct{ record, want string }{
		"broken JSON":            {`{"flight":2,`, `flights.ndjson:2: byte 12: `},
		"wrong type":             {strings.Replace(sound, `-5`, `"-5"`, 1), `flights.ndjson:2: column "delay", byte 59: INT is expected`},
		"out of range":           {strings.Replace(sound, `-5`, `3000000000`, 1), `flights.ndjson:2: column "delay", byte 59: `},
		"missing event time":     {`{"origin":"LAS"}`, `flights.ndjson:2: column "scheduled": it is `},
		"null event time":        {`{"scheduled":null,"origin":"LAS"}`, `flights.ndjson:2: column "scheduled": it is `},
		"least timestamp":        {`{"scheduled":-9223372036854775808,"origin":"LAS"}`, `flights.ndjson:2: column "scheduled": it is `},
		"no timestamp":           {`{"scheduled":"2001-02-30T00:00:00Z","origin":"LAS"}`, `flights.ndjson:2: column "scheduled", byte 13: `},
		"invalid UTF-8":          {"{\"scheduled\":1,\"origin\":\"L\xffS\"}", `flights.ndjson:2: column "origin", byte 26: `},
		"invalid UTF-8 unused":   {"{\"scheduled\":1,\"other\":\"L\xffS\"}", `flights.ndjson:2: byte 25: `},
		"broken in unused":       {`{"scheduled":1,"other":01}`, `flights.ndjson:2: byte `},
		"an escape for terminal": {"{\"\x1b[2J\":1}", `flights.ndjson:2: byte 2: `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			write(t, filepath.Join(folder, "flights.ndjson"), sound+strings.TrimSuffix(c.record, "\n")+"\n"+sound)
			write(t, filepath.Join(folder, "job.yaml"), base)
			o := run(t, folder, "run", "job.yaml")
			o.expect(t, exitFailed, "\n"+c.want)
			if o.stdout != "" {
				t.Errorf("a failed run says on stdout:\n%s", o.stdout)
			}
			if strings.Contains(o.stderr, "\x1b") {
				t.Errorf("stderr has an escape sequence of the record's: %q", o.stderr)
			}
			nothingThere(t, filepath.Join(folder, "out"))

			write(t, filepath.Join(folder, "job.yaml"), change(t, "event-time: scheduled", "event-time: scheduled\n    on-error: skip"))
			o = run(t, folder, "run", "job.yaml")
			o.expect(t, exitOK, "record skipped", strings.ReplaceAll(c.want, `"`, `\"`))
			if !strings.Contains(o.stdout, "  skipped  1  ") || !strings.Contains(o.stdout, "  records  2") {
				t.Errorf("the summary tells otherwise:\n%s", o.stdout)
			}
		})
	}
}

// TestAggregatesThatFail: the message says at which key, and of which time.
func TestAggregatesThatFail(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	job := strings.Replace(base, "delay: INT", "delay: BIGINT", 1)
	record := strings.Replace(sound, "-5", "9223372036854775807", 1)
	write(t, filepath.Join(folder, "flights.ndjson"), record+strings.Replace(record, "LAS", "JFK", 1)+record)
	write(t, filepath.Join(folder, "job.yaml"), job)
	run(t, folder, "run", "job.yaml").expect(t, exitFailed,
		`wasmstream: step hourly: at key origin "LAS", the record of 2001-01-01T01:24:00.000Z: sum(delay): the sum leaves the range`)
}

// nothingThere checks that a folder has no files, not even hidden ones.
func nothingThere(t *testing.T, folder string) {
	t.Helper()
	list, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, f := range list {
		t.Errorf("%s is left behind", f.Name())
	}
}

func TestTypesOfUnusedColumnsDoNotMatter(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "job.yaml"), base)
	write(t, filepath.Join(folder, "flights.ndjson"), strings.Replace(sound, "407", `"far"`, 1))
	run(t, folder, "run", "job.yaml").expect(t, exitOK)
}

func TestALineOf100MB(t *testing.T) {
	t.Parallel()
	const lineBytes = 100_000_000
	folder := t.TempDir()
	write(t, filepath.Join(folder, "job.yaml"), base)
	input := filepath.Join(folder, "flights.ndjson")
	write(t, input, sound)
	if err := os.Truncate(input, int64(len(sound))+lineBytes); err != nil {
		t.Fatal(err)
	}
	run(t, folder, "run", "job.yaml").expect(t, exitFailed, "flights.ndjson:2: ", "100000000", "16777216", "record-bytes-max: 128MiB")
	nothingThere(t, filepath.Join(folder, "out"))
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		job, record string
		want        []string
	}{
		"no source":             {change(t, "flights.ndjson", "fligths.ndjson"), sound, []string{"source flights: fligths.ndjson: there is no such file; did you mean flights.ndjson?"}},
		"source is a folder":    {change(t, "flights.ndjson", "."), sound, []string{"source flights: ", "folder"}},
		"sink in a file":        {change(t, "out/firings", "flights.ndjson/firings"), sound, []string{"sink delays: ", "flights.ndjson/firings.ndjson"}},
		"sink is a folder":      {change(t, "out/firings.ndjson", "folder"), sound, []string{"sink delays: ", "folder: it is a folder"}},
		"without records":       {base, "", nil},
		"without final newline": {base, strings.TrimSuffix(sound, "\n"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			write(t, filepath.Join(folder, "flights.ndjson"), c.record)
			write(t, filepath.Join(folder, "folder/x"), "")
			write(t, filepath.Join(folder, "job.yaml"), c.job)
			code := exitOK
			if c.want != nil {
				code = exitFailed
			}
			run(t, folder, "run", "job.yaml").expect(t, code, c.want...)
		})
	}
}
