package kill

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// BoundedJob is a job whose input ends.
type BoundedJob struct {
	Name string
	// Prepare makes the folder in which the job is run, with its job.yaml.
	Prepare func(folder string) error
	// Check says what is wrong with the output of a job that is done. A fault-free run comes first.
	Check func(folder string) error
	// Whole are the sinks' files that must not be there before they are whole.
	Whole []string
}

// Run runs the job without a kill and then, again and again from the start, with kills, until the report has enough. It ends with the first finding.
func (j BoundedJob) Run(ctx context.Context, c Command, temp string, seed uint64, kills int, report *Report) error {
	took, err := j.faultFree(ctx, c, filepath.Join(temp, j.Name))
	if err != nil {
		return fmt.Errorf("%s, without a kill: %w", j.Name, err)
	}
	fates := NewFates(seed, took*5/4+time.Millisecond, 3, false)
	for round, idle := 1, 0; !report.Enough(kills); round++ {
		before := report.Kills()
		c.Folder = filepath.Join(temp, fmt.Sprintf("%s-%d", j.Name, round))
		if err := j.round(ctx, c, fates, report); err != nil {
			return fmt.Errorf("%s, round %d in %s: %w", j.Name, round, c.Folder, err)
		}
		if err := os.RemoveAll(c.Folder); err != nil {
			return err
		}
		if idle++; report.Kills() > before {
			idle = 0
		}
		if idle == idleMax {
			return fmt.Errorf("%s: %d rounds, each with another fate, came to their end without a kill\n%s", j.Name, idle, report.History())
		}
	}
	return nil
}

// idleMax is how many rounds may end without a kill: few, since half of the random times are within a run's time.
const idleMax = 20

func (j BoundedJob) faultFree(ctx context.Context, c Command, folder string) (time.Duration, error) {
	c.Folder = folder
	if err := j.Prepare(folder); err != nil {
		return 0, err
	}
	life, err := c.Live(ctx, Fate{}, nil)
	if err == nil && life.End != Done {
		err = fmt.Errorf("%s\n%s", life, life.Said)
	}
	if err == nil {
		err = j.Check(folder)
	}
	return life.Took, err
}

// round runs the job once, with as many kills as that takes.
func (j BoundedJob) round(ctx context.Context, c Command, fates *Fates, report *Report) error {
	if err := j.Prepare(c.Folder); err != nil {
		return err
	}
	var whole map[string]int64 // sizes of sinks' files that have appeared
	for {
		life, err := c.Live(ctx, fates.Next(), nil)
		if err != nil {
			return err
		}
		report.Add(life)
		if whole, err = j.sizes(c.Folder, whole); err != nil {
			return err
		}
		switch life.End {
		case Failed, Endless:
			return fmt.Errorf("%s\n%s", life, life.Said)
		case Done:
			fates.Unmet(life.Fate)
			return j.done(ctx, c)
		}
	}
}

// sizes looks at the files that are to appear whole, and says if one has changed that had appeared.
func (j BoundedJob) sizes(folder string, before map[string]int64) (map[string]int64, error) {
	now := map[string]int64{}
	for _, name := range j.Whole {
		info, err := os.Stat(filepath.Join(folder, name))
		switch {
		case err == nil:
			now[name] = info.Size()
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		if had, was := before[name]; was && now[name] != had {
			return nil, fmt.Errorf("%s had appeared with %d bytes, and has %d", name, had, now[name])
		}
	}
	return now, nil
}

// done looks at what a job that is done has left, and that running it again changes nothing.
func (j BoundedJob) done(ctx context.Context, c Command) error {
	if err := j.Check(c.Folder); err != nil {
		return err
	}
	life, err := c.Live(ctx, Fate{}, nil)
	if err != nil {
		return err
	}
	if life.End != Done {
		return fmt.Errorf("run again when it was done: %s\n%s", life, life.Said)
	}
	if err := j.Check(c.Folder); err != nil {
		return fmt.Errorf("run again when it was done: %w", err)
	}
	return nil
}

// readResults reads results from files, in order.
func readResults(paths ...string) ([]Seen, error) {
	var seen []Seen
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(text) {
			s := Seen{Offset: int64(len(seen))}
			if err := parseResult(line, &s.Result); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			seen = append(seen, s)
		}
	}
	return seen, nil
}

func parseResult(line []byte, r *Result) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return fmt.Errorf("%.200q: %w", line, err)
	}
	return nil
}

// compareFiles reads results from files and holds them against what is expected.
func compareFiles(want []Result, paths ...string) error {
	seen, err := readResults(paths...)
	if err != nil {
		return err
	}
	if f := Compare(want, seen); !f.None() {
		return fmt.Errorf("%s: %s", strings.Join(paths, ", "), f)
	}
	return nil
}

// onlyThere says if a folder has other files than those.
func onlyThere(folder string, names ...string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var there []string
	for _, e := range entries {
		there = append(there, e.Name())
	}
	slices.Sort(names)
	if !slices.Equal(there, names) {
		return fmt.Errorf("%s has %q, not %q", folder, there, names)
	}
	return nil
}

// writeInput writes so many records of a seed as lines, and returns them.
func writeInput(path string, seed uint64, records int) ([][]Record, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := NewInput(seed, 1)
	made := make([]Record, records)
	w := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for i := range made {
		_, made[i] = in.Next()
		line = append(made[i].AppendJSON(line[:0]), '\n')
		if _, err := w.Write(line); err != nil {
			return nil, err
		}
	}
	return [][]Record{made}, errors.Join(w.Flush(), f.Close())
}
