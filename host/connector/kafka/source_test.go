package kafka_test

import (
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/connector/kafka"
)

func TestReadsAllPartitions(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 3)
	want := map[string][]string{}
	for p := range int32(3) {
		values := numbered("v", 1000*int(p+1))
		b.produce(t, topic, p, values...)
		want[topic+"/"+string(rune('0'+p))] = values
	}
	r := open(t, kafka.SourceOptions{Connection: b.connection(), Topics: []string{topic}, Bounded: true})
	if err := r.toEnd(); err != io.EOF {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, r.values); d != "" {
		t.Error(d)
	}
	if !slices.IsSorted(r.splits) || len(r.splits) != 3 {
		t.Errorf("the splits became known as %v", r.splits)
	}
}
