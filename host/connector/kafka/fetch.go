package kafka

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// How long a broker waits for records before it answers that there are none. While
// splits are paused it is short: who reads on should not wait for the others.
const (
	fetchWaitMillis       = 250
	fetchWaitPausedMillis = 20
)

// outsideMax is how often in a row a broker may say that a position is behind its
// log's end: right after an election it may not know how far its log is sure.
const outsideMax = 20

// fetcher fetches from one broker.
type fetcher struct {
	source *Source
	broker int32
	wake   chan struct{} // holds one
	turn   int
	told   teller
}

// startFetchers starts a fetcher for each broker that leads a split and has none.
// Source.mu is held.
func (s *Source) startFetchers() {
	if s.closed {
		return
	}
	for _, p := range s.splits {
		if _, there := s.fetchers[p.leader]; there || p.leader < 0 {
			continue
		}
		f := &fetcher{source: s, broker: p.leader, wake: make(chan struct{}, 1), told: teller{log: s.log}}
		s.fetchers[p.leader] = f
		s.owned.Add(1)
		go f.run()
	}
	s.wakeFetchers()
}

// wakeFetchers lets idle fetchers look again for something to do. Source.mu is held.
func (s *Source) wakeFetchers() {
	for _, f := range s.fetchers {
		signal(f.wake)
	}
}

func (f *fetcher) run() {
	s := f.source
	defer s.owned.Done()
	failures := 0
	for s.ctx.Err() == nil {
		splits, paused := f.take()
		if len(splits) == 0 {
			select {
			case <-f.wake:
			case <-s.ctx.Done():
			}
			continue
		}
		troubled := f.fetch(splits, paused)
		f.release(splits)
		if !troubled {
			failures = 0
			continue
		}
		failures++
		signal(s.stale)
		select {
		case <-later(failures):
		case <-s.ctx.Done():
		}
	}
}

// take picks the splits to fetch, and makes them busy (O). It begins with another one
// each time, for a broker fills its answer in the order it is asked.
func (f *fetcher) take() (splits []*split, paused bool) {
	s := f.source
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.splits {
		switch {
		case p.leader != f.broker || p.ended || p.busy || s.failure != nil || p.end >= 0 && p.fetch >= p.end:
		case p.paused:
			paused = true
		default:
			p.busy = true
			splits = append(splits, p)
		}
	}
	if n := len(splits); n > 0 {
		f.turn++
		at := f.turn % n
		splits = slices.Concat(splits[at:], splits[:at])
	}
	return splits, paused
}

func (f *fetcher) release(splits []*split) {
	s := f.source
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range splits {
		p.busy = false
	}
	if len(s.fetchers) > 1 {
		s.wakeFetchers() // one may lead a split now that was busy here
	}
}

// fetch asks once and hands on what comes. It says whether something went wrong.
func (f *fetcher) fetch(splits []*split, paused bool) (troubled bool) {
	s := f.source
	request := f.request(splits, paused)
	response, err := s.client.Broker(int(f.broker)).Request(s.ctx, request)
	if err != nil {
		if s.ctx.Err() == nil {
			f.told.warn("cannot fetch; trying again", "broker", f.broker, "error", err)
		}
		return true
	}
	a, troubled := f.digest(response.(*kmsg.FetchResponse), splits)
	if len(a.parts) > 0 {
		select {
		case s.answers <- a:
		case <-s.ctx.Done():
		}
	}
	return troubled
}

