package scenario_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/internal/needs"
	"github.com/wasmstream/wasmstream/host/scenario"
)

var joinedDir = filepath.Join("..", "..", "testdata", "outer-interval-joins")

// intervalJob joins l and r; its verbs are the type of the join and its bounds.
const intervalJob = `-- job.yaml --
version: 1
name: interval
sources:
  l: {test: {}, schema: {k: STRING, v: BIGINT}}
  r: {test: {}, schema: {k: STRING, v: BIGINT}}
steps:
  joined:
    interval-join: {left: l, right: r, left-key: [k], right-key: [k], lower: %dms, upper: %dms, type: %s}
sinks:
  out: {from: joined, test: {}}
-- script --
`

// joined is a history of testdata/outer-interval-joins as a scenario, and the rows
// that Flink SQL makes of it.
type joined struct {
	line     int
	scenario string
	rows     []string
}

func joinedHistories(t *testing.T) (all []joined) {
	t.Helper()
	file, err := os.Open(filepath.Join(joinedDir, "histories.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for line := 1; lines.Scan(); line++ {
		var kind, key string
		var a, b int
		words := strings.Fields(lines.Text())
		if words[0] == "join" {
			all = append(all, joined{line: line, rows: []string{}})
		}
		last := &all[len(all)-1]
		switch words[0] {
		case "join":
			_, err = fmt.Sscanf(lines.Text(), "join %s %d %d", &kind, &a, &b)
			last.scenario = fmt.Sprintf(intervalJob, a, b, kind)
		case "watermark":
			last.scenario += fmt.Sprintf("watermark l %s\nwatermark r %[1]s\n", words[1])
		case "row":
			last.rows = append(last.rows, words[1]+" "+words[2])
		default:
			_, err = fmt.Sscanf(lines.Text(), "%s %s %d %d", &kind, &key, &a, &b)
			last.scenario += fmt.Sprintf("emit %.1s {\"k\":%q,\"v\":%d} @%d\n", kind, key, a, b)
		}
		if err != nil {
			t.Fatalf("histories.txt:%d: %v", line, err)
		}
	}
	return all
}

// TestOuterIntervalJoins has the same rows as the interval join of Flink SQL. Their
// moment and order are not its: it cleans up once for several rows, and later.
func TestOuterIntervalJoins(t *testing.T) {
	want := regexp.MustCompile(`(?m)^want out .*"left_v":(\w+),.*"right_v":(\w+)\}`)
	every(t, func(t *testing.T, change func(*scenario.Options)) {
		o := options()
		change(&o)
		o.Update = true
		for _, h := range joinedHistories(t) {
			result := parse(t, "a.scenario", []byte(h.scenario+"end l\nend r\n")).Run(o)
			rows := []string{}
			for _, m := range want.FindAllStringSubmatch(string(result.Updated), -1) {
				rows = append(rows, m[1]+" "+m[2])
			}
			sort.Strings(rows)
			if diff := cmp.Diff(h.rows, rows); diff != "" {
				t.Errorf("histories.txt:%d: (-Flink +here)\n%s", h.line, diff)
			}
		}
	})
}

// The committed histories are what the generator writes.
func TestOuterIntervalJoinsAreCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a Java program")
	}
	needs.Tool(t, "bash", "java", "mvn")
	file := filepath.Join(t.TempDir(), "histories.txt")
	generate := exec.Command("bash", filepath.Join(joinedDir, "..", "generate"), filepath.Base(joinedDir), file)
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, want := read(t, file), read(t, filepath.Join(joinedDir, "histories.txt")); string(got) != string(want) {
		t.Errorf("testdata/generate gives other histories:\n%s", cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")))
	}
}
