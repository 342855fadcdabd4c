package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wasmstream/wasmstream/host/connector"
)

const (
	// chunkBytes is what a chunk holds, but for the record that goes beyond it.
	chunkBytes = 512 << 10
	// chunkRecordsMax keeps what is known of each record small too.
	chunkRecordsMax = 16 << 10
)

var errClosed = errors.New("the kafka source is closed")

// Source reads topics. It fetches by itself: one goroutine for each broker that
// leads a partition, which hands its answers to Read and fetches on only when they
// are taken; one that keeps track of who leads what; one that commits offsets to the
// group, if there is one. Close ends them all.
type Source struct {
	options SourceOptions
	log     *slog.Logger
	pattern *regexp.Regexp // nil: topics are listed
	client  *kgo.Client
	admin   *kadm.Client
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	owned   sync.WaitGroup // goroutines

	answers chan *answer  // from the fetchers
	news    chan struct{} // something to announce, or failure; holds one
	stale   chan struct{} // the metadata should be looked at again; holds one
	group   *groupCommits // nil: no group

	mu        sync.Mutex
	topics    map[string]*topic
	splits    []*split
	byName    map[string]*split
	fetchers  map[int32]*fetcher
	announced int   // so many of splits have been made known
	failure   error // why nothing more is read
	closed    bool

	// The reader's own.
	answer *answer // what is left of it is to be handed out
	batch  *batchReader
	begun  bool // batch holds the first part of answer
}

// answer is what one response has: parts with data, in the order of the broker.
type answer struct{ parts []part }

type part struct {
	split   *split
	data    []byte
	aborted aborted
}

// NewSource makes a source; it connects at Open.
func NewSource(options SourceOptions) (*Source, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	o := &options
	if o.DiscoveryInterval == 0 {
		o.DiscoveryInterval = defaultDiscoveryInterval
	}
	if o.RecordBytesMax == 0 {
		o.RecordBytesMax = defaultRecordBytesMax
	}
	if o.FetchBytesMax == 0 {
		o.FetchBytesMax = defaultFetchBytesMax
	}
	opts, err := o.Connection.options()
	if err != nil {
		return nil, fmt.Errorf("kafka source: %w", err)
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka source: %w", err)
	}
	s := &Source{
		options: options, log: o.logger(), client: client, admin: kadm.NewClient(client),
		answers: make(chan *answer), news: make(chan struct{}, 1), stale: make(chan struct{}, 1),
		topics: map[string]*topic{}, byName: map[string]*split{}, fetchers: map[int32]*fetcher{},
		batch: newBatchReader(o.RecordBytesMax, o.Metadata),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if o.Pattern != "" {
		s.pattern = regexp.MustCompile("^(?:" + o.Pattern + ")$")
	}
	if o.Group != "" {
		s.group = newGroupCommits(s.admin, o.Group, s.log)
	}
	return s, nil
}

// Size implements connector.Source: nobody knows it.
func (s *Source) Size() int64 { return 0 }

// Open implements connector.Source. It waits for brokers for a while, so that an
// address that is wrong is told.
func (s *Source) Open(at []connector.SplitPosition) error {
	ctx, cancel := context.WithTimeout(s.ctx, s.options.connectTimeout())
	defer cancel()
	err := s.open(ctx, at)
	switch {
	case err == nil:
		return s.start()
	case s.ctx.Err() != nil:
		return errClosed
	}
	var topic *TopicError
	var gone *GoneError
	if errors.As(err, &topic) || errors.As(err, &gone) {
		return err // which names what cannot be read
	}
	return fmt.Errorf("cannot read %s: %w", s.what(), err)
}

// what names what is read.
func (s *Source) what() string {
	switch {
	case s.pattern != nil:
		return fmt.Sprintf("the topics that match %q", s.options.Pattern)
	case len(s.options.Topics) == 1:
		return "topic " + s.options.Topics[0]
	}
	return fmt.Sprintf("the topics %q", s.options.Topics)
}

func (s *Source) open(ctx context.Context, at []connector.SplitPosition) error {
	found, err := s.findTopics(ctx)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		s.tellNoMatch(ctx)
	}
	s.mu.Lock()
	splits := s.adopt(found)
	s.mu.Unlock()
	positions, err := s.positions(at)
	if err != nil {
		return err
	}
	if err := s.place(ctx, splits, positions, len(at) == 0); err != nil {
		return err
	}
	s.lead(found)
	return nil
}

// positions returns the positions by split. A split that is not there any more, or is
// another one under its name, is an error; a topic that the source does not read any more is left out, and told.
func (s *Source) positions(at []connector.SplitPosition) (map[string]connector.SplitPosition, error) {
	byName := map[string]connector.SplitPosition{}
	for _, p := range at {
		name, _, err := parseSplit(p.Split)
		if err != nil {
			return nil, err
		}
		if !s.reads(name) {
			s.log.Warn("the checkpoint has the position of a split that is not read any more", "split", p.Split)
			continue
		}
		switch {
		case s.byName[p.Split] == nil && s.pattern != nil && s.topics[name] == nil:
			s.log.Warn("a topic that matched the pattern is not there any more, and is not waited for", "topic", name, "split", p.Split, "offset", p.Offset)
		case s.byName[p.Split] == nil:
			return nil, &TopicError{Topic: name, Reason: fmt.Sprintf("it was read up to offset %d of %s, which is not there any more: was the topic deleted?", p.Offset, p.Split)}
		case !p.Ended && s.topics[name].isNot(p.Identity):
			return nil, &TopicError{Topic: name, Reason: "it was deleted and made anew since the checkpoint; its offsets mean other records now"}
		default:
			byName[p.Split] = p
		}
	}
	return byName, nil
}

