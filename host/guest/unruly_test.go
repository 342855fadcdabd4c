package guest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/operator/process"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// unruly is a case: a function of udfs/unruly that does `how` at ops of a kind whose value
// is 13, and what that must end in; no fault: it is allowed.
type unruly struct {
	function string
	kind     abi.OpKind
	how      int
	fault    abi.FaultKind
}

// kindsOf are the kinds of ops that have a value, by function.
var kindsOf = []struct {
	function string
	kinds    []abi.OpKind
}{
	{"map", []abi.OpKind{abi.OpOnRecord}}, {"filter", []abi.OpKind{abi.OpOnRecord}}, {"flat-map", []abi.OpKind{abi.OpOnRecord}},
	{"key", []abi.OpKind{abi.OpOnRecord}}, {"timestamp", []abi.OpKind{abi.OpOnRecord}},
	{"aggregate", []abi.OpKind{abi.OpAdd, abi.OpResult, abi.OpMerge}}, {"reduce", []abi.OpKind{abi.OpReduce}},
	{"apply", []abi.OpKind{abi.OpOnWindow, abi.OpClear}}, {"assigner", []abi.OpKind{abi.OpAssign}},
	{"trigger", []abi.OpKind{abi.OpOnElement, abi.OpOnEventTime, abi.OpOnProcessingTime, abi.OpOnMerge, abi.OpClear}},
	{"evictor", []abi.OpKind{abi.OpEvict}}, {"process", []abi.OpKind{abi.OpOnRecord, abi.OpOnTimer}},
	{"co-process", []abi.OpKind{abi.OpOnRecord, abi.OpOnSecond, abi.OpOnTimer}},
	{"broadcast-process", []abi.OpKind{abi.OpOnRecord, abi.OpOnBroadcast, abi.OpOnTimer, abi.OpOnKey}},
	{"join", []abi.OpKind{abi.OpOnPair}}, {"co-group", []abi.OpKind{abi.OpOnGroup}},
	{"enrich", []abi.OpKind{abi.OpOnRecord, abi.OpOnAnswer}}, {"decode", []abi.OpKind{abi.OpDecode}},
	{"encode", []abi.OpKind{abi.OpEncode}}, {"process-text", []abi.OpKind{abi.OpOnRecord}},
}

// whatever the kind of op: traps, failures, answers that are none, memory; effects for ops,
// slots and domains that there are not; states that the function does not have.
var anywhere = map[int]abi.FaultKind{
	1: abi.FaultTrap, 2: abi.FaultFailed, 3: abi.FaultBadEffect, 4: abi.FaultBadEffect, 5: abi.FaultBadOp, 6: abi.FaultBadOp,
	10: abi.FaultBadEffect, 16: abi.FaultBadEffect, 44: abi.FaultBadSlot, 60: abi.FaultBadState, 13: abi.FaultBadEffects, 14: abi.FaultBadEffects, 15: abi.FaultBadEffects,
	100: abi.FaultBadEffects, 101: abi.FaultBadEffects, 102: abi.FaultBadEffects, 103: abi.FaultTooLarge, 104: abi.FaultTooDeep,
	105: abi.FaultTrap, 106: abi.FaultTrap, 107: abi.FaultBadPointer, 108: 0, 109: 0, 110: abi.FaultFailed, 111: 0,
}

