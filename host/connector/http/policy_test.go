package http_test

import (
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/connector/http"
)

// network stands in for servers, in the time of a bubble.
type network struct {
	mu    sync.Mutex
	times []time.Duration // of attempts, since the start
	began time.Time
	serve func(n int, r *nethttp.Request) (status int, header nethttp.Header, body string, err error)
}

func (n *network) roundTrip(r *nethttp.Request) (*nethttp.Response, error) {
	n.mu.Lock()
	i := len(n.times)
	n.times = append(n.times, time.Since(n.began))
	n.mu.Unlock()
	status, header, body, err := n.serve(i, r)
	if err != nil {
		return nil, err
	}
	if header == nil {
		header = nethttp.Header{}
	}
	return &nethttp.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// bubble runs a test in a time of its own. All goroutines have to end.
func bubble(t *testing.T, o http.Options, n *network, f func(a *http.Asker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n.began = time.Now()
		o.Allow, o.RoundTrip = patterns(t, "https://s.example/*"), n.roundTrip
		a, err := http.New(o)
		if err != nil {
			t.Fatal(err)
		}
		f(a)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}

const site = "https://s.example/"

// askAll asks many requests at once, and returns the answers, and when they came.
func askAll(a *http.Asker, requests ...connector.Request) ([]*connector.Answer, []time.Duration) {
	began := time.Now()
	answers, times := make([]*connector.Answer, len(requests)), make([]time.Duration, len(requests))
	var group sync.WaitGroup
	for i, r := range requests {
		group.Add(1)
		a.Ask(r, func(x *connector.Answer) {
			answers[i], times[i] = x, time.Since(began)
			group.Done()
		})
	}
	group.Wait()
	return answers, times
}

func many(n int) (list []connector.Request) {
	for i := range n {
		list = append(list, get(fmt.Sprint(site, i)))
	}
	return list
}

func fine(int, *nethttp.Request) (int, nethttp.Header, string, error) { return 200, nil, "fine", nil }

func down(int, *nethttp.Request) (int, nethttp.Header, string, error) {
	return 0, nil, "", errors.New("it is down")
}

// counted holds what an asker has counted against what it must have.
func counted(t *testing.T, a *http.Asker, want connector.AskerStats) {
	t.Helper()
	if got := a.Stats(); got != want {
		t.Errorf("counted %+v\nwant    %+v", got, want)
	}
}

// TestUnderWay: what is at servers and what waits are told while they are.
func TestUnderWay(t *testing.T) {
	n := &network{serve: func(int, *nethttp.Request) (int, nethttp.Header, string, error) {
		<-time.After(time.Second)
		return 200, nil, "", nil
	}}
	bubble(t, http.Options{InFlight: 2}, n, func(a *http.Asker) {
		var group sync.WaitGroup
		for _, r := range many(5) {
			group.Add(1)
			a.Ask(r, func(*connector.Answer) { group.Done() })
		}
		<-time.After(time.Second / 2)
		counted(t, a, connector.AskerStats{Requests: 5, Attempts: 2, InFlight: 2, Waiting: 3})
		group.Wait()
		counted(t, a, connector.AskerStats{Requests: 5, Answered: 5, Attempts: 5})
	})
}

// TestBackoff: attempts are farther and farther apart, by half to all of what doubles,
// up to the most.
func TestBackoff(t *testing.T) {
	n := &network{serve: down}
	bubble(t, http.Options{Timeout: time.Hour, Retry: http.Retry{Attempts: 7, Backoff: time.Second, BackoffMax: 5 * time.Second}}, n, func(a *http.Asker) {
		if got := ask(a, get(site)); got.Status != 0 || got.Err != "it is down" {
			t.Errorf("%+v", got)
		}
		counted(t, a, connector.AskerStats{Requests: 1, Failed: 1, Attempts: 7, Retries: 6})
		want := []time.Duration{1, 2, 4, 5, 5, 5}
		if len(n.times) != len(want)+1 {
			t.Fatalf("attempts at %v", n.times)
		}
		for i, most := range want {
			most *= time.Second
			if wait := n.times[i+1] - n.times[i]; wait < most/2 || wait > most {
				t.Errorf("%s before attempt %d, want %s to %s", wait, i+2, most/2, most)
			}
		}
	})
}

// TestRetryAfter: a server that says when to come again is heeded, up to the most.
func TestRetryAfter(t *testing.T) {
	for after, want := range map[string]time.Duration{"3": 3 * time.Second, "9999": 5 * time.Second, "-1": 0, "tomorrow": 0} {
		n := &network{serve: func(i int, _ *nethttp.Request) (int, nethttp.Header, string, error) {
			if i == 0 {
				return 503, nethttp.Header{"Retry-After": {after}}, "", nil
			}
			return 200, nil, "", nil
		}}
		bubble(t, http.Options{Retry: http.Retry{Backoff: time.Millisecond, BackoffMax: 5 * time.Second}}, n, func(a *http.Asker) {
			if got := ask(a, get(site)); got.Status != 200 {
				t.Errorf("%+v", got)
			}
			if wait := n.times[1]; wait < want || wait > want+time.Millisecond {
				t.Errorf("Retry-After: %s: %s, want %s", after, wait, want)
			}
		})
	}
}

// TestTimeout: each request has its answer in time, however long servers take and
// however many wait before it; one that has an answer that is no good tells it.
func TestTimeout(t *testing.T) {
	n := &network{serve: func(_ int, r *nethttp.Request) (int, nethttp.Header, string, error) {
		<-r.Context().Done()
		return 0, nil, "", r.Context().Err()
	}}
	bubble(t, http.Options{InFlight: 3, Timeout: 10 * time.Second}, n, func(a *http.Asker) {
		answers, times := askAll(a, many(20)...)
		asked := 0
		for i, x := range answers {
			if times[i] > 10*time.Second || x.Status != 0 || !strings.Contains(x.Err, "within 10s") {
				t.Errorf("after %s: %+v", times[i], x)
			}
			if strings.Contains(x.Err, "no answer") {
				asked++
			}
		}
		if asked != 3 {
			t.Errorf("%d were asked, want 3", asked)
		}
		counted(t, a, connector.AskerStats{Requests: 20, Failed: 20, Attempts: 3, TimedOut: 20})
	})
	n = &network{serve: func(int, *nethttp.Request) (int, nethttp.Header, string, error) { return 503, nil, "busy", nil }}
	bubble(t, http.Options{Timeout: time.Second, Retry: http.Retry{Attempts: 9, Backoff: 700 * time.Millisecond}}, n, func(a *http.Asker) {
		if _, times := askAll(a, get(site)); times[0] > time.Second {
			t.Errorf("it took %s", times[0])
		}
		if got := ask(a, get(site)); got.Status != 503 || string(got.Body) != "busy" {
			t.Errorf("%+v", got)
		}
	})
}

// TestBudget: a server that is down is not asked many times as much as one that is not.
func TestBudget(t *testing.T) {
	const requests = 500
	n := &network{serve: down}
	bubble(t, http.Options{Timeout: time.Hour, Retry: http.Retry{Attempts: 10, Budget: 0.1}}, n, func(a *http.Asker) {
		askAll(a, many(requests)...)
		most := requests + http.BudgetBurst + requests/10
		if got := len(n.times); got > most || got < most-http.BudgetBurst {
			t.Errorf("%d attempts for %d requests, want %d at most, and about that", got, requests, most)
		}
	})
}

// TestRate: attempts are evenly spaced, further ones too; those that cannot have their
// turn in time are told at once, and take no turn from others.
func TestRate(t *testing.T) {
	n := &network{serve: fine}
	bubble(t, http.Options{Rate: 10, Timeout: 2 * time.Second, InFlight: 100}, n, func(a *http.Asker) {
		answers, times := askAll(a, many(30)...)
		good := 0
		for i, x := range answers {
			if x.Status == 200 {
				good++
			} else if times[i] > 0 || !strings.Contains(x.Err, "could not be asked within 2s") {
				t.Errorf("after %s: %+v", times[i], x)
			}
		}
		if good != 20 {
			t.Errorf("%d had an answer, want 20 in 2s", good)
		}
		counted(t, a, connector.AskerStats{Requests: 30, Answered: 20, Failed: 10, Attempts: 20, Held: 19, TimedOut: 10})
		for i, at := range n.times {
			if want := time.Duration(i) * 100 * time.Millisecond; at != want {
				t.Errorf("attempt %d at %s, want %s", i, at, want)
			}
		}
		if got := ask(a, get(site)); got.Status != 200 {
			t.Errorf("afterwards: %+v", got)
		}
	})
}

// TestCache: good answers answer equal requests until they are too old.
func TestCache(t *testing.T) {
	n := &network{serve: func(i int, r *nethttp.Request) (int, nethttp.Header, string, error) {
		if strings.Contains(r.URL.Path, "bad") {
			return 404, nil, "", nil
		}
		return 200, nil, fmt.Sprint(i), nil
	}}
	bubble(t, http.Options{CacheTTL: time.Minute}, n, func(a *http.Asker) {
		tell := func(r connector.Request, want string) {
			t.Helper()
			if got := ask(a, r); string(got.Body) != want {
				t.Errorf("%+v is answered by %q, want %q", r, got.Body, want)
			}
		}
		tell(get(site), "0")
		tell(get(site), "0")
		tell(get(site+"other"), "1")
		tell(connector.Request{URL: site, Method: "POST"}, "2")
		tell(connector.Request{URL: site, Method: "POST", Body: []byte("x")}, "3")
		tell(connector.Request{URL: site, Headers: "accept: x"}, "4")
		tell(get(site+"bad"), "")
		tell(get(site+"bad"), "") // is asked again
		if len(n.times) != 7 || a.Stats().CacheHits != 1 {
			t.Errorf("%d attempts, %+v", len(n.times), a.Stats())
		}
		<-time.After(time.Minute - 1)
		tell(get(site), "0")
		<-time.After(1)
		tell(get(site), "7")
	})
}

// TestCacheBytes: the answers that were not used for longest go when there are too many.
func TestCacheBytes(t *testing.T) {
	n := &network{serve: func(int, *nethttp.Request) (int, nethttp.Header, string, error) {
		return 200, nil, strings.Repeat("x", 10_000), nil
	}}
	bubble(t, http.Options{CacheTTL: time.Hour, CacheBytes: 105_000}, n, func(a *http.Asker) { // ten of them
		for range 2 {
			askAll(a, many(10)...)
		}
		if len(n.times) != 10 {
			t.Errorf("%d attempts for ten that have room", len(n.times))
		}
		ask(a, get(site+"0")) // is used last
		ask(a, get(site+"new"))
		ask(a, get(site+"0"))
		if len(n.times) != 11 {
			t.Errorf("%d attempts; the one that was used last is gone", len(n.times))
		}
		for range 3 {
			for _, r := range many(11) {
				ask(a, r)
			}
		}
		if len(n.times) < 11+30 {
			t.Errorf("%d attempts; eleven in turn have no room", len(n.times))
		}
	})
}

// TestShared: equal requests at one time are one.
func TestShared(t *testing.T) {
	n := &network{serve: func(i int, _ *nethttp.Request) (int, nethttp.Header, string, error) {
		<-time.After(time.Second)
		return 200, nil, fmt.Sprint(i), nil
	}}
	bubble(t, http.Options{CacheTTL: time.Minute}, n, func(a *http.Asker) {
		answers, times := askAll(a, get(site), get(site), get(site))
		for i, x := range answers {
			if string(x.Body) != "0" || times[i] != time.Second {
				t.Errorf("%q after %s", x.Body, times[i])
			}
		}
		counted(t, a, connector.AskerStats{Requests: 3, Shared: 2, Attempts: 1, Answered: 1})
	})
	bubble(t, http.Options{}, n, func(a *http.Asker) {
		if askAll(a, get(site), get(site)); len(n.times) != 3 {
			t.Errorf("%d attempts; without a cache each request is asked", len(n.times)-1)
		}
	})
}

// TestWrongOptions names all that is wrong.
func TestWrongOptions(t *testing.T) {
	_, err := http.New(http.Options{
		InFlight: -1, Timeout: -1, AttemptTimeout: -1, Rate: -1, BodyBytesMax: -1, CacheTTL: -1, CacheBytes: -1,
		Retry: http.Retry{Attempts: -1, Backoff: -1, BackoffMax: -1, Budget: -1, Statuses: []int{200}},
	})
	for _, name := range []string{"InFlight", "Timeout", "AttemptTimeout", "Rate", "BodyBytesMax", "CacheTTL", "CacheBytes", "Attempts", "Backoff ", "BackoffMax", "Budget", "200"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v; it does not name %s", err, name)
		}
	}
	if _, err := http.New(http.Options{}); err != nil {
		t.Error(err)
	}
}
