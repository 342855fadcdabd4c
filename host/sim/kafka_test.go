package sim_test

import (
	"flag"
	"testing"

	"github.com/wasmstream/wasmstream/host/sim"
)

var kafkaSeeds = flag.Int("kafka-seeds", 20, "how many seeds are run with Kafka's connectors")

// TestKafkaSeeds runs jobs with the real Kafka connectors against a cluster in the process.
func TestKafkaSeeds(t *testing.T) {
	if *seed != 0 && *kafkaSeeds != 1 {
		t.Skip("-seed runs one only; with -kafka-seeds=1 it is run here")
	}
	for i := range uint64(*kafkaSeeds) {
		n := *first + i
		if *seed != 0 {
			n = *seed
		}
		report, err := sim.RunKafka(t.Context(), options(n))
		if err != nil {
			t.Fatalf("seed %d: %v", n, err)
		}
		for _, f := range report.Findings {
			t.Errorf("seed %d, job %s: %s\n  to run it again: go test ./host/sim -run TestKafkaSeeds -kafka-seeds 1 -seed %d", n, report.Job, f, n)
		}
		if len(report.Crashes)+report.Failures < crashesLeast-2 {
			t.Errorf("seed %d, job %s: crashes at %v and %d failures only", n, report.Job, report.Crashes, report.Failures)
		}
		t.Logf("%+v", *report)
	}
}
