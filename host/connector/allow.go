package connector

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// URLPattern says which URLs may be asked: those of a scheme, host and port with a
// path, or with a * at its end all paths that begin so.
type URLPattern struct {
	scheme, host, port string
	path               string
	open               bool // path is a beginning
}

// ParseURLPattern reads a pattern such as https://rates.example/v1/*. A host cannot
// be left open: names under one domain may belong to anybody.
func ParseURLPattern(text string) (URLPattern, error) {
	rest, open := strings.CutSuffix(text, "*")
	if strings.Contains(rest, "*") {
		return URLPattern{}, errors.New("a * may stand at the end only, for the rest of the path")
	}
	u, err := ParseURL(rest)
	if err != nil {
		return URLPattern{}, err
	}
	p := URLPattern{scheme: u.Scheme, host: u.Hostname(), port: portOf(u), path: u.EscapedPath(), open: open}
	switch {
	case u.RawQuery != "" || u.ForceQuery:
		return p, errors.New("a pattern has no query: any is allowed")
	case open && p.path == "":
		return p, errors.New("the * must stand behind a / that ends the host")
	}
	if p.path == "" {
		p.path = "/"
	}
	return p, nil
}

// Address is where a pattern's host is, if nobody needs to be asked for it.
func (p URLPattern) Address() (a netip.Addr, known bool) {
	if p.host == "localhost" {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	a, err := netip.ParseAddr(p.host)
	return a, err == nil
}

// ParseURL reads a URL that may be asked, if a pattern allows it. It refuses what
// different readers take for different things, so that what was held against the
// patterns is what the server sees.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // without the URL, which may hold secrets
		}
		return nil, fmt.Errorf("it is no URL: %w", err)
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("its scheme must be http or https")
	case u.Opaque != "" || u.Hostname() == "":
		return nil, errors.New("it names no host")
	case !isPort(u.Port()):
		return nil, errors.New("its port is not one of 1 to 65535")
	case u.User != nil:
		return nil, errors.New("it has a user in front of the host; credentials belong in a header")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return nil, errors.New("it has a fragment, which no server sees")
	case !isPlainPath(u.EscapedPath()):
		return nil, errors.New(`its path has a "." or ".." segment, or a backslash`)
	case u.Path == "":
		return u, nil
	case u.Path[0] != '/':
		return nil, errors.New("its path must begin with a slash")
	}
	return u, nil
}

// isPlainPath tells a path that leads to one place for everybody: for servers that
// unescape it before they look at segments, once or again, and for those to which what is
// behind a semicolon is no part of a segment.
func isPlainPath(escaped string) bool {
	path := strings.ToLower(escaped)
	for strings.Contains(path, "%25") {
		path = strings.ReplaceAll(path, "%25", "%")
	}
	path = strings.NewReplacer("%2e", ".", "%2f", "/", "%5c", `\`, "%3b", ";").Replace(path)
	if strings.Contains(path, `\`) {
		return false
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment, _, _ = strings.Cut(segment, ";"); segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && n > 0
}

func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}

// ParseAllowed reads a URL, and refuses one that no pattern allows.
func ParseAllowed(text string, allow []URLPattern) (*url.URL, error) {
	const shownMax = 200
	u, err := ParseURL(text)
	if err != nil {
		return nil, fmt.Errorf("not allowed: the URL %.*q: %w", shownMax, text, err)
	}
	for _, p := range allow {
		if p.Matches(u) {
			return u, nil
		}
	}
	shown := u.Scheme + "://" + u.Host + u.EscapedPath() // a query may be secret
	return nil, fmt.Errorf("not allowed: the URL %s is none of those that the job allows", shown[:min(len(shown), shownMax)])
}

// Matches tells whether the pattern allows a URL that ParseURL has read.
func (p URLPattern) Matches(u *url.URL) bool {
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.Scheme != p.scheme || u.Hostname() != p.host || portOf(u) != p.port {
		return false
	}
	return path == p.path || p.open && strings.HasPrefix(path, p.path)
}

// Site is scheme, host and port.
func (p URLPattern) Site() string { return p.scheme + "://" + p.host + ":" + p.port }