// reads says whether the source reads a topic of that name.
func (s *Source) reads(topic string) bool {
	if s.pattern != nil {
		return s.pattern.MatchString(topic)
	}
	return slices.Contains(s.options.Topics, topic)
}

// start starts the goroutines; fetchers start as leaders are known.
func (s *Source) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	s.owned.Add(1)
	go s.keepTrack()
	if s.group != nil {
		s.owned.Add(1)
		go func() {
			defer s.owned.Done()
			s.group.run(s.ctx)
		}()
	}
	s.startFetchers()
	return nil
}

// Close implements connector.Source.
func (s *Source) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.owned.Wait()
	s.client.Close()
	return nil
}

// Checkpointed implements connector.Source.
func (s *Source) Checkpointed(at []connector.SplitPosition) {
	if s.group != nil {
		s.group.put(at)
	}
}

// Lag implements connector.Lagging. Between two offsets there may be fewer records:
// markers of transactions and what was compacted away count too.
func (s *Source) Lag(tell func(split string, records int64)) {
	s.mu.Lock()
	splits := s.splits[:s.announced:s.announced]
	s.mu.Unlock()
	for _, p := range splits {
		tell(p.name, p.lag())
	}
}

// Pause implements connector.Pausing.
func (s *Source) Pause(splits []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.splits {
		p.paused = false
	}
	for _, name := range splits {
		if p := s.byName[name]; p != nil {
			p.paused = true
		}
	}
	s.wakeFetchers()
}

// fail ends reading with the first reason that there is.
func (s *Source) fail(err error) {
	s.mu.Lock()
	if s.failure == nil {
		s.failure = err
	}
	s.mu.Unlock()
	signal(s.news)
}

// signal leaves word in a channel that holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Read implements connector.Source. It may also return a chunk without records that
// has a new position: behind records that nobody is to see, such as those of a
// transaction that was given up, or their places after compaction.
func (s *Source) Read(c *connector.Chunk) error {
	c.Reset()
	for {
		if done, err := s.announce(c); done || err != nil {
			return err
		}
		if s.answer == nil {
			if err := s.await(); err != nil {
				return err
			}
			continue
		}
		if done, err := s.hand(c); done || err != nil {
			return err
		}
	}
}

// announce makes the next split known that is not. It also tells the end of all.
func (s *Source) announce(c *connector.Chunk) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return false, errClosed
	case s.failure != nil:
		return false, s.failure
	case s.announced < len(s.splits):
		p := s.splits[s.announced]
		s.announced++
		p.sign(c)
		c.Start, c.Next, c.Ended, c.Announcing = p.at, p.at, p.ended, s.announced < len(s.splits)
		return true, nil
	case s.options.Bounded && s.answer == nil && !slices.ContainsFunc(s.splits, func(p *split) bool { return !p.ended }):
		return false, io.EOF
	}
	return false, nil
}

// await waits for an answer, or for news.
func (s *Source) await() error {
	select {
	case s.answer = <-s.answers:
		s.begun = false
	case <-s.news:
	case <-s.ctx.Done():
		return errClosed
	}
	return nil
}

// hand fills the chunk from the first part of the answer. It says whether the chunk
// is to be handed out.
func (s *Source) hand(c *connector.Chunk) (bool, error) {
	if len(s.answer.parts) == 0 {
		s.answer = nil
		return false, nil
	}
	part := &s.answer.parts[0]
	p := part.split
	if !s.begun {
		s.batch.start(part.data, part.aborted, p.at.Offset, p.end)
		s.begun = true
	}
	more, err := s.batch.fill(c)
	if err != nil {
		err = fmt.Errorf("cannot read %s behind offset %d: %w", p.name, s.batch.at, err)
		s.fail(err)
		return false, err
	}
	from := p.at
	next := connector.Position{Offset: s.batch.at, Record: from.Record + int64(len(c.Ends))}
	if c.Fault != nil {
		next.Record++
	}
	p.sign(c)
	c.Start, c.Next = from, next
	if len(c.Offsets) > 0 {
		c.Start.Offset = c.Offsets[0]
	}
	p.moveTo(next)
	if !more {
		s.answer.parts = s.answer.parts[1:]
		s.begun = false
	}
	if p.end >= 0 && next.Offset >= p.end {
		c.Ended = s.endSplit(p)
	}
	return next != from || c.Ended, nil
}

// endSplit notes that a split has no more records; it says whether that is news.
func (s *Source) endSplit(p *split) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := !p.ended
	p.ended = true
	return news
}

// later is how long after now something is to be tried that failed so many times.
func later(failures int) <-chan time.Time { return time.After(backoff(failures)) }
