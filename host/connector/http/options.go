package http

import (
	"errors"
	"fmt"
	nethttp "net/http"
	"net/netip"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
)

// Options say what may be asked, and how much.
type Options struct {
	// Allow are the URLs that may be asked. None: none.
	Allow []connector.URLPattern
	// Private are networks that may be reached although they are not public: 127.0.0.0/8.
	Private []netip.Prefix
	// InFlight bounds the requests that are at servers at one time, those that wait for
	// their next attempt included; 0 means 32.
	InFlight int
	// Timeout bounds a request from Ask to its answer, all attempts and waiting
	// included; 0 means 10s. AttemptTimeout bounds each attempt; 0: only Timeout does.
	Timeout, AttemptTimeout time.Duration
	Retry                   Retry
	// Rate bounds the attempts in a second, which are spaced evenly; 0: it does not.
	Rate float64
	// BodyBytesMax bounds an answer's body, unpacked; 0 means 1 MiB.
	BodyBytesMax int
	// CacheTTL is how long an answer with a status of 200 to 299 answers equal requests
	// too; 0: there is no cache. CacheBytes bounds the cache; 0 means 64 MiB.
	CacheTTL   time.Duration
	CacheBytes int64
	// Seed is for the random part of waiting times.
	Seed uint64
	// RoundTrip, if not nil, stands in for the network.
	RoundTrip func(*nethttp.Request) (*nethttp.Response, error)
}

// Retry says what is done about failures.
type Retry struct {
	// Attempts bounds the attempts of a request; 0 means 3, 1 none but the first.
	Attempts int
	// Statuses are those that are tried again; nil means 429, 502, 503 and 504. Errors
	// of the network, and attempts that took too long, always are.
	Statuses []int
	// Backoff is about how long to wait for the second attempt, twice that for the
	// third, and so on up to BackoffMax; 0 means 100ms and 10s. A server that says
	// Retry-After is heeded up to BackoffMax.
	Backoff, BackoffMax time.Duration
	// Budget bounds the further attempts to a part of the first ones, so that a server
	// that is down is not asked many times as much; 0 means 0.2. BudgetBurst attempts
	// are free at the start.
	Budget float64
}

// BudgetBurst is how many further attempts may come at once, at most.
const BudgetBurst = 10

// The defaults.
const (
	InFlightDefault     = 32
	TimeoutDefault      = 10 * time.Second
	AttemptsDefault     = 3
	BackoffDefault      = 100 * time.Millisecond
	BackoffMaxDefault   = 10 * time.Second
	BudgetDefault       = 0.2
	BodyBytesMaxDefault = 1 << 20
	CacheBytesDefault   = 64 << 20
)

var statusesDefault = []int{429, 502, 503, 504}

// Validate names all that is wrong.
func (o *Options) Validate() error {
	var errs []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(o.InFlight < 0, "InFlight is %d", o.InFlight)
	wrong(o.Timeout < 0, "Timeout is %s", o.Timeout)
	wrong(o.AttemptTimeout < 0, "AttemptTimeout is %s", o.AttemptTimeout)
	wrong(o.Retry.Attempts < 0, "Retry.Attempts is %d", o.Retry.Attempts)
	wrong(o.Retry.Backoff < 0, "Retry.Backoff is %s", o.Retry.Backoff)
	wrong(o.Retry.BackoffMax < 0, "Retry.BackoffMax is %s", o.Retry.BackoffMax)
	wrong(!(o.Retry.Budget >= 0), "Retry.Budget is %g", o.Retry.Budget)
	wrong(!(o.Rate >= 0), "Rate is %g", o.Rate)
	wrong(o.BodyBytesMax < 0, "BodyBytesMax is %d", o.BodyBytesMax)
	wrong(o.CacheTTL < 0, "CacheTTL is %s", o.CacheTTL)
	wrong(o.CacheBytes < 0, "CacheBytes is %d", o.CacheBytes)
	for _, s := range o.Retry.Statuses {
		wrong(s < 300 || s > 599, "Retry.Statuses has %d; statuses from 300 to 599 can be failures", s)
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("http: %w", errors.Join(errs...))
}

func (o Options) withDefaults() Options {
	or := func(to *time.Duration, value time.Duration) {
		if *to == 0 {
			*to = value
		}
	}
	or(&o.Timeout, TimeoutDefault)
	or(&o.AttemptTimeout, o.Timeout)
	or(&o.Retry.Backoff, BackoffDefault)
	or(&o.Retry.BackoffMax, BackoffMaxDefault)
	if o.InFlight == 0 {
		o.InFlight = InFlightDefault
	}
	if o.Retry.Attempts == 0 {
		o.Retry.Attempts = AttemptsDefault
	}
	if o.Retry.Statuses == nil {
		o.Retry.Statuses = statusesDefault
	}
	if o.Retry.Budget == 0 {
		o.Retry.Budget = BudgetDefault
	}
	if o.BodyBytesMax == 0 {
		o.BodyBytesMax = BodyBytesMaxDefault
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = CacheBytesDefault
	}
	return o
}
