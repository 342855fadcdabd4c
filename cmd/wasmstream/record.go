package main

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/format/json"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/recording"
	"github.com/wasmstream/wasmstream/host/stream"
)

// RecordFlags say what is recorded of a run.
type RecordFlags struct {
	Record       *string `help:"Record what functions of modules are asked and answer into FILE, for wasmstream replay." placeholder:"FILE"`
	RecordStep   string  `help:"Record the functions of this step only; it may be a source or a sink." placeholder:"STEP"`
	RecordKey    string  `help:"Record only calls about this key: JSON, by the columns of the step's key." placeholder:"JSON"`
	RecordSample string  `help:"Record one call of so many of each instance: 1/1000." placeholder:"1/N"`
	RecordMB     *int    `name:"record-mb" help:"Record no more than so many MB; 256 by default." placeholder:"N"`
}

// recordMBMax is a pebibyte: more than a file takes.
const recordMBMax = 1 << 30

// Validate implements kong's check of a command's flags.
func (f *RecordFlags) Validate() error {
	if f.Record != nil && *f.Record == "" {
		return errors.New("--record is empty: it names the file to record into")
	}
	if f.Record == nil && (f.RecordStep != "" || f.RecordKey != "" || f.RecordSample != "" || f.RecordMB != nil) {
		return errors.New("--record-step, --record-key, --record-sample and --record-mb need --record FILE")
	}
	if f.RecordMB != nil && (*f.RecordMB < 1 || *f.RecordMB > recordMBMax) {
		return fmt.Errorf("--record-mb is %d: it must be from 1 to %d; without it a recording takes 256 MB at the most", *f.RecordMB, recordMBMax)
	}
	_, err := f.sample()
	return err
}

// sample is N of 1/N; 0 without it.
func (f *RecordFlags) sample() (int, error) {
	if f.RecordSample == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.TrimPrefix(f.RecordSample, "1/"))
	if err != nil || n < 1 || !strings.HasPrefix(f.RecordSample, "1/") {
		return 0, fmt.Errorf("--record-sample is %q; one call of a thousand is 1/1000", f.RecordSample)
	}
	return n, nil
}

// bytesMax is 0 where the default holds.
func (f *RecordFlags) bytesMax() int64 {
	if f.RecordMB == nil {
		return 0
	}
	return int64(*f.RecordMB) << 20
}

// notMade says why a recording cannot be made.
func notMade(err error) error {
	var failed *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("the folder that it is to be in is not there")
	case errors.As(err, &failed):
		return failed.Err
	}
	return err
}

// recorder records the functions of a job.
type recorder struct {
	w    *recording.Writer
	file *os.File
	path string
	of   map[*job.Function]recorded
}

// recorded is a function that is recorded.
type recorded struct {
	step string
	key  stream.Row // nil: all
}

// openRecorder begins a recording; nil if there is to be none.
func openRecorder(f *RecordFlags, log *slog.Logger, plan *job.Job, m *modules) (*recorder, error) {
	if f.Record == nil {
		return nil, nil
	}
	path := *f.Record
	r := &recorder{path: path, of: map[*job.Function]recorded{}}
	if err := r.choose(f, plan); err != nil {
		return nil, &exitError{exitBadInput, err}
	}
	sample, err := f.sample()
	if err != nil {
		return nil, err
	}
	h := recording.Header{Job: plan.Name, Version: readVersion().Version, ABI: abi.Version, Step: f.RecordStep, Key: f.RecordKey, Sample: sample}
	for i, module := range m.digests(plan) {
		h.Modules = append(h.Modules, recording.Module{Name: module.Name, Path: plan.Modules[i].Path, Digest: module.Digest})
	}
	if r.file, err = createRecording(path); err != nil {
		return nil, &exitError{exitBadInput, &fileError{path, notMade(err)}}
	}
	r.w, err = recording.NewWriter(r.file, recording.Options{BytesMax: f.bytesMax(), Sample: sample, Stopped: func(reason error) {
		log.Log(context.Background(), slog.LevelWarn, "the recording ends here; the run goes on", "file", path, "reason", reason)
	}}, h)
	if err != nil {
		return nil, errors.Join(&fileError{path, err}, r.file.Close())
	}
	return r, nil
}

// createRecording makes the file of a recording, over an older one. Another file is not
// written over: it may be what the job reads.
func createRecording(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		beginning := make([]byte, 64)
		old, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		n, err := io.ReadFull(old, beginning)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		if err = errors.Join(err, old.Close()); err != nil {
			return nil, err
		}
		if !recording.Looks(beginning[:n]) {
			return nil, errors.New("it is there, and is no recording; --record writes over an older recording only")
		}
	}
	return os.Create(path)
}

