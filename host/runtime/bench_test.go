package runtime_test

import (
	"context"
	"os"
	"testing"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// BenchmarkHourly runs the hourly-delays job over the flights of the file that
// FLIGHTS names, from file to nowhere.
func BenchmarkHourly(b *testing.B) {
	path := os.Getenv("FLIGHTS")
	if path == "" {
		b.Skip("FLIGHTS names no file")
	}
	for _, variant := range variants {
		b.Run(variant, func(b *testing.B) {
			records := int64(0)
			for b.Loop() {
				plan := hourlyPlan(b, variant, 1)
				plan.Sources[0].Connector.File.Path = path
				j, err := runtime.New(plan, benchConfig(b))
				if err != nil {
					b.Fatal(err)
				}
				if err := j.Run(context.Background()); err != nil {
					b.Fatal(err)
				}
				records += j.Progress().Records
				if err := j.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// discard is a sink that keeps nothing. What other sinks of tests do not care about
// they have from it.
type discard struct{}

func (discard) Recover([]byte) error           { return nil }
func (discard) Open([]byte) error              { return nil }
func (discard) Write(*connector.Records) error { return nil }
func (discard) Handover(bool) ([]byte, error)  { return nil, nil }
func (discard) Commit() error                  { return nil }
func (discard) Interrupt()                     {}
func (discard) Close() error                   { return nil }
func (discard) Abort() error                   { return nil }

func benchConfig(t testing.TB) runtime.Config {
	c := config(t, nil)
	c.Sink = func(*job.Sink) (connector.Sink, error) { return discard{}, nil }
	return c
}
