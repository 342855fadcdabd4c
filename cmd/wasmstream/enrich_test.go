package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// lookupJob asks a server about each line of its input.
const lookupJob = `
version: 1
name: lookup
parallelism: 3
modules: {m: {file: MODULE}}
sources:
  keys: {file: {path: in.txt, format: {wasm: m.line}}, schema: {key: STRING}}
steps:
  found:
    from: keys
    enrich:
      wasm: m.lookup
      with: {url: "SERVER/v1/"}
      order: ORDER
      capacity: 20
      http: {allow: ["SERVER/v1/*"], PRIVATE in-flight: 8, retry: {backoff: 1ms, attempts: 4, budget: 5}, answer-bytes-max: 10KiB}
sinks:
  out: {from: found, file: {path: out.txt, format: {wasm: m.told}}}
  json: {from: found, file: {path: out.json, format: json}}
`

// unreliable is a server that fails at the first attempt for some keys, and for ever
// for others.
type unreliable struct {
	attempts  sync.Map // by key
	now, most atomic.Int64
}

func (u *unreliable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := u.now.Add(1)
	defer u.now.Add(-1)
	for most := u.most.Load(); n > most && !u.most.CompareAndSwap(most, n); most = u.most.Load() {
	}
	key, _ := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), "/v1/"))
	count, _ := u.attempts.LoadOrStore(key, new(atomic.Int64))
	first := count.(*atomic.Int64).Add(1) == 1
	switch {
	case strings.HasSuffix(key, "7") && first, strings.HasPrefix(key, "never"):
		w.WriteHeader(http.StatusServiceUnavailable)
	case strings.HasSuffix(key, "3") && first:
		panic(http.ErrAbortHandler) // the connection is cut
	case strings.HasPrefix(key, "missing"):
		w.WriteHeader(http.StatusNotFound)
	case strings.HasPrefix(key, "huge"):
		_, _ = w.Write(make([]byte, 1<<20))
	case strings.HasPrefix(key, "elsewhere"):
		http.Redirect(w, r, "/v2/", http.StatusFound)
	default:
		fmt.Fprintf(w, "about %s", key)
	}
}

func startLookup(t *testing.T, order, private string) (folder string, server *unreliable) {
	t.Helper()
	server = &unreliable{}
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	folder = t.TempDir()
	module, err := filepath.Abs("../../testdata/wasm/lookup-c.wasm")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "job.yaml"),
		strings.NewReplacer("MODULE", module, "SERVER", s.URL, "ORDER", order, "PRIVATE", private).Replace(lookupJob))
	return folder, server
}

// TestLookup asks a server that fails in many ways: all that it can be made to say comes
// out, in order if that was asked for, and what cannot be had is told. Unordered, three
// tasks ask, no more at one time than one would.
func TestLookup(t *testing.T) {
	const records = 1000
	for _, order := range []string{"ordered", "unordered"} {
		folder, server := startLookup(t, order, "private: [127.0.0.1],")
		var in, want, wantJSON []string
		add := func(key, status, text, err string) {
			in = append(in, key)
			want = append(want, key+"\t"+text)
			quoted := func(s string) string {
				if s == "" {
					return "null"
				}
				return fmt.Sprintf("%q", s)
			}
			if status != "null" && text == "" {
				wantJSON = append(wantJSON, fmt.Sprintf(`{"key":%q,"status":%s,"text":"","error":null}`, key, status))
			} else {
				wantJSON = append(wantJSON, fmt.Sprintf(`{"key":%q,"status":%s,"text":%s,"error":%s}`, key, status, quoted(text), quoted(err)))
			}
		}
		for i := range records {
			key := fmt.Sprintf("key %d/%d", i, i%10)
			add(key, "200", "about "+key, "")
		}
		add("never", "503", "", "")
		add("missing", "404", "", "")
		add("huge", "null", "", "the answer has more than 10240 bytes")
		write(t, filepath.Join(folder, "in.txt"), strings.Join(in, "\r\n")+"\n\n")
		run(t, folder, "run", "job.yaml").expect(t, 0)
		got, gotJSON := lines(read(t, filepath.Join(folder, "out.txt"))), lines(read(t, filepath.Join(folder, "out.json")))
		if order == "unordered" {
			slices.Sort(got)
			slices.Sort(want)
			slices.Sort(gotJSON)
			slices.Sort(wantJSON)
		}
		if !slices.Equal(got, want) || !slices.Equal(gotJSON, wantJSON) {
			t.Errorf("%s: %d and %d lines, want %d: the first that differ are %v and %v", order, len(got), len(gotJSON), len(want), differing(got, want), differing(gotJSON, wantJSON))
		}
		if most := server.most.Load(); most > 8 {
			t.Errorf("%d requests at one time", most)
		}
	}
}

func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

func differing(a, b []string) [2]string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return [2]string{a[i], b[i]}
		}
	}
	return [2]string{}
}

// TestLookupOfPrivateAddresses: this machine is not reached unless the job lists it, and a
// redirect leads nowhere.
func TestLookupOfPrivateAddresses(t *testing.T) {
	folder, server := startLookup(t, "ordered", "")
	write(t, filepath.Join(folder, "in.txt"), "a\n")
	run(t, folder, "run", "job.yaml").expect(t, 0)
	if out := read(t, filepath.Join(folder, "out.json")); !strings.Contains(out, `"status":null`) || !strings.Contains(out, "127.0.0.1, which is not a public address") || server.most.Load() != 0 {
		t.Errorf("%s, %d requests", out, server.most.Load())
	}
	folder, _ = startLookup(t, "ordered", "private: [127.0.0.1],")
	write(t, filepath.Join(folder, "job.yaml"), strings.Replace(read(t, filepath.Join(folder, "job.yaml")), "file: {path: out.txt, format: {wasm: m.told}}", "file: {path: out.txt, format: json}", 1))
	write(t, filepath.Join(folder, "in.txt"), "elsewhere\n")
	run(t, folder, "run", "job.yaml").expect(t, 0)
	if out := read(t, filepath.Join(folder, "out.json")); !strings.Contains(out, `"status":302`) {
		t.Error(out)
	}
}