// choose finds the functions that are to be recorded.
func (r *recorder) choose(f *RecordFlags, plan *job.Job) error {
	var callers []string
	functions := 0
	for _, c := range calledIn(plan) {
		callers = append(callers, c.by)
		if f.RecordStep != "" && c.by != f.RecordStep {
			continue
		}
		functions++
		key, reads, err := keyRow(f.RecordKey, c.function)
		if err != nil {
			return fmt.Errorf("--record-key: the key of %s is (%s): %w", c.function.Name, strings.Join(c.function.Key.Names(), ", "), err)
		}
		if reads {
			r.of[c.function] = recorded{c.by, key}
		}
	}
	return r.chosen(f, functions, callers)
}

// chosen says why there is nothing to record, if that is so.
func (r *recorder) chosen(f *RecordFlags, functions int, callers []string) error {
	switch near := stream.Nearest(f.RecordStep, callers); {
	case functions == 0 && f.RecordStep == "":
		return errors.New("--record: the job has no functions of modules")
	case functions == 0 && near != "" && near != f.RecordStep:
		return fmt.Errorf("--record-step: no step, source or sink %s calls functions of modules; did you mean %s?", f.RecordStep, near)
	case functions == 0:
		return fmt.Errorf("--record-step: no step, source or sink %s calls functions of modules; those that have are %s", f.RecordStep, strings.Join(slices.Compact(callers), ", "))
	case len(r.of) == 0:
		return errors.New("--record-key: no function reads its key, that is, has `key` in its manifest, so that calls cannot be told by it; use --record-sample")
	}
	return nil
}

// keyRow is the key that a function is recorded for, nil for all; reads is false if it does
// not read its key.
func keyRow(text string, f *job.Function) (key stream.Row, reads bool, err error) {
	if text == "" {
		return nil, true, nil
	}
	if f.Key == nil {
		return nil, false, nil
	}
	if err := hasAll(text, f.Key.Names()); err != nil {
		return nil, false, err
	}
	d, err := json.NewDecoder(f.Key, f.Key)
	if err != nil {
		return nil, false, err
	}
	w := stream.NewRowWriter(f.Key)
	w.BeginIn(nil, stream.Insert)
	if err := d.Decode([]byte(text), w); err != nil {
		return nil, false, err
	}
	columns := make([]int, f.Key.Len())
	for i := range columns {
		columns[i] = i
	}
	// In the order of the columns, whatever that of the JSON is: keys are compared by bytes.
	return stream.NewProjection(f.Key, columns).AppendTo(nil, w.Row(), stream.Insert), true, nil
}

// hasAll holds the fields of a JSON object against a key's columns. What is no object is
// for the decoder to refuse.
func hasAll(text string, columns []string) error {
	var fields map[string]any
	if err := stdjson.Unmarshal([]byte(text), &fields); err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(columns, name) {
			return fmt.Errorf("it has no column %q", name)
		}
	}
	for _, name := range columns {
		if _, ok := fields[name]; !ok {
			return fmt.Errorf("%s is missing; it may be null", name)
		}
	}
	return nil
}

// wrap has the calls of an instance recorded, if its function is.
func (r *recorder) wrap(i guest.Instance, f *job.Function) (guest.Instance, error) {
	if r == nil {
		return i, nil
	}
	of, ok := r.of[f]
	if !ok {
		return i, nil
	}
	declared := f.Module.Manifest.GetFunctions()[f.Index]
	text, err := protojson.Marshal(&abi.Manifest{AbiVersion: abi.Version, Functions: []*abi.Function{declared}})
	if err != nil {
		return nil, err
	}
	return r.w.Wrap(i, recording.Function{
		Step: of.step, Module: f.Module.Name, Name: f.Name, Role: f.Role, Index: f.Index, Manifest: string(text),
		Limits: recording.Limits{Fuel: f.Limits.Fuel, FuelPerOp: f.Limits.FuelPerOp, OutputBytes: f.Limits.OutputBytes, MemoryBytes: f.Limits.MemoryBytes},
	}, of.key), nil
}

// close ends the recording, and says what became of it.
func (r *recorder) close(tell func(format string, args ...any)) error {
	if r == nil {
		return nil
	}
	calls := r.w.Calls()
	if err := errors.Join(r.w.Close(), r.file.Close()); err != nil {
		return &fileError{r.path, err}
	}
	tell("recorded %s calls in %s; see wasmstream replay %s\n", grouped(int64(calls)), shownPath(r.path), shownPath(r.path))
	return nil
}
