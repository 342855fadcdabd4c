package kill

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Move is a record for functions that keep states and set timers, of testdata/wasm: ledger, tick, idle, rates and tally.
type Move struct {
	Key, User int64
	Time      int64 // event time in ms
	Value     int64
	Amount    int64 // what tally does: 0 tells, -1 forgets, others are kept, and of one key only
}

// appendJSON appends a line.
func (m Move) appendJSON(b []byte) []byte {
	return fmt.Appendf(b, `{"k":"k%d","bidder":%[1]d,"t":%d,"v":%d,"user":"u%d","amount":%d}`+"\n", m.Key, m.Time, m.Value, m.User, m.Amount)
}

const (
	moveSchema = "{k: STRING, bidder: BIGINT, t: TIMESTAMP(3), v: BIGINT, user: STRING, amount: BIGINT}"
	moveStep   = 2   // ms from one record to the next
	patience   = 400 // ms until idle tells of a key, and that tick sets its timers ahead
	// movesMax bounds records: ledger's timers are at 1,000,000 ms and must not be in the past, since when those fire
	// hangs on where the watermarks stand.
	movesMax = 400_000
)

// moves makes the records of a seed.
func moves(seed uint64, records int) []Move {
	random := rand.New(rand.NewPCG(seed, 3))
	made := make([]Move, records)
	for i := range made {
		m := Move{Key: random.Int64N(keys), User: random.Int64N(5), Time: int64(i)*moveStep + random.Int64N(jitter), Value: random.Int64N(1000)}
		switch random.IntN(60) {
		case 0:
		case 1, 2:
			m.Amount = -1
		default:
			m.Amount = int64(i+1)*keys + m.Key
		}
		made[i] = m
	}
	return made
}

// told are the lines of an output, by the key that they are of; those of a key are in one order.
type told map[int64][]string

func (t told) add(key int64, format string, arguments ...any) {
	t[key] = append(t[key], fmt.Sprintf(format, arguments...))
}

// Ledger is what a key has added up by the end: its timers and total, how often each value modulo 8 came, and the length
// and sum of the list of all.
func Ledger(in []Move) told {
	type sums struct {
		timers        map[int64]bool
		counts        [8]int64
		total, number int64
	}
	byKey := map[int64]*sums{}
	for _, m := range in {
		s := byKey[m.Key]
		if s == nil {
			s = &sums{timers: map[int64]bool{}}
			byKey[m.Key] = s
		}
		s.timers[m.Value%7] = true
		s.counts[m.Value%8]++
		s.total += m.Value
		s.number++
	}
	out := told{}
	for key, s := range byKey {
		line := func(what, at, n int64) { out.add(key, `{"k":"k%d","what":%d,"at":%d,"n":%d}`, key, what, at, n) }
		line(0, int64(len(s.timers)), s.total)
		for value, n := range s.counts {
			if n > 0 {
				line(1, int64(value), n)
			}
		}
		line(2, s.number, s.total)
	}
	return out
}

// Ticks are how many records a key had, and how many timers, one for each time.
func Ticks(in []Move) told {
	records, times := map[int64]int{}, map[int64]map[int64]bool{}
	for _, m := range in {
		if times[m.Key] == nil {
			times[m.Key] = map[int64]bool{}
		}
		records[m.Key]++
		times[m.Key][m.Time] = true
	}
	out := told{}
	for key, n := range records {
		out.add(key, `{"bidder":%d,"records":%d,"times":%d}`, key, n, len(times[key]))
	}
	return out
}

// Idles are keys of which nothing came for a while, with how many records had come. Of one key's timers only that of the
// record that came last counts; it is in the future when it is set.
func Idles(in []Move) told {
	type count struct{ n, last int64 }
	open, out := map[int64]count{}, told{}
	tell := func(watermark int64) {
		for key, c := range open {
			if c.last+patience <= watermark {
				out.add(key, `{"bidder":%d,"n":%d}`, key, c.n)
				delete(open, key)
			}
		}
	}
	latest := int64(0)
	for _, m := range in {
		open[m.Key] = count{open[m.Key].n + 1, m.Time}
		if m.Time > latest {
			latest = m.Time
			tell(latest - OutOfOrderness.Milliseconds() - 1)
		}
	}
	tell(EndOfTime)
	return out
}

// Rates are how many records a key had, and the sum of what was broadcast for it.
func Rates(in, broadcast []Move) told {
	count, sum, out := map[int64]int64{}, map[int64]int64{}, told{}
	for _, m := range in {
		count[m.Key]++
	}
	for _, m := range broadcast {
		sum[m.Key] += m.Value
	}
	for key, n := range count {
		out.add(key, `{"k":"k%d","what":3,"at":%d,"n":%d}`, key, n, sum[key])
	}
	return out
}

// Tallies are a key's sums by user and its amounts, whenever an amount is 0, since one was -1.
func Tallies(in []Move) (sums, amounts told) {
	type tally struct {
		sums [5]int64
		all  []int64
	}
	open := map[int64]*tally{}
	sums, amounts = told{}, told{}
	for _, m := range in {
		switch t := open[m.Key]; {
		case m.Amount == -1:
			delete(open, m.Key)
		case m.Amount > 0:
			if t == nil {
				t = &tally{}
				open[m.Key] = t
			}
			t.sums[m.User] += m.Amount
			t.all = append(t.all, m.Amount)
		case t != nil:
			for user, n := range t.sums {
				if n > 0 {
					sums.add(m.Key, `{"user":"u%d","n":%d}`, user, n)
				}
			}
			for _, n := range t.all {
				amounts.add(m.Key, `{"n":%d}`, n)
			}
		}
	}
	return sums, amounts
}

