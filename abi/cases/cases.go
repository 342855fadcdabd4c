package cases

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// testCase is a case of a cases.txt, whose language udfs/README.md describes.
type testCase struct {
	name     string
	function int
	open     step
	steps    []step
	cells    int // how many there are of states and accumulators
}

// step is one op of a case.
type step struct {
	line    int
	kind    uint16
	text    string
	cells   []int // the op's slots
	second  []int // of merge
	row     []byte
	context *caseContext
	owner   int   // whose list and map states it has, of a key
	window  int   // of a window
	merged  []int // of the windows that were merged into its own
	begins  map[int][]byte
	effects []wantedEffect
	holds   []Held
	fails   bool
	message string
}

// caseContext is what an op is about.
type caseContext struct {
	bytes                  int
	time, watermark, clock int64
	key, second            []byte
	detail                 uint32
	start, end             int64
	elements               []element
	merged                 [][]int
	schemas                []byte // of open: it stands for the context
}

// element is a record of a window's content.
type element struct {
	time  int64
	row   []byte
	input uint32
}

// wantedEffect is an effect that an op must have.
type wantedEffect struct {
	kind    uint32
	aux     uint32
	payload []byte
}

// reader reads a cases.txt line by line.
type reader struct {
	m     *Manifest
	f     *Function
	cases []testCase
	now   setting
}

// setting is what lines set for the ops that follow them in a case.
type setting struct {
	c                *testCase
	index            int // of the function
	watermark, clock int64
	key              string
	keyRow           []byte
	start, end       int64
	elements         []element
	merged           [][2]int64
	input, second    *Schema // what they are where the manifest has any
	opened           string  // the parameters
	cellOf           map[string]int
	owners           map[string]int
	ownersCount      int
}

// Vectors makes vectors of a cases.txt: of each case one with as many ops in a frame as can be, and one with a frame for
// each op, since a function must not notice the difference.
func Vectors(m *Manifest, text []byte) ([]Vector, error) {
	r := &reader{m: m}
	for i, line := range strings.Split(string(text), "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "" || strings.HasPrefix(word, "#") {
			continue
		}
		if err := r.line(i+1, word, rest); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	var list []Vector
	for i := range r.cases {
		list = append(list, r.cases[i].vectors(m.Functions[r.cases[i].function])...)
	}
	return list, nil
}

// vectors are those of a case.
func (c *testCase) vectors(f *Function) []Vector {
	l := layout{f: f, c: c}
	v := Vector{Name: c.name, Function: c.function, Words: c.words(f)}
	last := &c.open
	if len(c.steps) > 0 {
		last = &c.steps[len(c.steps)-1]
	}
	if last.fails {
		v.Fault, v.Message = "failed", last.message
	}
	v.Frames = l.frames(len(c.steps))
	if len(c.steps) == 0 {
		return []Vector{v}
	}
	single := v
	single.Name += " (a frame for each op)"
	single.Frames = l.frames(1)
	return []Vector{v, single}
}

func (r *reader) line(number int, word, rest string) error {
	switch {
	case word == "function":
		i := r.m.functionIndex(rest)
		if i < 0 {
			return fmt.Errorf("no function %q in the manifest; %s", rest, there(r.m.Functions, func(f *Function) string { return f.Name }))
		}
		err := r.finish()
		r.f, r.now.index = r.m.Functions[i], i
		return err
	case r.f == nil:
		return fmt.Errorf("%q before `function`", word)
	case word == "case":
		err := r.finish()
		r.now = setting{
			c: &testCase{name: rest, function: r.now.index}, index: r.now.index, opened: "{}",
			watermark: math.MinInt64, start: math.MinInt64, end: math.MinInt64,
			input: r.f.Input, second: r.f.SecondInput, cellOf: map[string]int{}, owners: map[string]int{},
		}
		return err
	case r.now.c == nil:
		return fmt.Errorf("%q before `case`", word)
	}
	return r.inCase(number, word, rest)
}

// finish keeps the case that was read: only then is all known that its opening has.
func (r *reader) finish() (err error) {
	c := r.now.c
	if c == nil {
		return nil
	}
	open := &c.open
	open.kind, open.text = opOpen, "open"
	if open.row, err = parametersRow(r.f, r.now.opened); err != nil {
		return fmt.Errorf("case %s: %w", c.name, err)
	}
	if r.f.Input.any() || r.f.SecondInput.any() {
		open.context = &caseContext{schemas: schemasText(r.now.input, r.now.second)}
	}
	r.cases = append(r.cases, *c)
	r.now.c = nil
	return nil
}

