package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
)

// client makes attempts.
type client struct {
	options   *Options
	transport *nethttp.Transport // nil: RoundTrip stands in for it
	roundTrip func(*nethttp.Request) (*nethttp.Response, error)
}

// headerBytesMax bounds an answer's headers.
const headerBytesMax = 64 << 10

// idleMax is how long a connection without requests is kept.
const idleMax = 90 * time.Second

func newClient(o *Options) client {
	if o.RoundTrip != nil {
		return client{options: o, roundTrip: o.RoundTrip}
	}
	d := dialer{private: o.Private}
	t := &nethttp.Transport{
		DialContext: d.dial, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: o.InFlight, MaxIdleConns: o.InFlight,
		IdleConnTimeout: idleMax, MaxResponseHeaderBytes: headerBytesMax,
	}
	return client{options: o, transport: t, roundTrip: t.RoundTrip}
}

func (c *client) close() {
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
}

// prepared is a request that may be asked.
type prepared struct {
	method string
	url    *url.URL
	header nethttp.Header
	body   []byte
}

// methods are those that may be asked; others steer connections.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// prepare refuses what may not be asked.
func (c *client) prepare(r *connector.Request) (*prepared, error) {
	p := &prepared{method: r.Method, body: r.Body}
	if p.method == "" {
		p.method = nethttp.MethodGet
	}
	if !slices.Contains(methods, p.method) {
		return nil, fmt.Errorf("not allowed: the method %.20q; there are %s", p.method, strings.Join(methods, ", "))
	}
	var err error
	if p.url, err = connector.ParseAllowed(r.URL, c.options.Allow); err != nil {
		return nil, err
	}
	p.header, err = parseHeaders(r.Headers)
	return p, err
}

// own are headers that are the connection's business.
var own = []string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Upgrade", "Te", "Trailer", "Keep-Alive", "Expect", "Http2-Settings"}

func parseHeaders(text string) (nethttp.Header, error) {
	h := nethttp.Header{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if value = strings.Trim(value, " \t"); !ok || !isToken(name) || strings.ContainsFunc(value, isControl) {
			return nil, fmt.Errorf("the header line %.40q is not of the form name: value", line)
		}
		canonical := nethttp.CanonicalHeaderKey(name)
		if slices.Contains(own, canonical) || strings.HasPrefix(canonical, "Proxy-") {
			return nil, fmt.Errorf("not allowed: the header %s is the host's to set", canonical)
		}
		h.Add(canonical, value)
	}
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", "wasmstream")
	}
	return h, nil
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}

// result is what came of an attempt.
type result struct {
	answer  *connector.Answer
	lasting bool          // another attempt would end the same way
	late    bool          // its time was over
	after   time.Duration // for which the server wants to be left alone
}

// lastingError is one that another attempt would end in, too.
type lastingError struct{ error }

func lasting(format string, args ...any) error { return lastingError{fmt.Errorf(format, args...)} }

// attempt asks once.
func (c *client) attempt(ctx context.Context, p *prepared) result {
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, c.options.AttemptTimeout)
	defer cancel()
	request := (&nethttp.Request{
		Method: p.method, URL: p.url, Host: p.url.Host, Header: p.header.Clone(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if len(p.body) > 0 {
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(p.body)), int64(len(p.body))
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(p.body)), nil }
	}
	answer, after, err := c.ask(request)
	switch {
	case err == nil:
		return result{answer: answer, after: after}
	case whole.Err() != nil:
		err = fmt.Errorf("there was no answer within %s", c.options.Timeout)
	case ctx.Err() != nil:
		err = fmt.Errorf("there was no answer within %s", c.options.AttemptTimeout)
	}
	var last lastingError
	return result{
		answer:  failure(strings.ToValidUTF8(err.Error(), "\uFFFD")),
		lasting: errors.As(err, &last), late: errors.Is(ctx.Err(), context.DeadlineExceeded),
	}
}

// ask makes one round trip, and reads the answer as far as it may go.
func (c *client) ask(request *nethttp.Request) (*connector.Answer, time.Duration, error) {
	response, err := c.roundTrip(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	limit := int64(c.options.BodyBytesMax)
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return nil, 0, fmt.Errorf("the answer broke off: %w", err)
	}
	if int64(len(body)) > limit {
		return nil, 0, lasting("the answer has more than %d bytes", limit)
	}
	a := &connector.Answer{Status: int32(response.StatusCode), Headers: headerLines(response.Header), Body: body}
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		seconds = 0 // none, or a date, which would need a clock that agrees with the server's
	}
	const secondsMax = 1 << 20
	return a, time.Duration(min(seconds, secondsMax)) * time.Second, nil
}

// headerLines are headers in the order of their names.
func headerLines(h nethttp.Header) string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		for _, value := range h[name] {
			b.WriteString(strings.ToValidUTF8(name+": "+value+"\n", "\uFFFD"))
		}
	}
	return b.String()
}
