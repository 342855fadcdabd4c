package kill

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The windows of the jobs here, in ms of event time: a second has 100 records.
const (
	tumblingSize = 1000
	sessionGap   = 400
)

// steps are tumbling and session windows with functions in Wasm.
const steps = `steps:
  tumbling:
    from: in
    key-by: [k]
    window: {tumbling: {size: 1s}}
    aggregate: {wasm: go.delays}
  sessions:
    from: in
    key-by: [k]
    window: {session: {gap: 400ms}}
    aggregate: {wasm: c.delays}
`

func header(testdata, interval string) string {
	return fmt.Sprintf(`version: 1
name: kill
parallelism: 2
checkpoint: {dir: state, interval: %s}
modules:
  go: {file: %[2]s/wasm/delays-go.wasm}
  c: {file: %[2]s/wasm/delays-c.wasm}
`, interval, testdata)
}

const source = `    schema: ` + Schema + `
    event-time: t
    watermark: {max-out-of-orderness: 5s, emit: on-event}
`

// WindowsOfFiles is a job with tumbling and session windows of so many records, into one file each or, rolling, into
// folders of files that appear as checkpoints are made. Its input, which all rounds share, is made at once in temp.
func WindowsOfFiles(testdata, temp string, seed uint64, records int, rolling bool) (BoundedJob, error) {
	j := BoundedJob{Name: "files", Whole: []string{"out/tumbling", "out/sessions"}}
	roll := ""
	if rolling {
		j, roll = BoundedJob{Name: "rolling"}, ", rolling: {size: 64KiB}"
	}
	input := filepath.Join(temp, j.Name+".ndjson")
	made, err := writeInput(input, seed, records)
	if err != nil {
		return j, err
	}
	tumbling, sessions := Tumbling(made, tumblingSize, EndOfTime), Sessions(made, sessionGap, EndOfTime)
	text := header(testdata, "20ms") + fmt.Sprintf(`sources:
  in:
    file: {path: %s, format: json}
`, input) + source + steps + fmt.Sprintf(`sinks:
  tumbling: {from: tumbling, file: {path: out/tumbling, format: json%[1]s}}
  sessions: {from: sessions, file: {path: out/sessions, format: json%[1]s}}
`, roll)
	j.Prepare = func(folder string) error {
		return errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "job.yaml"), []byte(text), 0o644))
	}
	j.Check = func(folder string) error {
		out := filepath.Join(folder, "out")
		return errors.Join(onlyThere(out, "tumbling", "sessions"), checkSink(tumbling, filepath.Join(out, "tumbling"), rolling),
			checkSink(sessions, filepath.Join(out, "sessions"), rolling))
	}
	return j, nil
}

func checkSink(want []Result, path string, rolling bool) error {
	if !rolling {
		return compareFiles(want, path)
	}
	files, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	var paths []string
	for _, f := range files {
		if f.Name() == ".lock" || f.Name() == ".wasmstream" { // whose the folder is
			continue // which keeps other runs away, and stays
		}
		if !strings.HasPrefix(f.Name(), "part-") {
			return fmt.Errorf("%s was left behind", filepath.Join(path, f.Name()))
		}
		paths = append(paths, filepath.Join(path, f.Name()))
	}
	return compareFiles(want, paths...)
}

// HourlyDelays is the job that README begins with. Its expected output was computed by another program; late results stand
// in it behind their windows', so that an order is expected only of each key, and is that of the fault-free run.
func HourlyDelays(testdata string) BoundedJob {
	files := []string{"firings.ndjson", "late.ndjson"}
	first := map[string]map[string][]string{} // of the fault-free run: the lines of each key, by file
	return BoundedJob{
		Name:  "hourly-delays",
		Whole: []string{"out/firings.ndjson", "out/late.ndjson"},
		Prepare: func(folder string) error {
			text, err := os.ReadFile(filepath.Join(testdata, "jobs/hourly-delays.yaml"))
			if err != nil {
				return err
			}
			text = bytes.ReplaceAll(text, []byte("../"), []byte(testdata+"/"))
			text = append(text, "checkpoint: {dir: state, interval: 10ms}\n"...)
			return errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "job.yaml"), text, 0o644))
		},
		Check: func(folder string) error {
			if err := onlyThere(filepath.Join(folder, "out"), slices.Clone(files)...); err != nil {
				return err
			}
			for _, name := range files {
				got, err := os.ReadFile(filepath.Join(folder, "out", name))
				if err != nil {
					return err
				}
				want, err := os.ReadFile(filepath.Join(testdata, "hourly-delays", name))
				if err != nil {
					return err
				}
				if err := sameLines(want, got); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				keys := byOrigin(got)
				if first[name] == nil {
					first[name] = keys
				}
				for key, lines := range keys {
					if !slices.Equal(lines, first[name][key]) {
						return fmt.Errorf("%s: the lines of %s are in another order than without kills", name, key)
					}
				}
			}
			return nil
		},
	}
}

// sameLines says how two texts differ, but for the order of their lines.
func sameLines(want, got []byte) error {
	count := map[string]int{}
	for line := range bytes.Lines(want) {
		count[string(line)]++
	}
	for line := range bytes.Lines(got) {
		count[string(line)]--
	}
	var lost, surplus []string
	for line, n := range count {
		switch {
		case n > 0:
			lost = append(lost, line)
		case n < 0:
			surplus = append(surplus, line)
		}
	}
	if len(lost)+len(surplus) == 0 {
		return nil
	}
	return fmt.Errorf("%d lines lost, %d twice or strange; lost %q, surplus %q", len(lost), len(surplus),
		lost[:min(shownMax, len(lost))], surplus[:min(shownMax, len(surplus))])
}

// byOrigin splits lines by the airport in them.
func byOrigin(text []byte) map[string][]string {
	lines := map[string][]string{}
	for line := range bytes.Lines(text) {
		_, rest, _ := bytes.Cut(line, []byte(`"origin":"`))
		origin, _, _ := bytes.Cut(rest, []byte(`"`))
		lines[string(origin)] = append(lines[string(origin)], string(line))
	}
	return lines
}
