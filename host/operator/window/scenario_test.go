package window_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"golang.org/x/tools/txtar"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

// conformance is where the scenarios are, if they are there.
const conformance = "../../../../shared/conformance"

// TestScenarios plays the scenarios with one windowed step, written by real
// Flink, on the core with the plain machine of these tests.
func TestScenarios(t *testing.T) {
	dir := conformance
	if d := os.Getenv("WASMSTREAM_CONFORMANCE"); d != "" {
		dir = d
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the conformance scenarios are not here")
	}
	played, left := 0, 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".scenario" {
			return err
		}
		for _, m := range modes {
			if m.restart && strings.Contains(path, "restart-sensitive") {
				continue
			}
			if err = playFile(path, m); err != nil {
				break
			}
		}
		switch {
		case errors.Is(err, errNotWindows):
			left++
		case err != nil:
			t.Errorf("%s: %v", path, err)
		default:
			played++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d played, %d have no windows or more than one step of them", played, left)
}

// mode is a way of playing that must not matter.
type mode struct {
	steady  bool // SetTimer is left out where SteadyTimers says so
	restart bool // after every action
}

var modes = []mode{{}, {steady: true}, {restart: true}, {steady: true, restart: true}}

var errNotWindows = errors.New("not a job with one windowed step")

// player drives one job.
type player struct {
	*plan
	step         tree
	name         string
	join         bool
	left, right  string // of a join: the sources
	sources      tree
	route        map[string]hop  // of a source
	inner        []*stream.Valve // the unions before the step
	valve        *stream.Valve   // of the step
	outer        []int           // the channel of each union at the step
	ended        map[string]bool
	restartEvery bool
	watermarks   map[string]stream.EventTime // the greatest of each source
	idle         map[string]bool
	sinks        map[string]string // by output: the step's name, or with .late
	m            *machine[tree]
	dropped      int
	out          []string
	err          error
	saved        map[string]snapshot
}

type hop struct{ union, channel int } // union -1: the step itself

type snapshot struct {
	m     *machine[tree]
	ended map[string]bool
}

func playFile(path string, m mode) error {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return err
	}
	var job tree
	if err := yaml.Unmarshal(archive.Files[0].Data, &job); err != nil {
		return err
	}
	p, err := newPlayer(job)
	if err != nil {
		return err
	}
	p.err = p.Validate()
	if p.err == nil {
		p.m = newMachine[tree](p.Options)
		p.m.steady, p.restartEvery = m.steady, m.restart
		p.bind()
		p.connect()
	}
	before := strings.Count(string(archive.Comment), "\n") + strings.Count(string(archive.Files[0].Data), "\n") + 2
	for i, line := range strings.Split(string(archive.Files[1].Data), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := p.line(line); err != nil {
			return fmt.Errorf("line %d: %s: %w", before+i+1, line, err)
		}
	}
	return p.settle()
}

func newPlayer(job tree) (*player, error) {
	p := &player{sources: sub(job["sources"]), saved: map[string]snapshot{}, ended: map[string]bool{}, sinks: map[string]string{}}
	unions := tree{}
	for name, s := range sub(job["steps"]) {
		s := sub(s)
		switch {
		case s["window"] == nil && s["interval-join"] == nil:
			unions[name] = s["from"]
		case s["window"] == nil || p.step != nil:
			return nil, errNotWindows
		default:
			p.name, p.step, p.plan = name, s, newPlan(sub(s["window"]))
		}
	}
	if p.step == nil {
		return nil, errNotWindows
	}
	for name, s := range sub(job["sinks"]) {
		p.sinks[str(sub(s)["from"])] = name
	}
	var inputs any = p.step["from"]
	if j := sub(p.step["window-join"]); j != nil {
		p.join, p.left, p.right = true, str(j["left"]), str(j["right"])
		inputs = []any{p.left, p.right}
	}
	return p, p.wire(inputs, unions)
}

// wire lays out which channels the sources are.
func (p *player) wire(inputs any, unions tree) error {
	p.route = map[string]hop{}
	for channel, from := range list(inputs) {
		members, ok := unions[from]
		if !ok {
			p.route[from] = hop{-1, channel}
			continue
		}
		for i, source := range list(members) {
			if p.sources[source] == nil {
				return errNotWindows
			}
			p.route[source] = hop{len(p.outer), i}
		}
		p.outer = append(p.outer, channel)
		p.inner = append(p.inner, stream.NewValve(len(list(members)), stream.CombineRules{}))
	}
	p.valve = stream.NewValve(len(list(inputs)), stream.CombineRules{})
	return nil
}

func list(v any) (names []string) {
	if s := str(v); s != "" {
		return []string{s}
	}
	for _, x := range v.([]any) {
		names = append(names, str(x))
	}
	return names
}