// what is wrong in some roles only.
func particular() (list []unruly) {
	add := func(function string, kind abi.OpKind, fault abi.FaultKind, hows ...int) {
		for _, how := range hows {
			list = append(list, unruly{function, kind, how, fault})
		}
	}
	for _, of := range kindsOf {
		for _, kind := range of.kinds {
			emits := !slices.Contains([]string{"filter", "timestamp", "reduce", "assigner", "trigger", "evictor"}, of.function) &&
				!slices.Contains([]abi.OpKind{abi.OpAdd, abi.OpMerge, abi.OpClear, abi.OpOnKey}, kind)
			if !emits {
				add(of.function, kind, abi.FaultBadEffect, 20, 29)
				continue
			}
			add(of.function, kind, abi.FaultBadRow, 20, 21, 22, 23, 24, 25, 26, 27, 28, 30)
			add(of.function, kind, abi.FaultBadEffect, 29)
			if slices.Contains([]string{"map", "key", "encode", "aggregate"}, of.function) {
				add(of.function, kind, abi.FaultBadAnswer, 31, 32)
			} else {
				add(of.function, kind, 0, 31, 32)
			}
		}
	}
	// Bytes need not be UTF-8.
	list = slices.DeleteFunc(list, func(u unruly) bool { return u.function == "encode" && u.how == 23 })
	add("encode", abi.OpEncode, 0, 23)
	for _, function := range []string{"map", "key", "join", "decode", "encode"} {
		add(function, kindOf(function), abi.FaultBadEffect, 7, 8, 11, 12)
	}
	for _, function := range []string{"process", "co-process", "broadcast-process"} {
		add(function, abi.OpOnRecord, abi.FaultBadEffect, 7, 8, 11, 12, 17, 18)
		add(function, abi.OpOnTimer, abi.FaultBadEffect, 7)
		add(function, abi.OpOnRecord, abi.FaultBadRow, 40, 41, 42, 49, 64, 65, 67)
		add(function, abi.OpOnRecord, abi.FaultBadEffect, 43, 48)
		add(function, abi.OpOnRecord, abi.FaultBadState, 61, 62, 66, 69)
		add(function, abi.OpOnRecord, abi.FaultBadPointer, 63, 68)
		add(function, abi.OpOnRecord, abi.FaultFailed, 70)
		add(function, abi.OpOnRecord, 0, 73)
		add(function, abi.OpOnTimer, abi.FaultTrap, 71)
	}
	// Timers, and reads of slots, where there are none to be had.
	for _, of := range kindsOf {
		for _, kind := range of.kinds {
			touches, timers := has(of.function, kind)
			if !timers {
				add(of.function, kind, abi.FaultBadEffect, 9)
			}
			if touches {
				add(of.function, kind, abi.FaultBadSlot, 47)
			} else {
				add(of.function, kind, abi.FaultBadEffect, 47)
			}
		}
	}
	add("broadcast-process", abi.OpOnBroadcast, abi.FaultBadState, 72)
	add("broadcast-process", abi.OpOnBroadcast, abi.FaultBadAnswer, 96)
	add("broadcast-process", abi.OpOnKey, abi.FaultBadEffect, 11)
	add("process-text", abi.OpOnRecord, abi.FaultBadRow, 45, 46, 50)
	add("aggregate", abi.OpAdd, abi.FaultBadRow, 40, 41, 42)
	add("reduce", abi.OpReduce, abi.FaultBadRow, 40, 41, 42, 49)
	add("reduce", abi.OpReduce, abi.FaultBadEffect, 43)
	add("trigger", abi.OpOnElement, abi.FaultBadEffect, 7, 17, 18, 80, 82, 83)
	add("trigger", abi.OpOnEventTime, abi.FaultBadAnswer, 81)
	add("trigger", abi.OpClear, abi.FaultBadEffect, 12)
	add("trigger", abi.OpOnMerge, abi.FaultBadEffect, 12)
	add("assigner", abi.OpAssign, abi.FaultBadEffect, 83, 84, 85)
	add("evictor", abi.OpEvict, abi.FaultBadEffect, 86, 87, 88)
	add("timestamp", abi.OpOnRecord, abi.FaultBadAnswer, 32, 89, 90)
	add("timestamp", abi.OpOnRecord, abi.FaultBadEffect, 91)
	add("filter", abi.OpOnRecord, abi.FaultBadAnswer, 92)
	add("filter", abi.OpOnRecord, abi.FaultBadEffect, 93)
	add("enrich", abi.OpOnRecord, abi.FaultBadRow, 94, 97)
	add("enrich", abi.OpOnRecord, abi.FaultBadAnswer, 95)
	add("enrich", abi.OpOnAnswer, abi.FaultBadEffect, 95)
	add("map", abi.OpOnRecord, abi.FaultOutOfFuel, 112)
	add("process", abi.OpOnTimer, abi.FaultOutOfFuel, 112)
	return list
}

// has tells whether an op may touch slots, and set timers.
func has(function string, kind abi.OpKind) (touches, timers bool) {
	switch kind {
	case abi.OpOnRecord:
		isKeyed := strings.HasSuffix(function, "process") || function == "process-text"
		return isKeyed, isKeyed
	case abi.OpOnSecond, abi.OpOnTimer, abi.OpOnElement, abi.OpOnEventTime, abi.OpOnProcessingTime, abi.OpOnMerge:
		return true, true
	case abi.OpOnWindow, abi.OpOnKey, abi.OpClear:
		return true, false
	}
	return false, false
}

func kindOf(function string) abi.OpKind {
	for _, of := range kindsOf {
		if of.function == function {
			return of.kinds[0]
		}
	}
	panic("no function " + function)
}

// wished is an op that is to be performed.
type wished struct {
	kind          abi.OpKind
	group, second uint32
	n             int64
	isBad         bool
}