func (f *fetcher) request(splits []*split, paused bool) *kmsg.FetchRequest {
	s := f.source
	r := kmsg.NewPtrFetchRequest()
	r.ReplicaID = -1
	r.MaxWaitMillis = fetchWaitMillis
	if paused {
		r.MaxWaitMillis = fetchWaitPausedMillis
	}
	r.MinBytes = 1
	r.SessionEpoch = -1 // no session: each request says all
	if !s.options.ReadUncommitted {
		r.IsolationLevel = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.MaxBytes = int32(max(s.options.FetchBytesMax/(len(s.fetchers)+1), fetchBytesLeast/2))
	share := max(r.MaxBytes/int32(len(splits)), fetchBytesLeast/2)
	byTopic := map[*topic]int{}
	for _, p := range splits {
		at, there := byTopic[p.topic]
		if !there {
			at = len(r.Topics)
			byTopic[p.topic] = at
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = p.topic.name, p.topic.id
			r.Topics = append(r.Topics, t)
		}
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = p.partition, p.fetch, share
		rp.CurrentLeaderEpoch, rp.LastFetchedEpoch = p.epoch, p.last
		r.Topics[at].Partitions = append(r.Topics[at].Partitions, rp)
	}
	return r
}

// digest notes what the response says of each split, and returns what it has of
// records.
func (f *fetcher) digest(response *kmsg.FetchResponse, splits []*split) (a *answer, troubled bool) {
	a = &answer{}
	if err := kerr.ErrorForCode(response.ErrorCode); err != nil {
		f.told.warn("cannot fetch; trying again", "broker", f.broker, "error", err)
		return a, true
	}
	for i := range response.Topics {
		t := &response.Topics[i]
		for j := range t.Partitions {
			rp := &t.Partitions[j]
			p := findSplit(splits, t, rp.Partition)
			if p == nil {
				continue
			}
			if f.digestPart(p, rp) {
				troubled = true
			} else if len(rp.RecordBatches) > 0 {
				a.parts = append(a.parts, part{p, rp.RecordBatches, abortedIn(rp.AbortedTransactions)})
			}
		}
	}
	return a, troubled
}

// findSplit finds the split of an answer; newer answers name topics by id.
func findSplit(splits []*split, t *kmsg.FetchResponseTopic, partition int32) *split {
	for _, p := range splits {
		if p.partition == partition && (t.Topic == p.topic.name || t.Topic == "" && t.TopicID == p.topic.id) {
			return p
		}
	}
	return nil
}

func (f *fetcher) digestPart(p *split, rp *kmsg.FetchResponseTopicPartition) (troubled bool) {
	s := f.source
	if err := kerr.ErrorForCode(rp.ErrorCode); err != nil {
		return f.refused(p, err)
	}
	if rp.DivergingEpoch.EndOffset >= 0 {
		s.fail(&GoneError{Split: p.name, Offset: p.fetch, First: rp.LogStartOffset, End: rp.DivergingEpoch.EndOffset, Cut: true})
		return true
	}
	high := rp.LastStableOffset
	if s.options.ReadUncommitted || high < 0 {
		high = rp.HighWatermark
	}
	p.high.Store(high)
	next, epoch := behind(rp.RecordBatches, p.fetch, p.last)
	s.mu.Lock()
	defer s.mu.Unlock()
	if next == p.fetch && len(rp.RecordBatches) > 0 {
		if _, err := cutBatch(rp.RecordBatches); err == nil {
			return true // no whole batch, or none that was asked for
		}
	}
	p.fetch, p.last, p.outside = next, epoch, 0
	return false
}

// refused deals with a broker that does not give a split.
func (f *fetcher) refused(p *split, err error) (troubled bool) {
	s := f.source
	switch {
	case err == kerr.OffsetOutOfRange:
		s.checkRange(p)
	case passing(err):
		f.told.warn("a split cannot be fetched; trying again", "split", p.name, "broker", f.broker, "error", err)
	default:
		s.fail(&TopicError{Topic: p.topic.name, Reason: fmt.Sprintf("partition %d cannot be read", p.partition), Err: err})
	}
	return true
}

// checkRange finds out on which side of its log a position lies.
func (s *Source) checkRange(p *split) {
	ctx, cancel := context.WithTimeout(s.ctx, defaultConnectTimeout)
	defer cancel()
	first, end, err := s.logRange(ctx, p)
	if err != nil {
		return // the next fetch leads here again
	}
	s.mu.Lock()
	p.outside++
	outside := p.outside
	s.mu.Unlock()
	switch {
	case p.fetch < first:
		s.fail(&GoneError{Split: p.name, Offset: p.fetch, First: first, End: end})
	case p.fetch > end && outside > outsideMax:
		s.fail(&GoneError{Split: p.name, Offset: p.fetch, First: first, End: end, Cut: true})
	}
}
