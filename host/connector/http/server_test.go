package http_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/connector/http"
)

// serve starts a server and an asker that may ask it.
func serve(t *testing.T, handle nethttp.HandlerFunc, adapt func(*http.Options)) (*httptest.Server, *http.Asker) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	o := http.Options{Allow: patterns(t, server.URL+"/*"), Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	o.Retry.Backoff = time.Millisecond
	if adapt != nil {
		adapt(&o)
	}
	return server, open(t, o)
}

func open(t *testing.T, o http.Options) *http.Asker {
	t.Helper()
	a, err := http.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func patterns(t *testing.T, texts ...string) (list []connector.URLPattern) {
	t.Helper()
	for _, text := range texts {
		p, err := connector.ParseURLPattern(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// ask asks and waits.
func ask(a *http.Asker, r connector.Request) *connector.Answer {
	answer := make(chan *connector.Answer, 1)
	a.Ask(r, func(x *connector.Answer) { answer <- x })
	return <-answer
}

func get(url string) connector.Request { return connector.Request{URL: url} }

// TestAsks: what a request has comes to the server, and what it answers comes back.
func TestAsks(t *testing.T) {
	server, a := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", strings.Join(r.Header["X-Twice"], "+"))
		w.Header()["Date"] = nil
		w.WriteHeader(418)
		fmt.Fprintf(w, "%s %s %q %s %s", r.Method, r.URL, body, r.Header.Get("Authorization"), r.UserAgent())
	}, nil)
	got := ask(a, connector.Request{Method: "PUT", URL: server.URL + "/a%20b?c=d", Headers: "Authorization: Bearer x\nx-twice: 1\r\nX-Twice:2", Body: []byte("body")})
	want := `PUT /a%20b?c=d "body" Bearer x wasmstream`
	if got.Status != 418 || string(got.Body) != want || got.Err != "" {
		t.Errorf("%d %q %q, want 418 %q", got.Status, got.Body, got.Err, want)
	}
	if want := fmt.Sprintf("Content-Length: %d\nContent-Type: text/plain; charset=utf-8\nX-Seen: 1+2\n", len(want)); got.Headers != want {
		t.Errorf("headers %q, want %q", got.Headers, want)
	}
}

// TestNotAllowed: nothing but what the job allows is reached.
func TestNotAllowed(t *testing.T) {
	var reached atomic.Int64
	secret := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) { reached.Add(1) }))
	defer secret.Close()
	server, a := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path != "/to" {
			reached.Add(1)
		}
		nethttp.Redirect(w, r, secret.URL, nethttp.StatusFound)
	}, func(o *http.Options) {
		for i := range o.Allow {
			o.Allow[i] = patterns(t, strings.TrimSuffix(o.Allow[i].Site(), "/")+"/to")[0]
		}
	})
	if got := ask(a, get(server.URL+"/to")); got.Status != nethttp.StatusFound || !strings.Contains(got.Headers, "Location: "+secret.URL) {
		t.Errorf("a redirect is answered as %d %s %s", got.Status, got.Headers, got.Err)
	}
	for _, r := range []connector.Request{
		get(secret.URL), get(server.URL + "/too"), get(server.URL), get("file:///etc/passwd"), get(""),
		{URL: server.URL + "/to", Method: "CONNECT"}, {URL: server.URL + "/to", Method: "get"}, {URL: server.URL + "/to", Method: "GET /x HTTP/1.1\r\nX: "},
		{URL: server.URL + "/to", Headers: "Host: elsewhere"}, {URL: server.URL + "/to", Headers: "transfer-encoding: chunked"},
		{URL: server.URL + "/to", Headers: "proxy-authorization: x"}, {URL: server.URL + "/to", Headers: "connection: x"},
	} {
		if got := ask(a, r); got.Status != 0 || !strings.Contains(got.Err, "not allowed") {
			t.Errorf("%+v: %d %s", r, got.Status, got.Err)
		}
	}
	for _, headers := range []string{"no colon", "sp ace: x", ": x", "a: \x01", "ü: x"} {
		if got := ask(a, connector.Request{URL: server.URL + "/to", Headers: headers}); got.Status != 0 || !strings.Contains(got.Err, "not of the form") {
			t.Errorf("headers %q: %d %s", headers, got.Status, got.Err)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("what is not allowed was reached %d times", n)
	}
	if n := a.Stats().Attempts; n != 1 {
		t.Errorf("%d attempts", n)
	}
}