// wishes are ops of a kind, the middle one with the value 13; of an aggregate, all that it takes.
func wishes(u unruly) (list []wished) {
	if u.function == "aggregate" {
		for g := range uint32(4) {
			list = append(list, wished{kind: abi.OpCreate, group: g})
		}
		for g, n := range []int64{7, 6, 5, 20} {
			list = append(list, wished{kind: abi.OpAdd, group: uint32(g), n: n})
		}
		return append(list,
			wished{kind: abi.OpAdd, group: 1, n: 7}, // now it holds 13
			wished{kind: abi.OpAdd, group: 0, n: 13, isBad: u.kind == abi.OpAdd},
			wished{kind: abi.OpResult, group: 2},
			wished{kind: abi.OpResult, group: 1, isBad: u.kind == abi.OpResult},
			wished{kind: abi.OpMerge, group: 1, second: 3, isBad: u.kind == abi.OpMerge},
			wished{kind: abi.OpResult, group: 0}, wished{kind: abi.OpAdd, group: 2, n: 1}, wished{kind: abi.OpResult, group: 2})
	}
	for i := range 9 {
		w := wished{kind: u.kind, group: uint32(i % 3), n: int64(i + 1)}
		if i == 4 {
			w.n, w.isBad = 13, true
			if u.kind != abi.OpOnMerge {
				w.group = 3 // no later op mends its slot
			}
		}
		list = append(list, w)
	}
	return list
}

// ledger is a role that writes down what happens, with all states that there are.
type ledger struct {
	wishes   []wished
	slots    map[string][]byte
	states   *process.States
	entries  []state.Ref
	from, to int
	lines    map[int][]string
	faults   map[int]abi.FaultKind
}

func (l *ledger) Load(dst []byte, group uint32, i int) []byte {
	return append(dst, l.slots[fmt.Sprint(group, " ", i)]...)
}

func (l *ledger) Store(group uint32, i int, row stream.Row) error {
	l.slots[fmt.Sprint(group, " ", i)] = bytes.Clone(row)
	return nil
}

func (l *ledger) Take(i int, e abi.Effect) error {
	l.lines[i] = append(l.lines[i], fmt.Sprintf("%s %d %x", e.Kind, e.Aux, e.Payload))
	return nil
}

func (l *ledger) Done(int) error { return nil }

func (l *ledger) Fault(i int, err error) error {
	l.faults[i] = guest.KindOf(err)
	return nil
}

func (l *ledger) Begin(from, to int) { l.from, l.to = from, to }

func (l *ledger) End(sound bool) {
	if sound {
		l.states.Keep()
	} else {
		l.states.Undo()
	}
	l.from, l.to = 0, 0
}

func (l *ledger) subject(op uint32) (process.Subject, bool) {
	if uint64(op) >= uint64(l.to-l.from) {
		return process.Subject{}, false
	}
	w := l.wishes[l.from+int(op)]
	broadcast := w.kind == abi.OpOnBroadcast
	return process.Subject{Entry: l.entries[w.group], Keyed: !broadcast, Writes: broadcast}, true
}

// newLedger makes the states of a function, and an entry for each group.
func newLedger(f *abi.Function) *ledger {
	l := &ledger{slots: map[string][]byte{}, lines: map[int][]string{}, faults: map[int]abi.FaultKind{}}
	var list []process.State
	for _, s := range f.GetStates() {
		d := process.State{InSlot: s.InSlot(), Value: schemaOf(s.GetValue()), Shared: s.ScopeOrDefault() == abi.ScopeBroadcast}
		if len(s.GetKey().GetFields()) > 0 {
			d.Key = schemaOf(s.GetKey())
		}
		list = append(list, d)
	}
	backend := state.NewMemory(128, process.Cells(list)...)
	l.states = process.New(backend, list, l.subject)
	for g := range 4 {
		key := row(schema("BIGINT"), g)
		l.entries = append(l.entries, backend.Entry(key.Hash(), key, state.Namespace{}))
	}
	return l
}

func schemaOf(s *abi.Schema) *stream.Schema {
	out, err := stream.ParseSchemaText(s.Text())
	if err != nil {
		panic(err)
	}
	return out
}

