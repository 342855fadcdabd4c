package connector_test

import (
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/connector"
)

// TestURLPatterns: what a pattern allows, and what looks as if it did.
func TestURLPatterns(t *testing.T) {
	for pattern, urls := range map[string]string{
		"https://rates.example/*": `
			+ https://rates.example/ https://rates.example https://RATES.example/a/b?c=d https://rates.example:443/x HTTPS://rates.example/
			- http://rates.example/ https://rates.example:8443/ https://rates.example.evil/ https://evil/rates.example/ https://xrates.example/
			! https://rates.example@evil/ https://user:pw@rates.example/ https://rates.example/#f //rates.example/ rates.example/ ftp://rates.example/
			! https://rates.example\@evil/ https:rates.example https:///x https://rates.example/a/../b javascript:alert(1)`,
		"https://rates.example/v1/*": `
			+ https://rates.example/v1/a%2Fb https://rates.example/v1//a https://rates.example/v1/a..b;c=.. https://rates.example/v1/100%25 https://rates.example/v1/...
			+ https://rates.example/v1/ https://rates.example/v1/eur https://rates.example/v1/eur?d=2026-01-01&x=/../
			- https://rates.example/v1 https://rates.example/v2/eur https://rates.example/ https://rates.example/%76%31/eur https://rates.example/V1/eur
			! https://rates.example/v1/../admin https://rates.example/v1/%2e%2e/admin https://rates.example/v1/.%2E/admin https://rates.example/v1/./x
			! https://rates.example/v1/..%2fadmin https://rates.example/v1/..%5cadmin https://rates.example/v1/..;/admin https://rates.example/v1/..\admin
			! https://rates.example/v1/%252e%252e/admin https://rates.example/v1/%25252e%252e%2fadmin https://rates.example/v1/a%2f..%2f..%2fadmin https://rates.example/v1/..%3bx/admin`,
		"http://10.0.0.7:8080/exact": `
			+ http://10.0.0.7:8080/exact http://10.0.0.7:8080/exact?q
			- http://10.0.0.7/exact http://10.0.0.7:8080/exact/ http://10.0.0.7:8080/exactly http://10.0.0.70:8080/exact`,
		"http://[fd00::1]:80/*": "+ http://[FD00::1]/x http://[fd00::1]:80/\n- http://[fd00::2]/",
	} {
		p, err := connector.ParseURLPattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(urls) {
			words := strings.Fields(line)
			for _, text := range words[min(1, len(words)):] {
				u, err := connector.ParseURL(text)
				switch {
				case words[0] == "!":
					if err == nil {
						t.Errorf("%s is read as %s", text, u)
					}
				case err != nil:
					t.Errorf("%s: %v", text, err)
				case p.Matches(u) != (words[0] == "+"):
					t.Errorf("%s allows %s: %t", pattern, text, p.Matches(u))
				}
			}
		}
	}
}

// TestWrongPatterns: a pattern that would allow more than it seems to is refused.
func TestWrongPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"https://*.example/*":  "at the end only",
		"https://rates*":       "behind a /",
		"https://*":            "no host",
		"http://a:99999/*":     "its port is not",
		"http://a:0/*":         "its port is not",
		"*":                    "scheme",
		"rates.example/*":      "scheme",
		"https://a@rates/*":    "user",
		"https://rates/?x=*":   "no query",
		"https://rates/../*":   "segment",
		"https://rates/#a":     "fragment",
		"https://rates:port/*": "no URL",
		"":                     "scheme",
	} {
		if _, err := connector.ParseURLPattern(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", pattern, err, want)
		}
	}
}
