package runtime_test

import (
	"context"
	"os"
	"testing"

	"github.com/wasmstream/wasmstream/host/runtime"
)

// BenchmarkHourly runs the hourly-delays job over the flights of
// FLIGHTS, from file to memory.
func BenchmarkHourly(b *testing.B) {
	path := os.Getenv("FLIGHTS")
	if path == "" {
		b.Skip("FLIGHTS names no file")
	}
	for b.Loop() {
		plan := hourlyPlan(b, "hourly-delays-builtin.yaml", 1)
		plan.Sources[0].Connector.File.Path = path
		j, err := runtime.New(plan, config(map[string]*memorySink{}))
		if err != nil {
			b.Fatal(err)
		}
		if err := j.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
		p := j.Progress()
		b.ReportMetric(float64(p.Records)/b.Elapsed().Seconds()*float64(b.N), "records/s")
		j.Close()
	}
}
