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
// leads a partition, which hands its answers to Read and fetches on only when most of
// them is read; one that keeps track of who leads what; one that commits offsets to the
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

	news  chan struct{} // records, something to announce, or failure; holds one
	stale chan struct{} // the metadata should be looked at again; holds one
	group *groupCommits // nil: no group

	mu        sync.Mutex
	topics    map[string]*topic
	splits    []*split
	byName    map[string]*split
	fetchers  map[int32]*fetcher
	announced int   // so many of splits have been made known
	failure   error // why nothing more is read
	closed    bool

	// The reader's own.
	batch   *batchReader
	reading *split // whose batch has been begun; nil: none
	turn    int64  // counts chunks
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
		news: make(chan struct{}, 1), stale: make(chan struct{}, 1),
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
	signal(s.news)
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
		p, alone := s.choose()
		if p == nil {
			if err := s.await(); err != nil {
				return err
			}
			continue
		}
		if done, err := s.hand(c, p, alone); done || err != nil {
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
	case s.options.Bounded && !slices.ContainsFunc(s.splits, func(p *split) bool { return !p.ended }):
		return false, io.EOF
	}
	return false, nil
}

// await waits for news.
func (s *Source) await() error {
	select {
	case <-s.news:
	case <-s.ctx.Done():
		return errClosed
	}
	return nil
}

// hand fills the chunk with records of a split. It says whether the chunk is to be handed
// out.
func (s *Source) hand(c *connector.Chunk, p *split, alone bool) (bool, error) {
	if s.reading == nil {
		s.begin(p)
	}
	enough := pieceBytes
	if alone {
		enough = chunkBytes
	}
	more, err := s.batch.fill(c, enough)
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
	c.Ended = s.leave(p, more)
	return next != from || c.Ended, nil
}

// begin turns to a split, of which something is there.
func (s *Source) begin(p *split) {
	if len(p.now.data) == 0 {
		s.mu.Lock()
		p.now = p.parts[0]
		p.parts = slices.Delete(p.parts, 0, 1)
		s.mu.Unlock()
	}
	s.batch.start(p.now.data, p.now.aborted, p.at.Offset, p.end)
}

// leave notes what is left of a split behind a chunk, and has more of it fetched. It says
// whether the split has ended with it.
func (s *Source) leave(p *split, more bool) (ended bool) {
	rest, stays := s.batch.data, more && s.batch.isBegun()
	if !more {
		rest = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.held -= len(p.now.data) - len(rest)
	if p.now.data = rest; len(rest) == 0 {
		p.now.data = nil // lets go of the answer
	}
	s.reading = nil
	if stays {
		s.reading = p
	}
	ended = p.end >= 0 && p.at.Offset >= p.end && !p.ended
	if ended {
		p.ended, p.parts, p.now, p.held, s.reading = true, nil, part{}, 0, nil
	}
	s.wakeFetchers()
	return ended
}

// later is how long after now something is to be tried that failed so many times.
func later(failures int) <-chan time.Time { return time.After(backoff(failures)) }
