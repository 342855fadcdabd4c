package kill

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/internal/needs"
)

// order is any fixed one.
func order(results []Result) []Result {
	slices.SortFunc(results, func(a, b Result) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return results
}

func TestExpectedWindows(t *testing.T) {
	in := [][]Record{
		{{"a", 1000, 5}, {"a", 1999, -7}, {"b", 2000, 1}},
		{{"a", 1500, 2}, {"a", 2399, 3}, {"a", 2800, -1}},
	}
	for name, c := range map[string]struct{ want, got []Result }{
		"tumbling": {Tumbling(in, 1000, EndOfTime), []Result{{"a", 3, 0, 5, 1000, 2000}, {"a", 2, 2, 3, 2000, 3000}, {"b", 1, 1, 1, 2000, 3000}}},
		// 1500 is 500 after 1000; 2399 is 400 after 1999, the gap itself; 2800 is 401 after that.
		"sessions":             {Sessions(in, 400, EndOfTime), []Result{{"a", 1, 5, 5, 1000, 1400}, {"a", 1, 2, 2, 1500, 1900}, {"a", 2, -4, 3, 1999, 2799}, {"a", 1, -1, -1, 2800, 3200}, {"b", 1, 1, 1, 2000, 2400}}},
		"until 1999, tumbling": {Tumbling(in, 1000, 1999), []Result{{"a", 3, 0, 5, 1000, 2000}}},
		"until 1998, tumbling": {Tumbling(in, 1000, 1998), nil},
		"until 1399, sessions": {Sessions(in, 400, 1399), []Result{{"a", 1, 5, 5, 1000, 1400}}},
		"until 1398, sessions": {Sessions(in, 400, 1398), []Result{}},
	} {
		if diff := cmp.Diff(order(c.want), order(c.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNothingOfTheInputIsLate(t *testing.T) {
	const partitions, records = 3, 100_000
	in := NewInput(7, partitions)
	made := make([][]Record, partitions)
	latest := [partitions]int64{}
	for range records {
		p, r := in.Next()
		// The watermark that the partition's own records allow for is no less than that of them all.
		if mark := latest[p] - OutOfOrderness.Milliseconds() - 1; r.Time <= mark+1 {
			t.Fatalf("%+v comes in partition %d at the watermark %d", r, p, mark)
		}
		latest[p] = max(latest[p], r.Time)
		made[p] = append(made[p], r)
	}
	all := len(Tumbling(made, tumblingSize, EndOfTime))
	if open := all - len(Tumbling(made, tumblingSize, FinalWatermark(made))); open <= 0 {
		t.Errorf("of %d windows %d stay open before the last records", all, open)
	}
	for p, r := range in.Last() {
		made[p] = append(made[p], r)
	}
	if closed := len(Tumbling(made, tumblingSize, FinalWatermark(made))); closed != all {
		t.Errorf("the last records let %d of %d windows fire", closed, all)
	}
	for p := range made {
		if n := len(made[p]); n < records/4 {
			t.Errorf("partition %d has %d records", p, n)
		}
	}
	if sessions := len(Sessions(made, sessionGap, EndOfTime)); sessions < records/20 || sessions > records/2 {
		t.Errorf("there are %d sessions, which are too few or too short to be of use", sessions)
	}
	if again, r := NewInput(7, partitions).Next(); made[again][0] != r {
		t.Errorf("the same seed begins with %+v and with %+v", made[again][0], r)
	}
}

// output is results as a sound job puts them out.
func output(results []Result) []Seen {
	slices.SortFunc(results, func(a, b Result) int { return int(a.End - b.End) })
	var seen []Seen
	for i, r := range results {
		seen = append(seen, Seen{r, int32(r.Key[1] % 3), int64(i)})
	}
	return seen
}

func TestFindings(t *testing.T) {
	var records []Record
	for in := NewInput(3, 1); len(records) < 2000; {
		_, r := in.Next()
		records = append(records, r)
	}
	want := Tumbling([][]Record{records}, tumblingSize, EndOfTime)
	sound := output(slices.Clone(want))
	i := len(sound) / 3
	next := slices.IndexFunc(sound[i+1:], func(s Seen) bool { return s.Key == sound[i].Key }) + i + 1
	if next == i {
		t.Fatal("the key has no other window behind")
	}
	for name, c := range map[string]struct {
		change func([]Seen) []Seen
		want   [4]int // lost, twice, strange, out of order
	}{
		"sound":       {func(s []Seen) []Seen { return s }, [4]int{}},
		"lost":        {func(s []Seen) []Seen { return slices.Delete(s, i, i+1) }, [4]int{1, 0, 0, 0}},
		"all lost":    {func([]Seen) []Seen { return nil }, [4]int{len(want), 0, 0, 0}},
		"twice":       {func(s []Seen) []Seen { return slices.Insert(s, i, s[i]) }, [4]int{0, 1, 0, 0}},
		"three times": {func(s []Seen) []Seen { return slices.Insert(s, i, s[i], s[i]) }, [4]int{0, 2, 0, 0}},
		"another sum": {func(s []Seen) []Seen { s[i].Sum++; return s }, [4]int{1, 0, 1, 0}},
		"another key": {func(s []Seen) []Seen { s[i].Key = "none"; return s }, [4]int{1, 0, 1, 0}},
		"swapped":     {func(s []Seen) []Seen { s[i], s[next] = s[next], s[i]; return s }, [4]int{0, 0, 0, 1}},
		"replayed":    {func(s []Seen) []Seen { return append(s, s[i]) }, [4]int{0, 1, 0, 1}},
		"astray":      {func(s []Seen) []Seen { s[next].Partition++; return s[:next+1] }, [4]int{len(want) - next - 1, 0, 0, 1}},
	} {
		f := Compare(want, c.change(slices.Clone(sound)))
		if got := [4]int{len(f.Lost), len(f.Twice), len(f.Strange), len(f.OutOfOrder)}; got != c.want {
			t.Errorf("%s: %v, want %v\n%s", name, got, c.want, f)
		}
		if f.None() != (name == "sound") {
			t.Errorf("%s: nothing found is %t", name, f.None())
		}
	}
}

func TestFatesCoverAllPoints(t *testing.T) {
	f := NewFates(1, time.Second, 3, true)
	points, brokers := map[Point]int{}, 0
	for n := range 160 {
		fate := f.Next()
		if fate.Point != "" {
			points[fate.Point]++
		}
		if fate.Broker {
			brokers++
		}
		if (fate.Point != "") != (n%2 == 0) || fate.Broker != (n%10 == 9) {
			t.Errorf("kill %d is %s", n+1, fate)
		}
	}
	for _, p := range Points {
		if points[p] != 10 {
			t.Errorf("%s: %d of 80 kills at 8 points", p, points[p])
		}
	}
	f.Unmet(Fate{Point: "note-after", Nth: 3})
	if fate := f.Next(); fate != (Fate{Point: "note-after", Nth: 1}) {
		t.Errorf("a fate that was not met comes back as %s", fate)
	}
}

// shell is a command that stands in for ours.
func shell(t *testing.T, script string) Command {
	needs.Tool(t, "sh")
	return Command{Program: "sh", Arguments: []string{"-c", script}, Folder: t.TempDir()}
}

func TestLives(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		fate   Fate
		end    End
	}{
		"to the end":        {"exit 0", Fate{}, Done},
		"by a random kill":  {"exec sleep 60", Fate{After: time.Millisecond}, Killed},
		"before it":         {"exit 0", Fate{After: time.Hour}, Done},
		"at a point":        {`[ "$WASMSTREAM_KILL_AT" = note-after:2 ] && kill -9 $$`, Fate{Point: "note-after", Nth: 2}, Killed},
		"by an error":       {"echo told why >&2; exit 3", Fate{Point: "note-after", Nth: 2}, Failed},
		"with its broker":   {"exec sleep 60", Fate{After: time.Millisecond, Broker: true, Linger: time.Millisecond}, Killed},
		"as its broker did": {"sleep 0.2; exit 1", Fate{After: time.Millisecond, Broker: true, Linger: time.Hour}, Failed},
	} {
		t.Run(name, func(t *testing.T) {
			brokers := 0
			life, err := shell(t, c.script).Live(t.Context(), c.fate, func() error { brokers++; return nil })
			if err != nil || life.End != c.end {
				t.Errorf("%s, %v; want %s", life, err, c.end)
			}
			if (brokers == 1) != c.fate.Broker || life.Broker != c.fate.Broker {
				t.Errorf("the broker was killed %d times", brokers)
			}
			if c.end == Failed && strings.Contains(c.script, "told") && life.Said != "told why\n" {
				t.Errorf("it said %q", life.Said)
			}
		})
	}
	t.Run("without end", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if life, err := shell(t, "exec sleep 60").Live(ctx, Fate{Point: "note-after", Nth: 1}, nil); err != nil || life.End != Endless {
			t.Errorf("%s, %v", life, err)
		}
	})
}

func TestReportTellsOfMissedPoints(t *testing.T) {
	var r Report
	for _, p := range Points[1:] {
		r.Add(Life{Fate: Fate{Point: p, Nth: 1}, End: Killed})
	}
	r.Add(Life{Fate: Fate{Point: Points[0], Nth: 1}, End: Done})
	r.Add(Life{Fate: Fate{After: 1, Broker: true}, End: Killed, Broker: true})
	if got := r.Missed(); len(got) != 1 || got[0] != Points[0] || r.Kills() != len(Points) {
		t.Errorf("missed %v in %d kills", got, r.Kills())
	}
	for _, want := range []string{"8 kills", "1 at random times", "1 of a broker", "0 at handover-before", "1 at note-after", "1 done"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("no %q in %s", want, &r)
		}
	}
}

func TestEnoughKillsAreAtAllPoints(t *testing.T) {
	of := func(atPoint, atRandom int, points ...Point) (r Report) {
		for _, p := range points {
			for range atPoint {
				r.Add(Life{Fate: Fate{Point: p, Nth: 1}, End: Killed})
			}
		}
		for range atRandom {
			r.Add(Life{Fate: Fate{After: 1}, End: Killed})
		}
		return r
	}
	for name, c := range map[string]struct {
		report Report
		want   bool
	}{
		"one missing":               {of(2, 8, Points...), false},
		"all":                       {of(2, 9, Points...), true},
		"not at one point":          {of(2, 11, Points[1:]...), false},
		"nor at twice the number":   {of(2, 36, Points[1:]...), true},
		"and one before that":       {of(2, 35, Points[1:]...), false},
		"a done one does not count": {Report{Lives: append(of(2, 8, Points...).Lives, Life{End: Done})}, false},
	} {
		if got := c.report.Enough(25); got != c.want {
			t.Errorf("%s: %d kills are enough is %t", name, c.report.Kills(), got)
		}
	}
	if few := of(1, 3, Points[0]); !few.Enough(4) {
		t.Error("few kills must be at all points")
	}
}

// TestBoundedJobs runs commands that stand in for ours, each with a fault of its own but the first.
func TestBoundedJobs(t *testing.T) {
	const die = `[ -z "$WASMSTREAM_KILL_AT" ] || [ -e killed ] || { : > killed; kill -9 $$; }
`
	const once = "[ -e out/sums ] && exit\n"
	const write = "mkdir -p out; cat ../want > out/.half; " + die + "mv out/.half out/sums\n"
	for name, c := range map[string]struct{ script, finding string }{
		"sound":              {once + write, "^$"},
		"twice":              {"mkdir -p out; cat ../want >> out/sums\n" + die, "had appeared with|twice: "},
		"cut back too late":  {once + "mkdir -p out; cat ../want >> half\n" + die + "mv half out/sums", "twice: "},
		"lost":               {once + "mkdir -p out; if [ -e killed ]; then head -n 1 ../want; else cat ../want; fi > half\n" + die + "mv half out/sums", "2 lost"},
		"left behind":        {once + "mkdir -p out; " + die + "[ -e killed ] && cp ../want out/.half; cp ../want half; mv half out/sums", `".half"`},
		"changed when again": {"mkdir -p out; cp ../want half\n" + die + "[ -e out/sums ] && [ -e killed ] && echo >> half; mv half out/sums", "again|had appeared with"},
		"fails":              {"[ -e killed ] && exit 4; " + once + write, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			want := []Result{{"a", 1, 1, 1, 0, 10}, {"a", 2, 1, 1, 10, 20}, {"b", 1, 1, 1, 10, 20}}
			var text string
			for _, r := range want {
				text += r.json() + "\n"
			}
			if err := os.WriteFile(filepath.Join(temp, "want"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			j := BoundedJob{
				Name: "sums", Whole: []string{"out/sums"},
				Prepare: func(folder string) error { return os.Mkdir(folder, 0o755) },
				Check: func(folder string) error {
					if err := onlyThere(filepath.Join(folder, "out"), "sums"); err != nil {
						return err
					}
					return compareFiles(want, filepath.Join(folder, "out/sums"))
				},
			}
			var r Report
			err := j.Run(t.Context(), shell(t, c.script), temp, 1, 3, &r)
			found := ""
			if err != nil {
				found = err.Error()
			}
			if !regexp.MustCompile(c.finding).MatchString(found) {
				t.Errorf("found is %s, want %s\n%s", found, c.finding, r.History())
			}
			if err == nil && r.Kills() < 3 {
				t.Errorf("%d kills", r.Kills())
			}
		})
	}
}

func TestSameLines(t *testing.T) {
	const want = "a\nb\nb\n"
	for got, same := range map[string]bool{"b\na\nb\n": true, "a\nb\n": false, "a\nb\nb\nb\n": false, "a\nb\nc\n": false} {
		if err := sameLines([]byte(want), []byte(got)); (err == nil) != same {
			t.Errorf("%q: %v", got, err)
		}
	}
}
