package http

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
)

// Asker answers requests by HTTP.
type Asker struct {
	options Options
	client  client
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	group   sync.WaitGroup
	stats   counters

	mu      sync.Mutex // guards all below; nothing else is locked under it
	closed  bool
	queue   []*flight
	running int // goroutines
	flights map[string]*flight
	cache   cache
	pace    pace
	retries retries
}

// flight is a request under way, with who waits for its answer.
type flight struct {
	request  connector.Request
	key      string // "": nobody may join it
	deadline time.Time
	done     []func(*connector.Answer)
}

// counters are of connector.AskerStats.
type counters struct {
	requests, shared, cacheHits, answered, failed, attempts, retries, timedOut, held, inFlight atomic.Int64
}

// New makes an Asker. It starts nothing.
func New(o Options) (*Asker, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	a := &Asker{
		options: o, client: newClient(&o), flights: map[string]*flight{}, cache: newCache(o.CacheTTL, o.CacheBytes),
		pace: newPace(o.Rate), retries: retries{Retry: o.Retry, balance: BudgetBurst, random: rand.New(rand.NewPCG(o.Seed, 0))},
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a, nil
}

var _ connector.CountingAsker = (*Asker)(nil)

// Ask implements connector.Asker.
func (a *Asker) Ask(r connector.Request, done func(*connector.Answer)) {
	a.stats.requests.Add(1)
	if answer := a.begin(r, done); answer != nil {
		done(answer)
	}
}

// begin has a request answered, unless the cache has the answer.
func (a *Asker) begin(r connector.Request, done func(*connector.Answer)) *connector.Answer {
	now := time.Now()
	f := &flight{request: r, deadline: now.Add(a.options.Timeout), done: []func(*connector.Answer){done}}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	if a.options.CacheTTL > 0 {
		f.key = keyOf(&r)
		if answer := a.cache.get(f.key, now); answer != nil {
			a.stats.cacheHits.Add(1)
			return answer
		}
		if other := a.flights[f.key]; other != nil {
			a.stats.shared.Add(1)
			other.done = append(other.done, done)
			return nil
		}
		a.flights[f.key] = f
	}
	a.queue = append(a.queue, f)
	if a.running < a.options.InFlight {
		a.running++
		a.group.Go(a.work)
	}
	return nil
}

// work answers requests while there are any.
func (a *Asker) work() {
	for {
		f := a.take()
		if f == nil {
			return
		}
		a.finish(f, a.answer(f))
	}
}

func (a *Asker) take() *flight {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || len(a.queue) == 0 {
		a.running--
		return nil
	}
	f := a.queue[0]
	a.queue[0] = nil
	if a.queue = a.queue[1:]; len(a.queue) == 0 {
		a.queue = nil
	}
	a.stats.inFlight.Add(1)
	return f
}

func (a *Asker) finish(f *flight, answer *connector.Answer) {
	a.stats.inFlight.Add(-1)
	if answer.Status == 0 {
		a.stats.failed.Add(1)
	} else {
		a.stats.answered.Add(1)
	}
	a.mu.Lock()
	if f.key != "" {
		delete(a.flights, f.key)
		if answer.Status >= 200 && answer.Status <= 299 {
			a.cache.put(f.key, answer, time.Now())
		}
	}
	done := f.done
	if a.closed {
		done = nil
	}
	a.mu.Unlock()
	for _, d := range done {
		d(answer)
	}
}

// Stats implements connector.CountingAsker.
func (a *Asker) Stats() connector.AskerStats {
	a.mu.Lock()
	waiting := len(a.queue)
	a.mu.Unlock()
	s := &a.stats
	return connector.AskerStats{
		Requests: s.requests.Load(), Shared: s.shared.Load(), CacheHits: s.cacheHits.Load(), Answered: s.answered.Load(), Failed: s.failed.Load(),
		Attempts: s.attempts.Load(), Retries: s.retries.Load(), TimedOut: s.timedOut.Load(), Held: s.held.Load(),
		InFlight: s.inFlight.Load(), Waiting: int64(waiting),
	}
}

// Close implements connector.Asker.
func (a *Asker) Close() error {
	a.mu.Lock()
	a.closed, a.queue = true, nil
	clear(a.flights)
	a.mu.Unlock()
	a.cancel()
	a.group.Wait()
	a.client.close()
	return nil
}
