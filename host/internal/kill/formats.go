package kill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wasmstream/wasmstream/host/internal/servers"
)

// FormatsJob is a job from a topic to two more whose records are read and written by functions. Each message has a word of
// its own, which comes out once; some have no text, and some cannot be decoded: those come out of SOURCE.failed once.
type FormatsJob struct {
	Broker   *servers.Broker
	In       string // of Partitions partitions
	Prefix   string // of topics to write to, and of transactional ids
	Testdata string
	Records  int
}

// message is what the nth message holds, and the word that must come out; none if it cannot be decoded.
func message(n int) (value []byte, word string) {
	word = fmt.Sprintf("w%d", n)
	switch n % 50 {
	case 7:
		return fmt.Appendf(nil, "%s \xff", word), "" // the first row is sound, and does not count
	case 8:
		return nil, ""
	}
	return fmt.Appendf(nil, "%s %[1]s", word), word
}

// send fills the input, with a time of each record that goes up.
func (j FormatsJob) send(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(j.Broker.Bootstrap), kgo.DefaultProduceTopic(j.In), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer client.Close()
	var records []*kgo.Record
	for n := range j.Records {
		value, _ := message(n)
		records = append(records, &kgo.Record{Partition: int32(n % Partitions), Value: value, Timestamp: time.UnixMilli(firstTime + int64(n)*step)})
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

// Bounded is the job over its input, which is sent here. Each round has topics of its own to write to, which newTopic makes.
func (j FormatsJob) Bounded(ctx context.Context, newTopic func(name string) error) (BoundedJob, error) {
	if err := j.send(ctx); err != nil {
		return BoundedJob{}, err
	}
	words, broken := map[string]int{}, map[string]int{}
	for n := range j.Records {
		switch value, word := message(n); {
		case word != "":
			words[word] = 1
		case value != nil:
			broken[string(value)] = 1
		}
	}
	topics := func(folder string) (out, failed string) {
		name := j.Prefix + "-" + filepath.Base(folder)
		return name + "-out", name + "-failed"
	}
	return BoundedJob{
		Name: "formats",
		Prepare: func(folder string) error {
			out, failed := topics(folder)
			return errors.Join(newTopic(out), newTopic(failed), os.MkdirAll(folder, 0o755),
				os.WriteFile(filepath.Join(folder, "job.yaml"), []byte(j.text(out, failed)), 0o644))
		},
		Check: func(folder string) error {
			out, failed := topics(folder)
			return errors.Join(j.check(ctx, out, words, wordOf), j.check(ctx, failed, broken, brokenOf))
		},
	}, nil
}

func (j FormatsJob) text(out, failed string) string {
	const rest = `sources:
  in:
    kafka: {brokers: [%[1]q], topics: [%[2]s], format: {wasm: r.words}, bounded: true, metadata: {at: timestamp}}
    schema: {user: STRING}
    event-time: at
    watermark: {max-out-of-orderness: 5s}
    on-error: dead-letter
steps:
  counts: {from: in, key-by: [user], window: {tumbling: {size: 1s}}, aggregate: {amount: count}}
sinks:
  out: {from: counts, kafka: {brokers: [%[1]q], topic: %[3]s, format: {wasm: r.written}, delivery: exactly-once, transactional-id-prefix: %[3]s}}
  failed: {from: in.failed, kafka: {brokers: [%[1]q], topic: %[4]s, format: json, delivery: exactly-once, transactional-id-prefix: %[4]s}}
`
	return beginning(j.Testdata, map[string]string{"r": "roles-c"}) + fmt.Sprintf(rest, j.Broker.Bootstrap, j.In, out, failed)
}

// wordOf is the word in a record that the function has written, which is its key too.
func wordOf(r *kgo.Record) (string, error) {
	if string(r.Key) != string(r.Value) {
		return "", fmt.Errorf("the key is %q, and the value %q", r.Key, r.Value)
	}
	return string(r.Value), nil
}

// brokenOf is the message in a dead letter.
func brokenOf(r *kgo.Record) (string, error) {
	var letter struct {
		Record   []byte
		Function string
	}
	if err := json.Unmarshal(r.Value, &letter); err != nil {
		return "", err
	}
	if letter.Function != "r.words" {
		return "", fmt.Errorf("not of the function: %s", r.Value)
	}
	return string(letter.Record), nil
}

// check holds a topic that nobody writes to any more against what must be in it.
func (j FormatsJob) check(ctx context.Context, topic string, want map[string]int, read func(*kgo.Record) (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, settleMax)
	defer cancel()
	if err := awaitSettled(ctx, j.Broker.Bootstrap, topic); err != nil {
		return err
	}
	got := map[string]int{}
	err := readTopic(ctx, j.Broker.Bootstrap, topic, func(r *kgo.Record) error {
		text, err := read(r)
		got[text]++
		return err
	})
	if err != nil || maps.Equal(got, want) {
		return err
	}
	var wrong []string
	for text := range want {
		if got[text] != 1 {
			wrong = append(wrong, fmt.Sprintf("%q comes %d times", text, got[text]))
		}
	}
	for text := range got {
		if want[text] == 0 {
			wrong = append(wrong, fmt.Sprintf("%q is strange", text))
		}
	}
	return fmt.Errorf("%s: %d of %d are wrong: %v", topic, len(wrong), len(want), wrong[:min(shownMax, len(wrong))])
}