// connect begins all watermarks anew.
func (p *player) connect() {
	p.watermarks, p.idle = map[string]stream.EventTime{}, map[string]bool{}
	p.valve = stream.NewValve(len(p.channels()), stream.CombineRules{})
	for u := range p.inner {
		n := 0
		for _, h := range p.route {
			if h.union == u {
				n++
			}
		}
		p.inner[u] = stream.NewValve(n, stream.CombineRules{})
	}
}

func (p *player) channels() map[int]bool {
	c := map[int]bool{}
	for _, h := range p.route {
		if h.union < 0 {
			c[h.channel] = true
		} else {
			c[p.outer[h.union]] = true
		}
	}
	return c
}

func (p *player) bind() {
	p.m.fire = p.put
	p.m.late = func(r record[tree]) {
		if p.late == "" {
			p.dropped++
			return
		}
		if sink := p.sinks[p.name+"."+p.late]; sink != "" {
			p.out = append(p.out, show(sink, str(r.row["\x00kind"]), r.row, r.Time))
		}
	}
}

// parse reads a row: whole numbers are int64, others float64.
func parse(text string) tree {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var row tree
	if err := d.Decode(&row); err != nil {
		panic(err)
	}
	for k, v := range row {
		if n, ok := v.(json.Number); ok {
			if i, err := n.Int64(); err == nil {
				row[k] = i
			} else {
				row[k], _ = n.Float64()
			}
		}
	}
	return row
}

// show writes a row in one way.
func show(sink, kind string, row tree, t stream.EventTime) string {
	row = maps.Clone(row)
	maps.DeleteFunc(row, func(k string, v any) bool { return v == nil || k[0] == 0 })
	text, _ := json.Marshal(row)
	return fmt.Sprintf("%s %s %s @%v", sink, kind, text, t)
}

func (p *player) put(_ string, w window.Window, records []record[tree]) {
	base := tree{}
	if w != window.Global {
		base["window_start"], base["window_end"] = w.Start, w.End
	}
	sink := p.sinks[p.name]
	t := stream.EventTime(w.MaxTimestamp())
	if p.join {
		for _, row := range p.pairs(records) {
			maps.Copy(row, base)
			p.out = append(p.out, show(sink, "+I", row, t))
		}
		return
	}
	var rows []tree
	for _, r := range records {
		rows = append(rows, r.row)
	}
	for _, k := range list(p.step["key-by"]) {
		base[k] = rows[0][k]
	}
	for name, spec := range sub(p.step["aggregate"]) {
		base[name] = fold(str(spec), rows)
	}
	p.out = append(p.out, show(sink, "+I", base, t))
}

// pairs is the join of a firing.
func (p *player) pairs(records []record[tree]) (rows []tree) {
	var sides [2][]tree
	for _, r := range records {
		side, prefix := 0, "left_"
		if r.row["\x00source"] == p.right {
			side, prefix = 1, "right_"
		}
		row := tree{}
		for k, v := range r.row {
			if k[0] != 0 {
				row[prefix+k] = v
			}
		}
		sides[side] = append(sides[side], row)
	}
	kind := str(sub(p.step["window-join"])["type"])
	if len(sides[0]) == 0 && (kind == "right" || kind == "full") {
		return sides[1]
	}
	if len(sides[1]) == 0 && (kind == "left" || kind == "full") {
		return sides[0]
	}
	for _, l := range sides[0] {
		for _, r := range sides[1] {
			row := maps.Clone(l)
			maps.Copy(row, r)
			rows = append(rows, row)
		}
	}
	return rows
}

// settle says that an action's claims are complete.
func (p *player) settle() error {
	if p.err != nil {
		return fmt.Errorf("failed: %w", p.err)
	}
	if len(p.out) > 0 {
		return fmt.Errorf("not wanted: %s", strings.Join(p.out, "; "))
	}
	return nil
}

var (
	emitLine = regexp.MustCompile(`^(?:emit|want) (\S+) (?:([+-][IUD]) )?(\{.*\})(?: @(\S+))?$`)
	words    = strings.Fields
)

