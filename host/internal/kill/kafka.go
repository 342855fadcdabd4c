package kill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wasmstream/wasmstream/host/internal/servers"
)

// KafkaJob is a job with tumbling and session windows from a topic of three partitions to two more.
type KafkaJob struct {
	Broker   *servers.Broker // which nobody else uses
	In       string          // the topics, of Partitions partitions each
	Tumbling string
	Sessions string
	Prefix   string // of its transactional ids
	Delivery string // exactly-once, unless a run is to show that less is noticed
	Testdata string // where the functions are
	Bounded  bool   // it ends with what is in the topic when it starts

	settleMax time.Duration // how long it may take, once nothing is killed any more, until all results are there
}

const (
	// Partitions is how many partitions each topic has.
	Partitions = 3
	// perSecond is how many records are sent in a second.
	perSecond = 2000
	// lifeMax is below how long the command lives if it is killed at a random time: some checkpoints.
	lifeMax = 1500 * time.Millisecond
	// settleMax is how long a job may take, once nothing is killed any more, until all results are there.
	settleMax = 5 * time.Minute
)

// writeJob writes the job file into a folder.
func (j KafkaJob) writeJob(folder string) error {
	at, bounded := j.Broker.Bootstrap, ""
	if j.Bounded {
		bounded = ", bounded: true"
	}
	text := header(j.Testdata, "200ms") + fmt.Sprintf(`sources:
  in:
    kafka: {brokers: [%q], topics: [%s], format: json, start: earliest%s}
`, at, j.In, bounded) + source + steps + "sinks:\n"
	delivery := func(sink string) string {
		if j.Delivery != "exactly-once" {
			return "delivery: " + j.Delivery
		}
		return "delivery: exactly-once, transactional-id-prefix: " + j.Prefix + "-" + sink
	}
	for _, s := range [][2]string{{"tumbling", j.Tumbling}, {"sessions", j.Sessions}} {
		text += fmt.Sprintf("  %s: {from: %[1]s, kafka: {brokers: [%q], topic: %s, format: json, key: [k], %s}}\n", s[0], at, s[1], delivery(s[0]))
	}
	return errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "job.yaml"), []byte(text), 0o644))
}

// Outcome is what a job put out, in numbers.
type Outcome struct {
	Records, Tumbling, Sessions int
	// Settled is how long it took, once nothing was killed any more, until all results were there.
	Settled time.Duration
}

// Run runs the job with so many kills while its input goes on, lets it come to the end of that, and says what is wrong with
// its output.
func (j KafkaJob) Run(ctx context.Context, c Command, seed uint64, kills int, report *Report) (Outcome, error) {
	if err := j.writeJob(c.Folder); err != nil {
		return Outcome{}, err
	}
	f, err := startFeeder(j.Broker.Bootstrap, j.In, NewInput(seed, Partitions), perSecond)
	if err != nil {
		return Outcome{}, err
	}
	killed := j.killAll(ctx, c, NewFates(seed, lifeMax, 3, true), kills, report)
	sent, err := f.end(ctx)
	if err := errors.Join(killed, err); err != nil {
		return Outcome{}, err
	}
	return j.settle(ctx, c, sent)
}

// killAll runs the command again and again until it was killed so many times. After the death of a broker it comes back
// while the command is already running again.
func (j KafkaJob) killAll(ctx context.Context, c Command, fates *Fates, kills int, report *Report) (err error) {
	var back chan error // the broker's return, while it is away
	defer func() {
		if back != nil {
			err = errors.Join(err, <-back)
		}
	}()
	for !report.Enough(kills) {
		fate := fates.Next()
		if fate.Broker && back != nil {
			if err := <-back; err != nil {
				return err
			}
			back = nil
		}
		away := back != nil
		life, err := c.Live(ctx, fate, j.Broker.Kill)
		if err != nil {
			return err
		}
		report.Add(life)
		if life.Broker {
			away, back = true, make(chan error, 1)
			go func() { back <- j.Broker.Restart(ctx) }()
		}
		switch {
		case life.End == Killed:
		case life.End == Failed && away:
			fates.Unmet(fate)
			if err := <-back; err != nil { // to start it before would be to no purpose
				return err
			}
			back = nil
		default:
			return fmt.Errorf("%s\n%s", life, life.Said)
		}
		if back, err = arrived(back); err != nil {
			return err
		}
	}
	return nil
}

// arrived looks whether somebody who is awaited has come.
func arrived(back chan error) (chan error, error) {
	select {
	case err := <-back: // never, if it is nil
		return nil, err
	default:
		return back, nil
	}
}

