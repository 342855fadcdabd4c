package runtime_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/connector/file"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/format/json"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// wallClock is the machine's clock.
type wallClock struct{ timer *time.Timer }

func (c *wallClock) Now() stream.ProcTime { return stream.ProcTime(time.Now().UnixMilli()) }

func (c *wallClock) Alarm(at stream.ProcTime, ring func()) {
	if c.timer != nil {
		c.timer.Stop()
	}
	if ring != nil {
		c.timer = time.AfterFunc(time.Until(time.UnixMilli(int64(at))), ring)
	}
}

// memorySink keeps what it is given; a hand-over cuts it back.
type memorySink struct {
	data      []byte
	committed bool
}

func (s *memorySink) Open(handover int64) error { s.data = s.data[:handover]; return nil }
func (s *memorySink) Write(b []byte) error      { s.data = append(s.data, b...); return nil }
func (s *memorySink) Handover() (int64, error)  { return int64(len(s.data)), nil }
func (s *memorySink) Commit() error             { s.committed = true; return nil }
func (s *memorySink) Abort() error              { return nil }

func hourlyPlan(t testing.TB, name string, parallelism int) *job.Job {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../testdata/jobs", name))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := job.Parse(text, job.Options{File: name, Dir: "../../testdata/jobs", Manifest: func(m job.Module) (*abi.Manifest, error) {
		return nil, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	plan.Parallelism = parallelism
	return plan
}

func config(sinks map[string]*memorySink) runtime.Config {
	return runtime.Config{
		Clock: &wallClock{},
		Source: func(s *job.Source) (connector.Source, error) {
			f := s.Connector.File
			return file.NewSource(f.Path, f.Shown, f.RecordBytesMax), nil
		},
		Decoder: func(s *job.Source) (format.Decoder, error) { return json.NewDecoder(s.Schema, s.Output) },
		Encoder: func(s *job.Sink) (format.Encoder, error) { return json.NewEncoder(s.Input, json.EncoderOptions{}) },
		Sink: func(s *job.Sink) (connector.Sink, error) {
			if sinks[s.Name] == nil {
				sinks[s.Name] = &memorySink{}
			}
			return sinks[s.Name], nil
		},
	}
}

func checkHourly(t *testing.T, sinks map[string]*memorySink) {
	t.Helper()
	for sink, name := range map[string]string{"delays": "firings", "late": "late"} {
		want, err := os.ReadFile("../../testdata/hourly-delays/" + name + ".ndjson")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sortedLines(want), sortedLines(sinks[sink].data)); diff != "" {
			t.Fatalf("%s (-want +got):\n%.2000s", name, diff)
		}
		if !sinks[sink].committed {
			t.Errorf("sink %s was not committed", sink)
		}
	}
}

func sortedLines(b []byte) []string {
	var lines []string
	for line := range bytes.Lines(b) {
		lines = append(lines, string(line))
	}
	slices.Sort(lines)
	return lines
}

func TestHourlyDelays(t *testing.T) {
	sinks := map[string]*memorySink{}
	j, err := runtime.New(hourlyPlan(t, "hourly-delays-builtin.yaml", 1), config(sinks))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	checkHourly(t, sinks)
}