func (r *reader) inCase(number int, word, rest string) (err error) {
	n := &r.now
	last := &n.c.open
	if len(n.c.steps) > 0 {
		last = &n.c.steps[len(n.c.steps)-1]
	}
	switch word {
	case "open":
		n.opened = rest
	case "input":
		n.input, err = readSchema(rest)
	case "second":
		n.second, err = readSchema(rest)
	case "schema":
		return r.schemaAnswer(rest)
	case "fail":
		last.fails, last.message = true, rest
	case "watermark":
		err = whole(word, rest, &n.watermark)
	case "clock":
		err = whole(word, rest, &n.clock)
	case "window":
		err = whole(word, rest, &n.start, &n.end)
	case "merged":
		var w [2]int64
		err = whole(word, rest, &w[0], &w[1])
		n.merged = append(n.merged, w)
	case "key":
		n.key, n.keyRow = rest, nil
		if len(r.f.Key.fields()) > 0 {
			n.keyRow, err = encodeRow(r.f.Key, rest)
		}
	case "element", "second-element":
		return r.element(word, rest)
	case "=>":
		var e wantedEffect
		e, err = r.effect(rest)
		last.effects = append(last.effects, e)
	case "state":
		return r.state(last, rest)
	case "slot":
		return r.slot(last, rest)
	default:
		return r.op(number, word, rest)
	}
	return err
}

func (r *reader) schemaAnswer(rest string) error {
	number, text, _ := strings.Cut(rest, " ")
	output, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return fmt.Errorf("schema: %q is no number of an output", number)
	}
	s, err := readSchema(text)
	r.now.c.open.effects = append(r.now.c.open.effects, wantedEffect{kind: effectSchema, aux: uint32(output), payload: schemaText(s)})
	return err
}

func (r *reader) element(word, rest string) error {
	e := element{time: math.MinInt64}
	schema := r.now.input
	if word == "second-element" {
		e.input, schema = 1, r.now.second
	}
	rest, err := cutTime(rest, &e.time)
	if err == nil {
		e.row, err = encodeRow(schema, rest)
	}
	r.now.elements = append(r.now.elements, e)
	return err
}

// cell is the number of a cell: of a state by its owner, of an accumulator by its slot.
func (n *setting) cell(name string) int {
	i, ok := n.cellOf[name]
	if !ok {
		i = n.c.cells
		n.cellOf[name] = i
		n.c.cells++
	}
	return i
}

// group is the cells of an op's states.
func (r *reader) group(start, end int64) (cells []int) {
	for _, s := range r.f.States {
		if !s.inSlot() || s.isBroadcast() {
			continue
		}
		cells = append(cells, r.now.cell(r.cellName(s, start, end)))
	}
	return cells
}

func (r *reader) cellName(s *State, start, end int64) string {
	if s.scope() == "window" {
		return fmt.Sprint(s.Name, " of ", r.now.key, start, end)
	}
	return s.Name + " of " + r.now.key
}

// forget takes away what a window's states hold: the next op of the window gets new cells.
func (r *reader) forget(start, end int64) {
	for _, s := range r.f.States {
		if s.scope() == "window" {
			delete(r.now.cellOf, r.cellName(s, start, end))
		}
	}
	delete(r.now.owners, r.windowName(start, end))
}

func (r *reader) state(last *step, rest string) error {
	name, rest, _ := strings.Cut(rest, " ")
	i := slices.IndexFunc(r.f.States, func(s *State) bool { return s.Name == name })
	if i < 0 {
		return fmt.Errorf("the function has no state %q; %s", name, there(r.f.States, func(s *State) string { return s.Name }))
	}
	s := r.f.States[i]
	h := Held{State: i, Owner: r.owner(s.isBroadcast()), Entries: [][2]Hex{}}
	if s.scope() == "window" {
		h.Owner = r.numbered(r.windowName(r.now.start, r.now.end))
	}
	if s.inSlot() {
		// Of a window whose states were taken away, it is a cell that no op had.
		c := r.now.cell(r.cellName(s, r.now.start, r.now.end))
		h = Held{Cell: &c, Entries: h.Entries}
	}
	h.Name, h.Value = "state "+name, s.Value
	if s.Kind == "map" {
		h.Key = s.Key
	}
	entries, err := readEntries(s, rest)
	h.Entries = append(h.Entries, entries...)
	last.holds = append(last.holds, h)
	return err
}

// owner numbers the keys of list and map states; 0 is that of broadcast state.
func (r *reader) owner(broadcast bool) int {
	if broadcast {
		return 0
	}
	return r.numbered(r.now.key)
}

// numbered gives keys, and windows of keys, numbers.
func (r *reader) numbered(name string) int {
	if _, ok := r.now.owners[name]; !ok {
		r.now.ownersCount++
		r.now.owners[name] = r.now.ownersCount
	}
	return r.now.owners[name]
}

func (r *reader) windowName(start, end int64) string {
	return fmt.Sprint("window of ", r.now.key, start, end)
}

// callsOfWindows tells whether the function has list or map states of windows.
func (r *reader) callsOfWindows() bool {
	return slices.ContainsFunc(r.f.States, func(s *State) bool { return !s.inSlot() && s.scope() == "window" })
}

func (r *reader) slot(last *step, rest string) error {
	number, rest, _ := strings.Cut(rest, " ")
	row, err := encodeRow(r.now.input, rest)
	if err != nil {
		return err
	}
	_, used := r.now.cellOf[number]
	c := r.now.cell(number)
	if used {
		h := Held{Cell: &c, Entries: [][2]Hex{{nil, row}}, Name: "slot " + number, Value: r.now.input}
		last.holds = append(last.holds, h)
		return nil
	}
	if r.now.c.open.begins == nil {
		r.now.c.open.begins = map[int][]byte{}
	}
	r.now.c.open.begins[c] = row
	return nil
}
