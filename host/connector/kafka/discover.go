package kafka

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/stream"
)

// missingMax is in how many answers in a row a topic is not there before it is held to
// be deleted: a broker that has just started, or a topic that was just made, may not
// be known everywhere.
const missingMax = 8

// found is what the brokers say of topics that are there, by name.
type found map[string]kmsg.MetadataResponseTopic

// findTopics looks for the topics until all that are listed are there; it gives up
// after a few answers without them.
func (s *Source) findTopics(ctx context.Context) (found, error) {
	told := teller{log: s.log}
	var cause error
	for failures, missing := 0, 0; ; failures++ {
		f, err := s.lookUp(ctx)
		cause = telling(cause, err)
		if err == nil {
			absent := s.absent(f)
			if absent == "" {
				return f, nil
			}
			if missing++; missing >= missingMax {
				return nil, &TopicError{Topic: absent, Reason: "there is no such topic"}
			}
		} else if !passing(err) {
			return nil, err
		} else {
			told.warn("no broker answers; trying again", "brokers", s.options.Brokers, "error", err)
		}
		if !wait(ctx, backoff(failures)) {
			if cause == nil {
				cause = ctx.Err()
			}
			return nil, s.options.unreachable(cause)
		}
	}
}

// absent names a listed topic that was not found; "" if there is none.
func (s *Source) absent(f found) string {
	for _, t := range s.options.Topics {
		if _, there := f[t]; !there {
			return t
		}
	}
	return ""
}

// tellNoMatch warns that no topic matches the pattern, which is no error: as in Kafka's
// own consumer, one may come. The topic that may be meant is named.
func (s *Source) tellNoMatch(ctx context.Context) {
	what := "no topic matches the pattern, which must match the whole name; nothing is read until one does"
	if s.options.Bounded {
		what = "no topic matches the pattern, which must match the whole name; the source ends without a record"
	}
	args := []any{"pattern", s.options.Pattern}
	topics, err := s.admin.ListTopics(ctx)
	if near := nearestTopic(s.options.Pattern, topics.Names()); err == nil && near != "" {
		args = append(args, "nearest", near)
	}
	s.log.Warn(what, args...)
}

// nearestTopic is one that the pattern matches a part of, or the most similar to the
// pattern, or to what it begins with.
func nearestTopic(pattern string, topics []string) string {
	part := regexp.MustCompile(pattern)
	for _, t := range topics {
		if part.MatchString(t) {
			return t
		}
	}
	if near := stream.Nearest(pattern, topics); near != "" {
		return near
	}
	head, _ := part.LiteralPrefix()
	heads := make([]string, len(topics))
	for i, t := range topics {
		heads[i] = t[:min(len(t), len(head))]
	}
	if i := slices.Index(heads, stream.Nearest(head, heads)); head != "" && i >= 0 {
		return topics[i]
	}
	return ""
}

// lookUp asks a broker once.
func (s *Source) lookUp(ctx context.Context) (found, error) {
	request := kmsg.NewPtrMetadataRequest()
	for _, name := range s.options.Topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		request.Topics = append(request.Topics, t)
	}
	response, err := request.RequestWith(ctx, s.client)
	if err != nil {
		return nil, err
	}
	f := found{}
	for _, t := range response.Topics {
		err := kerr.ErrorForCode(t.ErrorCode)
		switch {
		case t.Topic == nil, s.pattern != nil && (t.IsInternal || !s.reads(*t.Topic)):
		case err == nil, err == kerr.LeaderNotAvailable:
			f[*t.Topic] = t
		case err == kerr.UnknownTopicOrPartition, err == kerr.UnknownTopicID:
		default:
			return nil, &TopicError{Topic: *t.Topic, Reason: "it cannot be read", Err: err}
		}
	}
	return f, nil
}