// settle runs the command until all results are there, asks it to end, and compares.
func (j KafkaJob) settle(ctx context.Context, c Command, sent int64) (Outcome, error) {
	in, err := readInput(ctx, j.Broker.Bootstrap, j.In, Partitions, sent)
	if err != nil {
		return Outcome{}, err
	}
	end := FinalWatermark(in)
	tumbling, sessions := Tumbling(in, tumblingSize, end), Sessions(in, sessionGap, end)
	o := Outcome{int(sent), len(tumbling), len(sessions), 0}
	r, err := c.start(Fate{})
	if err != nil {
		return o, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(j.settleMax, settleMax))
	defer cancel()
	err = errors.Join(j.await(ctx, r, j.Tumbling, len(tumbling)), j.await(ctx, r, j.Sessions, len(sessions)))
	o.Settled = time.Since(r.started)
	err = errors.Join(err, r.stop(ctx))
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleMax) // what is there tells more than that time is up
	defer cancel()
	err = errors.Join(err, j.compare(late, j.Tumbling, tumbling), j.compare(late, j.Sessions, sessions))
	if err != nil {
		err = fmt.Errorf("%w\nthe command said last:\n%s", err, r.said)
	}
	return o, err
}

// await waits until a topic has so many committed results and nothing else, or the command has ended.
func (j KafkaJob) await(ctx context.Context, r *run, topic string, results int) error {
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		n, err := j.committed(ctx, topic)
		if err == nil && n >= results {
			return nil
		}
		select {
		case <-look.C:
		case <-r.ended:
			return fmt.Errorf("the command has ended with %d of %d results in %s", n, results, topic)
		case <-ctx.Done():
			return fmt.Errorf("%s has %d of %d results, and time is up: %v", topic, n, results, err)
		}
	}
}

// committed is how many results a topic has, once no transaction is open.
func (j KafkaJob) committed(ctx context.Context, topic string) (n int, err error) {
	found, err := topicEnds(ctx, j.Broker.Bootstrap, topic)
	switch {
	case err != nil:
		return 0, err
	case !settled(found):
		return 0, fmt.Errorf("its last stable offsets are not its ends: %+v", found)
	}
	err = readTopic(ctx, j.Broker.Bootstrap, topic, func(*kgo.Record) error { n++; return nil })
	return n, err
}

func (j KafkaJob) compare(ctx context.Context, topic string, want []Result) error {
	seen, err := readOutput(ctx, j.Broker.Bootstrap, topic)
	if err != nil {
		return err
	}
	f := Compare(want, seen)
	if f.None() {
		return nil
	}
	err = fmt.Errorf("%s: %s", topic, f)
	for _, lost := range f.Lost[:min(len(f.Lost), 3)] {
		err = fmt.Errorf("%w\n%s", err, whereabouts(ctx, j.Broker.Bootstrap, topic, lost))
	}
	return err
}

// BoundedKafka is the job over as many records as are sent at once. Each round has topics of its own to write to, which
// newTopic makes.
func (j KafkaJob) BoundedKafka(ctx context.Context, seed uint64, newTopic func(name string) error) (BoundedJob, error) {
	j.Bounded = true
	f, err := startFeeder(j.Broker.Bootstrap, j.In, NewInput(seed, Partitions), 50*perSecond)
	if err != nil {
		return BoundedJob{}, err
	}
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	sent, err := f.end(ctx)
	if err != nil {
		return BoundedJob{}, err
	}
	in, err := readInput(ctx, j.Broker.Bootstrap, j.In, Partitions, sent)
	if err != nil {
		return BoundedJob{}, err
	}
	tumbling, sessions := Tumbling(in, tumblingSize, EndOfTime), Sessions(in, sessionGap, EndOfTime)
	round := func(folder string) KafkaJob {
		j := j
		j.Prefix = j.Prefix + "-" + filepath.Base(folder)
		j.Tumbling, j.Sessions = j.Prefix+"-tumbling", j.Prefix+"-sessions"
		return j
	}
	return BoundedJob{
		Name: "bounded",
		Prepare: func(folder string) error {
			j := round(folder)
			return errors.Join(newTopic(j.Tumbling), newTopic(j.Sessions), j.writeJob(folder))
		},
		Check: func(folder string) error {
			j := round(folder)
			return errors.Join(j.whole(ctx, j.Tumbling, tumbling), j.whole(ctx, j.Sessions, sessions))
		},
	}, nil
}

// whole says what is wrong with a topic that nobody writes to any more.
func (j KafkaJob) whole(ctx context.Context, topic string, want []Result) error {
	ctx, cancel := context.WithTimeout(ctx, settleMax)
	defer cancel()
	if err := awaitSettled(ctx, j.Broker.Bootstrap, topic); err != nil {
		return err
	}
	return j.compare(ctx, topic, want)
}