func (p *player) line(line string) error {
	w := words(line)
	switch w[0] {
	case "want":
		return p.want(line)
	case "want-error":
		if p.err == nil || !strings.Contains(p.err.Error(), strings.TrimPrefix(line, "want-error ")) {
			return fmt.Errorf("the error is %v", p.err)
		}
		p.err, p.out = nil, nil
		return nil
	case "want-watermark":
		if got := p.m.now.Watermark.String(); got != w[2] {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	case "want-late-dropped":
		if fmt.Sprint(p.dropped) != w[2] {
			return fmt.Errorf("it is %d", p.dropped)
		}
		return nil
	}
	if err := p.settle(); err != nil {
		return fmt.Errorf("before it: %w", err)
	}
	if p.err = p.act(w, line); p.err == nil && p.restartEvery {
		p.err = p.again()
	}
	return nil
}

// again restarts the job and says all watermarks and idle sources once more.
func (p *player) again() error {
	watermarks, idle := p.watermarks, p.idle
	errs := []error{p.restore(snapshot{p.m, p.ended})}
	for source, t := range watermarks {
		errs = append(errs, p.watermark(source, t))
	}
	for source := range idle {
		errs = append(errs, p.status(source, true))
	}
	return errors.Join(errs...)
}

func moment(s string) int64 {
	switch s {
	case "max":
		return int64(stream.MaxTime)
	case "min", "":
		return int64(stream.MinTime)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (p *player) want(line string) error {
	m := emitLine.FindStringSubmatch(line)
	row := parse(m[3])
	if m[2] == "" {
		m[2] = "+I"
	}
	text := show(m[1], m[2], row, stream.EventTime(moment(m[4])))
	i := slices.Index(p.out, text)
	if i < 0 {
		return fmt.Errorf("the outputs are %q", p.out)
	}
	p.out = slices.Delete(p.out, i, i+1)
	return nil
}

func (p *player) act(w []string, line string) error {
	switch w[0] {
	case "emit":
		return p.emit(line)
	case "watermark":
		return p.watermark(w[1], stream.EventTime(moment(w[2])))
	case "idle", "active":
		return p.status(w[1], w[0] == "idle")
	case "clock":
		return p.m.clock(moment(w[1]))
	case "checkpoint":
		p.saved[w[1]] = snapshot{p.m.copy(), maps.Clone(p.ended)}
		return nil
	case "restore", "restart":
		s := snapshot{p.m, p.ended}
		if w[0] == "restore" {
			s = p.saved[w[1]]
		}
		return p.restore(s)
	case "end":
		p.ended[w[1]] = true
		if err := errors.Join(p.status(w[1], false), p.watermark(w[1], stream.MaxTime)); err != nil {
			return err
		}
		if len(p.ended) == len(p.sources) {
			p.m.dropClock()
		}
		return nil
	}
	return fmt.Errorf("unknown action %s", line)
}

func (p *player) restore(s snapshot) error {
	clock := p.m.now.Clock
	p.m, p.ended = s.m.copy(), maps.Clone(s.ended)
	p.bind()
	p.connect()
	if err := p.m.restore(clock); err != nil {
		return err
	}
	for source := range p.ended {
		if err := p.watermark(source, stream.MaxTime); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) emit(line string) error {
	m := emitLine.FindStringSubmatch(line)
	row := parse(m[3])
	e := window.Element{Time: stream.EventTime(moment(m[4]))}
	if f := str(sub(p.sources[m[1]])["event-time"]); f != "" && m[4] == "" && row[f] != nil {
		e.Time = stream.EventTime(row[f].(int64))
	}
	if m[2] == "" {
		m[2] = "+I"
	}
	e.Gap, _ = row[p.gap].(int64)
	e.Value = number(row[p.delta])
	keys := p.step["key-by"]
	if p.join {
		keys = sub(p.step["window-join"])["left-key"]
		if m[1] == p.right {
			keys = sub(p.step["window-join"])["right-key"]
		}
	}
	key := ""
	for _, k := range list(keys) {
		key += fmt.Sprint(row[k], "\x00")
	}
	row["\x00kind"], row["\x00source"] = m[2], m[1]
	return p.m.element(key, e, row)
}

func (p *player) watermark(source string, t stream.EventTime) error {
	h := p.route[source]
	if last, ok := p.watermarks[source]; !p.idle[source] && (!ok || t > last) {
		p.watermarks[source] = t
	}
	if h.union < 0 {
		return p.forward(p.valve.Advance(h.channel, t))
	}
	return p.pass(h.union, p.inner[h.union].Advance(h.channel, t))
}

func (p *player) status(source string, idle bool) error {
	h := p.route[source]
	if delete(p.idle, source); idle {
		p.idle[source] = true
	}
	if h.union < 0 {
		return p.forward(turn(p.valve, h.channel, idle))
	}
	return p.pass(h.union, turn(p.inner[h.union], h.channel, idle))
}

func turn(v *stream.Valve, channel int, idle bool) stream.ValveOutput {
	if idle {
		return v.SetIdle(channel)
	}
	return v.SetActive(channel)
}

// pass hands what a union puts out to the step.
func (p *player) pass(union int, out stream.ValveOutput) error {
	v := p.inner[union]
	var errs []error
	if out.StatusChange && !v.Idle() {
		errs = append(errs, p.forward(p.valve.SetActive(p.outer[union])))
	}
	if out.Advanced {
		errs = append(errs, p.forward(p.valve.Advance(p.outer[union], out.Watermark)))
	}
	if out.StatusChange && v.Idle() {
		errs = append(errs, p.forward(p.valve.SetIdle(p.outer[union])))
	}
	return errors.Join(errs...)
}

func (p *player) forward(out stream.ValveOutput) error {
	if !out.Advanced {
		return nil
	}
	return p.m.advance(out.Watermark)
}