// adopt makes splits of partitions that are not known yet, and returns them. They are
// not in the list of splits until they have been placed. Source.mu is held.
func (s *Source) adopt(f found) []*split {
	var splits []*split
	for name, t := range f {
		known := s.topics[name]
		if known == nil {
			known = newTopic(name, t.TopicID)
			s.topics[name] = known
		}
		for _, part := range t.Partitions {
			split := &split{name: splitName(name, part.Partition), topic: known, partition: part.Partition, leader: -1, epoch: -1, last: -1, end: -1}
			split.high.Store(-1)
			if s.byName[split.name] == nil {
				s.byName[split.name] = split
				splits = append(splits, split)
			}
		}
	}
	slices.SortFunc(splits, func(a, b *split) int {
		if c := strings.Compare(a.topic.name, b.topic.name); c != 0 {
			return c
		}
		return int(a.partition - b.partition)
	})
	return splits
}

// place gives new splits their positions, and adds them to those that are read. Splits
// without one begin as configured at a fresh start, else at their beginning.
func (s *Source) place(ctx context.Context, splits []*split, at map[string]connector.SplitPosition, fresh bool) error {
	bounds, err := s.bounds(ctx, splits, fresh)
	if err != nil {
		return err
	}
	for _, p := range splits {
		b := bounds[p.name]
		position, listed := at[p.name]
		if !listed {
			position.Offset = b.start
		}
		if listed && !position.Ended && (position.Offset < b.first || position.Offset > b.end) {
			return &GoneError{Split: p.name, Offset: position.Offset, First: b.first, End: b.end, Cut: position.Offset > b.end}
		}
		if s.options.Bounded {
			p.end = b.stop
		}
		p.ended = position.Ended || p.end >= 0 && position.Offset >= p.end
		p.fetch = position.Offset
		p.moveTo(position.Position)
		p.high.Store(b.stop)
	}
	s.mu.Lock()
	s.splits = append(s.splits, splits...)
	s.mu.Unlock()
	return nil
}

// bounds are offsets of a split.
type bounds struct {
	first, end int64 // of its log
	stop       int64 // what can be read with this isolation lies before it
	start      int64 // where a split begins that has no position
}

// bounds asks for the bounds of splits, until all are known.
func (s *Source) bounds(ctx context.Context, splits []*split, fresh bool) (map[string]bounds, error) {
	if len(splits) == 0 {
		return nil, nil
	}
	told := teller{log: s.log}
	for failures := 0; ; failures++ {
		b, err := s.askBounds(ctx, splits, fresh)
		if err == nil || !passing(err) {
			return b, err
		}
		told.warn("the bounds of splits are not known; trying again", "error", err)
		if !wait(ctx, backoff(failures)) {
			return nil, fmt.Errorf("the bounds of splits are not known: %w", err)
		}
	}
}

func (s *Source) askBounds(ctx context.Context, splits []*split, fresh bool) (map[string]bounds, error) {
	var topics []string
	for _, p := range splits {
		if !slices.Contains(topics, p.topic.name) {
			topics = append(topics, p.topic.name)
		}
	}
	firsts, err1 := s.admin.ListStartOffsets(ctx, topics...)
	ends, err2 := s.admin.ListEndOffsets(ctx, topics...)
	stops, err3 := ends, error(nil)
	if !s.options.ReadUncommitted {
		stops, err3 = s.admin.ListCommittedOffsets(ctx, topics...)
	}
	starts, err4 := firsts, error(nil)
	if fresh {
		starts, err4 = s.starts(ctx, topics, firsts, stops)
	}
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	result := map[string]bounds{}
	for _, p := range splits {
		var b bounds
		for list, to := range map[*kadm.ListedOffsets]*int64{&firsts: &b.first, &ends: &b.end, &stops: &b.stop, &starts: &b.start} {
			o, there := list.Lookup(p.topic.name, p.partition)
			switch {
			case !there:
				return nil, kerr.LeaderNotAvailable
			case o.Err != nil:
				return nil, o.Err
			}
			*to = o.Offset
		}
		result[p.name] = b
	}
	return result, nil
}

// starts returns where splits begin that have no position.
func (s *Source) starts(ctx context.Context, topics []string, firsts, stops kadm.ListedOffsets) (kadm.ListedOffsets, error) {
	switch s.options.Start {
	case StartLatest:
		return stops, nil
	case StartTimestamp:
		return s.admin.ListOffsetsAfterMilli(ctx, s.options.StartMillis, topics...)
	case StartGroup:
		return s.groupStarts(ctx, firsts)
	}
	return firsts, nil
}

