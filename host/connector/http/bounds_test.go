package http_test

import (
	"fmt"
	nethttp "net/http"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/connector/http"
)

// goroutines are the stacks of those that an asker, or a connection of its, has.
func goroutines(t *testing.T) (list []string) {
	t.Helper()
	var all strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&all, 2); err != nil {
		t.Fatal(err)
	}
	for _, stack := range strings.Split(all.String(), "\n\n") {
		if strings.Contains(stack, "http.(*Asker)") || strings.Contains(stack, "http.(*persistConn)") || strings.Contains(stack, "http.(*Transport)") {
			list = append(list, stack)
		}
	}
	return list
}

// TestNothingIsLeft: after Close there are no goroutines of its own at once, and none of
// its connections soon, whatever was under way.
func TestNothingIsLeft(t *testing.T) {
	arrived := make(chan struct{}, 100)
	server, a := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "0"):
			arrived <- struct{}{}
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "1"):
			w.WriteHeader(503)
		}
	}, func(o *http.Options) { o.InFlight, o.Retry.Backoff, o.Retry.BackoffMax = 8, time.Minute, time.Minute })
	for i := range 40 {
		a.Ask(get(fmt.Sprint(server.URL, "/", i%3)), func(*connector.Answer) {})
	}
	<-arrived
	if len(goroutines(t)) == 0 {
		t.Fatal("there are none while it asks")
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	for _, stack := range goroutines(t) {
		if strings.Contains(stack, "(*Asker)") {
			t.Errorf("left:\n%s", stack)
		}
	}
	for began := time.Now(); len(goroutines(t)) > 0; <-time.After(time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("left:\n%s", strings.Join(goroutines(t), "\n\n"))
		}
	}
}

// TestBodiesAreBounded: servers that answer without end take no more memory than bodies
// may have.
func TestBodiesAreBounded(t *testing.T) {
	const inFlight, bodyBytes = 4, 1 << 20
	block := make([]byte, 64<<10)
	server, a := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		for {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}, func(o *http.Options) { o.InFlight, o.BodyBytesMax, o.Timeout = inFlight, bodyBytes, time.Minute })
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	var group sync.WaitGroup
	most := uint64(0)
	for i := range 100 {
		group.Add(1)
		a.Ask(get(fmt.Sprint(server.URL, "/", i)), func(x *connector.Answer) {
			defer group.Done()
			if x.Status != 0 || !strings.Contains(x.Err, "more than 1048576 bytes") {
				t.Errorf("%d %s", x.Status, x.Err)
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-time.After(5 * time.Millisecond):
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
		}
	}
	// Buffers grow by doubling, and garbage of one collection is there too.
	if limit := uint64(inFlight * bodyBytes * 16); most > limit {
		t.Errorf("%d MB more than before, with %d bodies of 1 MB", most>>20, inFlight)
	}
	t.Logf("%d MB more than before", most>>20)
}
