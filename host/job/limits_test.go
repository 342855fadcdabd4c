package job

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestLimitsAreThePage: the default that SECURITY.md says of each field of limits is the one
// that a job has, and the one that editors are told.
func TestLimitsAreThePage(t *testing.T) {
	content, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	l := defaultLimits()
	for i, value := range l.values() {
		f := jobLimitsShape.fields[i]
		row := regexp.MustCompile("(?m)^\\| [^|]+ \\| (?:[^|]*; )?(\\d[\\d,]*)(?: (million|MiB|GiB))?[^|]* \\| `" + f.name + "`").FindStringSubmatch(string(content))
		if row == nil {
			t.Errorf("the page has no row with a default of %s", f.name)
			continue
		}
		n, err := strconv.ParseInt(strings.ReplaceAll(row[1], ",", ""), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if n *= map[string]int64{"": 1, "million": 1_000_000, "MiB": 1 << 20, "GiB": 1 << 30}[row[2]]; n != *value {
			t.Errorf("%s: the page says %d, and the default is %d", f.name, n, *value)
		}
		said := strconv.FormatInt(n, 10)
		if f.shape.what == isBytes {
			said = formatBytes(n)
		}
		if !regexp.MustCompile(`(?i)default ` + said + `\b`).MatchString(f.doc) {
			t.Errorf("%s: editors are told %q, and the default is %s", f.name, f.doc, said)
		}
	}
}