// groupStarts returns the group's offsets, and the log's first where it has none.
func (s *Source) groupStarts(ctx context.Context, firsts kadm.ListedOffsets) (kadm.ListedOffsets, error) {
	committed, err := s.admin.FetchOffsets(ctx, s.options.Group)
	if err != nil {
		return nil, err
	}
	starts := kadm.ListedOffsets{}
	for name, partitions := range firsts {
		starts[name] = map[int32]kadm.ListedOffset{}
		for n, first := range partitions {
			if o, there := committed.Lookup(name, n); there && o.Err != nil {
				return nil, o.Err
			} else if there && o.At >= 0 {
				first.Offset = o.At
			}
			starts[name][n] = first
		}
	}
	return starts, nil
}

// logRange returns the first offset and the end of a split's log.
func (s *Source) logRange(ctx context.Context, p *split) (first, end int64, err error) {
	b, err := s.askBounds(ctx, []*split{p}, false)
	return b[p.name].first, b[p.name].end, err
}

// keepTrack looks from time to time, and when a fetcher asks for it, who leads what
// and what is new.
func (s *Source) keepTrack() {
	defer s.owned.Done()
	interval := s.options.DiscoveryInterval
	if interval < 0 || s.options.Bounded {
		interval = defaultDiscoveryInterval
	}
	told := teller{log: s.log}
	failures := 0
	for {
		if failures == 0 {
			timer := time.NewTimer(interval)
			select {
			case <-timer.C:
			case <-s.stale:
			case <-s.ctx.Done():
			}
			timer.Stop()
		}
		if !wait(s.ctx, backoff(failures)) {
			return
		}
		settled, err := s.track()
		switch {
		case err == nil && settled:
			failures = 0
			continue
		case err != nil && s.ctx.Err() == nil:
			told.warn("the brokers do not say who leads what; trying again", "error", err)
		}
		failures++
	}
}

// track looks once. It says whether all splits have leaders.
func (s *Source) track() (settled bool, err error) {
	f, err := s.lookUp(s.ctx)
	if err != nil {
		var of *TopicError
		if errors.As(err, &of) && !passing(err) {
			s.fail(err)
		}
		return false, err
	}
	settled = s.checkTopics(f)
	if s.options.DiscoveryInterval > 0 && !s.options.Bounded {
		if err := s.discover(f); err != nil {
			return false, err
		}
	}
	return s.lead(f) && settled, nil
}

// discover adds the splits that are new, to be read from their beginning.
func (s *Source) discover(f found) error {
	s.mu.Lock()
	splits := s.adopt(f)
	s.mu.Unlock()
	if len(splits) == 0 {
		return nil
	}
	if err := s.place(s.ctx, splits, nil, false); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, p := range splits {
			delete(s.byName, p.name) // found anew next time
		}
		return err
	}
	for _, p := range splits {
		s.log.Info("a split is new", "split", p.name)
	}
	signal(s.news)
	return nil
}

// checkTopics fails if a topic is gone or is another one under its name. It says
// whether all are there.
func (s *Source) checkTopics(f found) bool {
	s.mu.Lock()
	var failure error
	settled := true
	for name, t := range s.topics {
		now, there := f[name]
		switch {
		case !there:
			settled = false
			if t.missing++; t.missing >= missingMax {
				failure = &TopicError{Topic: name, Reason: "it was deleted while it was read"}
			}
		case now.TopicID != t.id:
			failure = &TopicError{Topic: name, Reason: "it was deleted and made anew while it was read; its offsets mean other records now"}
		default:
			t.missing = 0
		}
	}
	s.mu.Unlock()
	if failure != nil {
		s.fail(failure)
	}
	return settled
}

// lead notes who leads each split. It says whether all have a leader.
func (s *Source) lead(f found) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	settled := true
	for name, t := range f {
		for _, part := range t.Partitions {
			p := s.byName[splitName(name, part.Partition)]
			if p == nil {
				continue
			}
			if part.LeaderEpoch >= p.epoch || part.LeaderEpoch < 0 {
				p.leader, p.epoch = part.Leader, part.LeaderEpoch
			}
			if p.leader < 0 {
				settled = false
			}
		}
	}
	if s.announced > 0 || len(s.fetchers) > 0 {
		s.startFetchers()
	}
	return settled
}