// TestPrivateAddresses: an allowed URL does not lead to this machine or its network,
// however its address is written, and one attempt is enough to know.
func TestPrivateAddresses(t *testing.T) {
	var reached atomic.Int64
	server := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) { reached.Add(1) }))
	defer server.Close()
	port := server.URL[strings.LastIndexByte(server.URL, ':')+1:]
	hosts := strings.Fields(`127.0.0.1 127.8.8.8 localhost 0.0.0.0 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 192.0.0.8 198.18.0.1 224.0.0.1 240.0.0.1 255.255.255.255
		[::1] [::] [::ffff:127.0.0.1] [::ffff:10.0.0.1] [::127.0.0.1] [fe80::1] [fe80::1%25lo] [fc00::1] [fd00::1] [fec0::1] [ff02::1] [64:ff9b::7f00:1] [2002:7f00:1::] [2001:0:1::]`)
	for _, host := range hosts {
		url := "http://" + host + ":" + port + "/"
		a := open(t, http.Options{Allow: patterns(t, url)})
		got := ask(a, get(url))
		if got.Status != 0 || !strings.Contains(got.Err, "not a public address") || a.Stats().Attempts != 1 {
			t.Errorf("%s: %d %s, %d attempts", host, got.Status, got.Err, a.Stats().Attempts)
		}
	}
	if reached.Load() != 0 {
		t.Error("the server was reached")
	}
	listed := open(t, http.Options{Allow: patterns(t, server.URL+"/*"), Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	if got := ask(listed, get(server.URL)); got.Status != 200 {
		t.Errorf("a private address that is listed: %d %s", got.Status, got.Err)
	}
}

// TestServersThatFail: what is tried again, how often, and what is told in the end.
func TestServersThatFail(t *testing.T) {
	cut := func(w nethttp.ResponseWriter) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "half")
		w.(nethttp.Flusher).Flush()
		c, _, err := nethttp.NewResponseController(w).Hijack()
		if err == nil {
			c.Close()
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(make([]byte, 10<<20))
	_ = z.Close()
	for name, c := range map[string]struct {
		fail     func(w nethttp.ResponseWriter, r *nethttp.Request)
		times    int64 // that it fails
		status   int32
		attempts int64
		err      string
	}{
		"no failure":       {times: 0, status: 200, attempts: 1},
		"503 once":         {fail: status(503), times: 1, status: 200, attempts: 2},
		"503 for ever":     {fail: status(503), times: 99, status: 503, attempts: 3},
		"429 twice":        {fail: status(429), times: 2, status: 200, attempts: 3},
		"500 is an answer": {fail: status(500), times: 99, status: 500, attempts: 1},
		"404 is an answer": {fail: status(404), times: 99, status: 404, attempts: 1},
		"cut once":         {fail: func(w nethttp.ResponseWriter, _ *nethttp.Request) { cut(w) }, times: 1, status: 200, attempts: 2},
		"cut for ever":     {fail: func(w nethttp.ResponseWriter, _ *nethttp.Request) { cut(w) }, times: 99, attempts: 3, err: "broke off"},
		"slow once":        {fail: func(_ nethttp.ResponseWriter, r *nethttp.Request) { <-r.Context().Done() }, times: 1, status: 200, attempts: 2},
		"slow for ever":    {fail: func(_ nethttp.ResponseWriter, r *nethttp.Request) { <-r.Context().Done() }, times: 99, attempts: 3, err: "no answer within 2s"},
		"huge": {fail: func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			for block := make([]byte, 64<<10); ; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, times: 99, attempts: 1, err: "more than 100000 bytes"},
		"packed": {fail: func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
		}, times: 99, attempts: 1, err: "more than 100000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Int64
			server, a := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
				if seen.Add(1) <= c.times {
					c.fail(w, r)
				}
			}, func(o *http.Options) {
				if o.BodyBytesMax = 100_000; strings.HasPrefix(name, "slow") {
					o.AttemptTimeout = 2 * time.Second
				}
			})
			got := ask(a, get(server.URL))
			if got.Status != c.status || !strings.Contains(got.Err, c.err) || (got.Err == "") != (c.err == "") || a.Stats().Attempts != c.attempts {
				t.Errorf("%d %q after %d attempts; want %d %q after %d", got.Status, got.Err, a.Stats().Attempts, c.status, c.err, c.attempts)
			}
		})
	}
}

func status(code int) func(nethttp.ResponseWriter, *nethttp.Request) {
	return func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(code) }
}

// TestInFlight: a server never sees more requests at one time than it may, and sees as
// many.
func TestInFlight(t *testing.T) {
	const inFlight, requests = 5, 60
	var mu sync.Mutex
	now, most := 0, 0
	full := make(chan struct{})
	server, a := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) {
		mu.Lock()
		now++
		if most = max(most, now); now == inFlight {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		mu.Unlock()
		<-full // until as many as may be are there
		mu.Lock()
		now--
		mu.Unlock()
	}, func(o *http.Options) { o.InFlight = inFlight })
	var group sync.WaitGroup
	for i := range requests {
		group.Add(1)
		a.Ask(get(fmt.Sprint(server.URL, "/", i)), func(x *connector.Answer) {
			defer group.Done()
			if x.Status != 200 {
				t.Errorf("%d %s", x.Status, x.Err)
			}
		})
	}
	group.Wait()
	if most != inFlight {
		t.Errorf("%d requests at one time, want %d", most, inFlight)
	}
}

// TestCloseWhileAsking: Close comes back although servers do not answer, and nobody is
// told anything after that.
func TestCloseWhileAsking(t *testing.T) {
	arrived := make(chan struct{}, 100)
	server, a := serve(t, func(_ nethttp.ResponseWriter, r *nethttp.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}, func(o *http.Options) { o.InFlight = 4 })
	var closed atomic.Bool
	for i := range 20 {
		a.Ask(get(fmt.Sprint(server.URL, "/", i)), func(x *connector.Answer) {
			if closed.Load() {
				t.Errorf("told %+v after Close", x)
			}
		})
	}
	for range 4 {
		<-arrived
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	closed.Store(true)
	a.Ask(get(server.URL), func(x *connector.Answer) { t.Errorf("told %+v of what was asked after Close", x) })
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