// content is all that slots and states hold.
func (l *ledger) content(f *abi.Function) string {
	var lines []string
	for name, row := range l.slots {
		if len(row) > 0 {
			lines = append(lines, fmt.Sprintf("slot %s: %x", name, row))
		}
	}
	slices.Sort(lines)
	for i, s := range f.GetStates() {
		for g := range uint32(4) {
			if s.InSlot() {
				continue
			}
			l.wishes, l.from, l.to = []wished{{kind: abi.OpOnRecord, group: g}}, 0, 1
			into := make([]byte, 4096)
			n, err := l.states.Scan(0, uint32(i), nil, into)
			lines = append(lines, fmt.Sprintf("%s of %d: %x %v", s.GetName(), g, into[:n], err))
		}
	}
	return strings.Join(lines, "\n")
}

// outcome is what became of ops, without those that are left out.
func (l *ledger) outcome(f *abi.Function, list []wished) string {
	var b strings.Builder
	for i, w := range list {
		if !w.isBad {
			fmt.Fprintf(&b, "%v %d of %d: %q\n", w.kind, w.n, w.group, l.lines[i])
		}
	}
	return b.String() + l.content(f)
}

// playUnruly has ops performed in as few frames as may be.
func playUnruly(t *testing.T, m *sandbox.Module, u unruly, list []wished) *ledger {
	t.Helper()
	index := m.Manifest().FunctionIndex(u.function)
	f := m.Manifest().GetFunctions()[index]
	i, err := m.Instantiate(context.Background(), sandbox.InstanceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	}()
	l := newLedger(f)
	l.wishes = list
	i.CallStates(l.states)
	c := guest.NewCaller(i, optionsOf(f, index), l)
	if _, err := c.Open(row(schema("BIGINT,BIGINT"), u.how, int(u.kind)), nil); err != nil {
		t.Fatal(err)
	}
	for _, w := range list {
		addWish(c, w, len(f.GetStates()) > 0)
	}
	if err := c.Perform(); err != nil {
		t.Errorf("%+v: %v", u, err)
	}
	return l
}

func optionsOf(f *abi.Function, index int) guest.Options {
	o := guest.Options{Function: uint32(index), Role: f.GetRole()}
	switch {
	case f.GetRole() == abi.RoleEncode:
		o.Outputs = append(o.Outputs, schema("BYTES,BYTES"))
	case len(f.GetOutput().GetFields()) > 0:
		o.Outputs = append(o.Outputs, schemaOf(f.GetOutput()))
	}
	for _, n := range f.GetNamedOutputs() {
		o.Outputs = append(o.Outputs, schemaOf(n.GetSchema()))
	}
	switch f.GetRole() {
	case abi.RoleAggregate:
		o.Slots = append(o.Slots, schemaOf(f.GetAccumulator()))
	case abi.RoleReduce:
		o.Slots = append(o.Slots, schemaOf(f.GetInput()))
	}
	for _, s := range f.GetStates() {
		if s.InSlot() {
			o.Slots = append(o.Slots, schemaOf(s.GetValue()))
		}
	}
	return o
}

// addWish adds an op with all that its kind has; slots: on-record has states.
func addWish(c *guest.Caller, w wished, slots bool) {
	number := schema("BIGINT")
	at, ctx := guest.NoRow(), &guest.Context{Time: w.n, Clock: 1, Key: guest.NoRow(), Second: guest.NoRow(), Start: 0, End: 10}
	group := w.group
	switch w.kind {
	case abi.OpCreate, abi.OpResult:
		ctx = nil
	case abi.OpMerge:
		c.AddMerge(w.group, w.second, false)
		return
	case abi.OpAdd, abi.OpReduce:
		at, ctx = c.WholeRow(row(number, w.n)), nil
	case abi.OpOnTimer, abi.OpOnEventTime, abi.OpOnProcessingTime, abi.OpClear:
		ctx.Key = c.WholeRow(row(number, int(w.group)))
	case abi.OpOnWindow, abi.OpEvict, abi.OpOnGroup:
		for k := range 3 {
			c.Element(guest.Element{Time: int64(k), Row: c.WholeRow(row(number, k)), Input: uint32(k % 2)})
		}
	case abi.OpOnMerge:
		c.Merged(3)
	case abi.OpDecode:
		at = c.WholeRow(row(schema("BYTES,BYTES"), string([]byte{byte(w.n)}), nil))
	default:
		at = c.WholeRow(row(number, w.n))
		if w.kind == abi.OpOnPair || w.kind == abi.OpOnAnswer {
			ctx.Second = c.WholeRow(row(number, 1))
		}
	}
	switch w.kind {
	case abi.OpOnRecord, abi.OpOnBroadcast, abi.OpAssign, abi.OpEvict, abi.OpOnPair, abi.OpOnGroup, abi.OpOnAnswer, abi.OpDecode, abi.OpEncode:
		if w.kind != abi.OpOnRecord || !slots {
			group = guest.NoGroup
		}
	}
	c.Add(w.kind, group, at, ctx)
}

