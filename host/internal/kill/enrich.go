package kill

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Enriched is a job that asks a server about each of so many keys, in order and not, of which each answer must come out
// once. The server says "about KEY" to each; a key is behind the last slash of its URL.
func Enriched(testdata, temp, server string, records int) (BoundedJob, error) {
	ordered, unordered := told{}, told{}
	var text strings.Builder
	for i := range records {
		key := fmt.Sprintf("key-%d", i)
		fmt.Fprintln(&text, key)
		ordered.add(0, "%s\tabout %[1]s", key)
		unordered.add(0, `{"key":%q,"status":200,"text":"about %s","error":null}`, key, key)
	}
	path := filepath.Join(temp, "keys.txt")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		return BoundedJob{}, err
	}
	const rest = `sources:
  keys: {file: {path: %s, format: {wasm: l.line}}, schema: {key: STRING}}
steps:
  ordered: {from: keys, enrich: {wasm: l.lookup, with: {url: "%s/"}, order: ordered, capacity: 40, http: %s}}
  unordered: {from: keys, enrich: {wasm: l.lookup, with: {url: "%[2]s/"}, order: unordered, capacity: 40, http: %[3]s}}
sinks:
  ordered: {from: ordered, file: {path: out/ordered, format: {wasm: l.told}}}
  unordered: {from: unordered, file: {path: out/unordered, format: json}}
`
	http := fmt.Sprintf(`{allow: ["%s/*"], private: [127.0.0.1], in-flight: 16, retry: {attempts: 10, backoff: 1ms, budget: 10}}`, server)
	return jobOf("enrich", beginning(testdata, map[string]string{"l": "lookup-c"})+fmt.Sprintf(rest, path, server, http), []outputFile{
		{"ordered", ordered, func(string) int64 { return 0 }}, {"unordered", unordered, nil},
	}), nil
}
