package http

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
)

// answer tries a request until it has an answer that counts.
func (a *Asker) answer(f *flight) *connector.Answer {
	ctx, cancel := context.WithDeadline(a.ctx, f.deadline)
	defer cancel()
	request, err := a.client.prepare(&f.request)
	if err != nil {
		return failure(err.Error())
	}
	a.mu.Lock()
	a.retries.began()
	a.mu.Unlock()
	last := failure("it could not be asked within " + a.options.Timeout.String() + ", for others before it")
	for n := 1; ; n++ {
		if !a.admit(ctx, f.deadline) {
			if n == 1 {
				a.stats.timedOut.Add(1)
			}
			return last
		}
		a.stats.attempts.Add(1)
		if n > 1 {
			a.stats.retries.Add(1)
		}
		result := a.client.attempt(ctx, request)
		if last = result.answer; result.late {
			a.stats.timedOut.Add(1)
		}
		wait, again := a.again(n, &result)
		if !again || time.Until(f.deadline) <= wait || !a.await(ctx, wait) {
			return last
		}
	}
}

func failure(why string) *connector.Answer { return &connector.Answer{Err: why} }

// admit waits until the rate allows another attempt; false if the request is out of time.
func (a *Asker) admit(ctx context.Context, deadline time.Time) bool {
	wait, ok := a.turn(deadline)
	if ok && wait > 0 {
		a.stats.held.Add(1)
	}
	return ok && a.await(ctx, wait)
}

// turn is how long to wait for the rate; false if that is too long.
func (a *Asker) turn(deadline time.Time) (time.Duration, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pace.turn(time.Now(), deadline)
}

// again says whether the nth attempt is to be followed by another, and how long after.
func (a *Asker) again(n int, r *result) (time.Duration, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.retries.again(n, r)
}

// await waits; false if the request is out of time.
func (a *Asker) await(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// retries decides about further attempts.
type retries struct {
	Retry
	balance float64 // further attempts that may be made now
	random  *rand.Rand
}

// began notes that a request is asked for the first time.
func (r *retries) began() { r.balance = min(r.balance+r.Budget, BudgetBurst) }

// again says whether the nth attempt is to be followed by another, and takes it from
// the budget.
func (r *retries) again(n int, of *result) (wait time.Duration, again bool) {
	failed := of.answer.Status == 0 && !of.lasting || slices.Contains(r.Statuses, int(of.answer.Status))
	if !failed || n >= r.Attempts || r.balance < 1 {
		return 0, false
	}
	r.balance--
	wait = r.BackoffMax
	if doublings := n - 1; doublings < 32 && r.Backoff<<doublings>>doublings == r.Backoff {
		wait = min(r.Backoff<<doublings, r.BackoffMax)
	}
	wait = wait/2 + time.Duration(r.random.Int64N(int64(wait/2)+1))
	return max(wait, min(of.after, r.BackoffMax)), true
}

// pace spaces attempts evenly.
type pace struct {
	interval time.Duration // 0: they come as they come
	next     time.Time
}

// intervalMax keeps very low rates from running over.
const intervalMax = 1000 * time.Hour

func newPace(rate float64) pace {
	if rate == 0 {
		return pace{}
	}
	return pace{interval: time.Duration(min(float64(time.Second)/rate, float64(intervalMax)))}
}

// turn is how long whoever asks now has to wait. False: it would be past a deadline, and
// no turn is taken, so that those who cannot be served do not hold up others.
func (p *pace) turn(now, deadline time.Time) (time.Duration, bool) {
	if p.interval == 0 {
		return 0, true
	}
	if p.next.Before(now) {
		p.next = now
	}
	if !p.next.Before(deadline) {
		return 0, false
	}
	wait := p.next.Sub(now)
	p.next = p.next.Add(p.interval)
	return wait, true
}