// Functions is a job whose functions keep values, maps, lists and broadcast state, and set timers.
func Functions(testdata, temp string, seed uint64, records int) (BoundedJob, error) {
	in, broadcast := moves(seed, min(records, movesMax)), moves(seed+1, records/20)
	paths := [2]string{filepath.Join(temp, "moves.ndjson"), filepath.Join(temp, "broadcast.ndjson")}
	for i, list := range [2][]Move{in, broadcast} {
		var text []byte
		for _, m := range list {
			text = m.appendJSON(text)
		}
		if err := os.WriteFile(paths[i], text, 0o644); err != nil {
			return BoundedJob{}, err
		}
	}
	sums, amounts := Tallies(in)
	outputs := []outputFile{
		{"ledger", Ledger(in), fieldOf("k", `"k`)}, {"ticks", Ticks(in), fieldOf("bidder", "")}, {"idles", Idles(in), fieldOf("bidder", "")},
		{"rates", Rates(in, broadcast), fieldOf("k", `"k`)}, {"sums", sums, nil}, {"amounts", amounts, amountKey},
	}
	text := functionsJob(testdata, paths)
	for _, o := range outputs {
		text += fmt.Sprintf("  %s: {from: %s, file: {path: out/%[1]s, format: json}}\n", o.name, strings.Replace(o.name, "amounts", "sums.amounts", 1))
	}
	return jobOf("functions", text, outputs), nil
}

func functionsJob(testdata string, paths [2]string) string {
	const sources = `sources:
  in:
    file: {path: %[1]s, format: json}
    schema: %[2]s
    event-time: t
    watermark: {max-out-of-orderness: 5s, emit: on-event}
  broadcast:
    file: {path: %[3]s, format: json}
    schema: %[2]s
    event-time: t
    watermark: {max-out-of-orderness: 5s}
steps:
  ledger: {from: in, key-by: [k], process: {wasm: p.ledger}}
  ticks: {from: in, key-by: [bidder], process: {wasm: p.tick, with: {gap: %[4]d}}}
  idles: {from: in, key-by: [bidder], process: {wasm: p.idle, with: {gap: %[4]d}}}
  rates: {from: in, key-by: [k], broadcast-process: {broadcast: broadcast, function: {wasm: p.rates}}}
  sums: {from: in, key-by: [k], process: {wasm: s.tally}}
sinks:
`
	return beginning(testdata, map[string]string{"p": "process-c", "s": "stores-c"}) + fmt.Sprintf(sources, paths[0], moveSchema, paths[1], patience)
}

// beginning is what each job file begins with.
func beginning(testdata string, modules map[string]string) string {
	text := "version: 1\nname: kill\nparallelism: 2\ncheckpoint: {dir: state, interval: 20ms}\nmodules:\n"
	for name, file := range modules {
		text += fmt.Sprintf("  %s: {file: %s}\n", name, filepath.Join(testdata, "wasm", file+".wasm"))
	}
	return text
}

// outputFile is a file in out, and what must be in it.
type outputFile struct {
	name string
	want told
	key  func(line string) int64 // nil: it is not known, and neither is the order
}

// jobOf is a job that writes outputs to files.
func jobOf(name, text string, outputs []outputFile) BoundedJob {
	j := BoundedJob{Name: name, Prepare: func(folder string) error {
		return errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "job.yaml"), []byte(text), 0o644))
	}}
	var names []string
	for _, o := range outputs {
		names = append(names, o.name)
		j.Whole = append(j.Whole, "out/"+o.name)
	}
	j.Check = func(folder string) error {
		if err := onlyThere(filepath.Join(folder, "out"), slices.Clone(names)...); err != nil {
			return err
		}
		var all error
		for _, o := range outputs {
			if err := o.check(filepath.Join(folder, "out", o.name)); err != nil {
				all = errors.Join(all, fmt.Errorf("%s: %w", o.name, err))
			}
		}
		return all
	}
	return j
}

// check holds a file against what must be in it.
func (o outputFile) check(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var want []string
	for _, lines := range o.want {
		want = append(want, lines...)
	}
	if len(want) == 0 {
		return errors.New("nothing is expected of it, which shows nothing")
	}
	if err := sameLines([]byte(strings.Join(want, "\n")+"\n"), text); err != nil || o.key == nil {
		return err
	}
	got := told{}
	for line := range strings.Lines(string(text)) {
		key := o.key(line)
		got[key] = append(got[key], strings.TrimSuffix(line, "\n"))
	}
	for key, lines := range o.want {
		if !slices.Equal(got[key], lines) {
			return fmt.Errorf("the lines of key %d are in another order: %.300q, want %.300q", key, got[key], lines)
		}
	}
	return nil
}

// fieldOf reads a field that is a number, or a text that ends in one.
func fieldOf(name, before string) func(string) int64 {
	return func(line string) (key int64) {
		_, rest, _ := strings.Cut(line, fmt.Sprintf("%q:%s", name, before))
		if _, err := fmt.Sscan(strings.TrimRight(rest[:strings.IndexAny(rest, `,}`)], `"`), &key); err != nil {
			return -1
		}
		return key
	}
}

// amountKey is the key that an amount is of.
func amountKey(line string) int64 { return fieldOf("n", "")(line) % keys }