func loadUnruly(t *testing.T) *sandbox.Module {
	t.Helper()
	wasm, err := os.ReadFile("../../testdata/wasm/unruly-c.wasm")
	if err != nil {
		t.Fatal(err)
	}
	e, err := sandbox.NewEngine(context.Background(), sandbox.Options{MemoryPagesMax: 64, FuelPerCall: 10_000_000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	m, err := e.Load(context.Background(), "unruly", wasm)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// An op at which a guest does wrong is undone, and told by its kind of fault; all others come
// out as if it had not been there, with effects, slots and states.
func TestUnruly(t *testing.T) {
	m := loadUnruly(t)
	var cases []unruly
	for _, of := range kindsOf {
		for _, kind := range of.kinds {
			for how, fault := range anywhere {
				cases = append(cases, unruly{of.function, kind, how, fault})
			}
		}
	}
	cases = append(cases, particular()...)
	seen, musts := map[unruly]bool{}, map[unruly]string{}
	for _, u := range cases {
		key := u
		if key.fault = 0; seen[key] {
			t.Errorf("twice: %+v", u)
		}
		seen[key] = true
		list := wishes(u)
		without := slices.DeleteFunc(slices.Clone(list), func(w wished) bool { return w.isBad })
		got := playUnruly(t, m, u, list)
		if u.fault == 0 {
			if len(got.faults) > 0 {
				t.Errorf("%+v: %v, and it is allowed", u, got.faults)
			}
			continue
		}
		f := m.Manifest().GetFunctions()[m.Manifest().FunctionIndex(u.function)]
		sound := unruly{function: u.function, kind: u.kind}
		if musts[sound] == "" {
			musts[sound] = playUnruly(t, m, sound, without).outcome(f, without)
		}
		is, must := got.outcome(f, list), musts[sound]
		bad := slices.IndexFunc(list, func(w wished) bool { return w.isBad })
		if len(got.faults) != 1 || got.faults[bad] != u.fault || len(got.lines[bad]) > 0 {
			t.Errorf("%+v: the faults are %v, with effects %v; want %v at op %d", u, got.faults, got.lines[bad], u.fault, bad)
		}
		if is != must {
			t.Errorf("%+v: the others came out as\n%s\nand without the op as\n%s", u, is, must)
		}
	}
	count := map[string]int{}
	for _, u := range cases {
		count[m.Manifest().GetFunctions()[m.Manifest().FunctionIndex(u.function)].GetRole()]++
	}
	for _, role := range abi.Roles {
		if count[role] < 20 {
			t.Errorf("%d cases of the role %s", count[role], role)
		}
	}
	t.Logf("%d cases: %v", len(cases), count)
}

// intruder calls the instance from within a host call.
type intruder struct {
	*process.States
	instance *sandbox.Instance
	answers  []error
}

func (i *intruder) Put(op, state uint32, key, value []byte) error {
	_, _, err := i.instance.In(64)
	_, again := i.instance.Call(0, 8, 64)
	i.answers = append(i.answers, err, again, i.instance.Rebuild(), i.instance.Close())
	return i.States.Put(op, state, key, value)
}

// An instance that is in a call is not entered again, and the call goes on.
func TestReentered(t *testing.T) {
	m := loadUnruly(t)
	index := m.Manifest().FunctionIndex("process")
	f := m.Manifest().GetFunctions()[index]
	i, err := m.Instantiate(context.Background(), sandbox.InstanceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l := newLedger(f)
	l.wishes = []wished{{kind: abi.OpOnRecord, n: 1}}
	in := &intruder{States: l.states, instance: i}
	i.CallStates(in)
	c := guest.NewCaller(i, optionsOf(f, index), l)
	if _, err := c.Open(row(schema("BIGINT,BIGINT"), 0, 0), nil); err != nil {
		t.Fatal(err)
	}
	addWish(c, l.wishes[0], true)
	if err := c.Perform(); err != nil || len(l.faults) > 0 || len(l.lines[0]) != 2 {
		t.Errorf("%v, faults %v, effects %v", err, l.faults, l.lines)
	}
	for k, err := range in.answers {
		if !errors.Is(err, sandbox.ErrReentered) {
			t.Errorf("answer %d: %v", k, err)
		}
	}
	if len(in.answers) != 8 {
		t.Errorf("%d answers", len(in.answers))
	}
	if err := i.Close(); err != nil {
		t.Error(err)
	}
}
