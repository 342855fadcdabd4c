package guest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/stream"
)

// allowed is the table of roles of abi/README.md, in its words: a role's ops with the
// effects that they may have. ! is exactly one, ? at most one, 0 to output 0 only.
const allowed = `
map:               on-record emit!0
filter:            on-record keep?
flat-map:          on-record emit
key:               on-record emit!0
timestamp:         on-record event-time! watermark?
aggregate:         create; add; merge; result emit!0
reduce:            reduce
assigner:          assign assign
trigger:           on-element decide? set-timer delete-timer touch; on-event-time decide? set-timer delete-timer touch; on-processing-time decide? set-timer delete-timer touch; on-merge set-timer delete-timer touch; clear delete-timer touch
evictor:           evict evict
apply:             on-window emit touch; clear touch
process:           on-record emit set-timer delete-timer touch; on-timer emit set-timer delete-timer touch
co-process:        on-record emit set-timer delete-timer touch; on-second emit set-timer delete-timer touch; on-timer emit set-timer delete-timer touch
broadcast-process: on-record emit set-timer delete-timer touch; on-timer emit set-timer delete-timer touch; on-broadcast emit visit-keys?; on-key touch
join:              on-pair emit0
co-group:          on-group emit
enrich:            on-record emit request?; on-answer emit
decode:            decode emit0
encode:            encode emit!0
`

// answered is a kind of op of a role, with one effect's rule.
type answered struct {
	role  string
	op    abi.OpKind
	rules map[string]string // by effect: "", "!", "?", with 0
}

func table(t testing.TB) (list []answered) {
	kinds := map[string]abi.OpKind{}
	for k := abi.OpOpen; k <= abi.OpOnKey; k++ {
		kinds[k.String()] = k
	}
	for line := range strings.Lines(strings.TrimSpace(allowed)) {
		role, ops, _ := strings.Cut(line, ":")
		for _, text := range strings.Split(ops, ";") {
			words := strings.Fields(text)
			a := answered{role: role, op: kinds[words[0]], rules: map[string]string{}}
			if a.op == 0 {
				t.Fatalf("there is no op %s", words[0])
			}
			for _, w := range words[1:] {
				name := strings.TrimRight(w, "!?0")
				a.rules[name] = w[len(name):]
			}
			list = append(list, a)
		}
	}
	return list
}

var oneNumber = schema("BIGINT")

// effectOf is a sound effect of a kind.
func effectOf(o *guesttest.Op, kind abi.EffectKind, output uint32) {
	switch kind {
	case abi.EffectEmit:
		o.Emit(output, row(oneNumber, 1))
	case abi.EffectSetTimer, abi.EffectDeleteTimer, abi.EffectEventTime, abi.EffectWatermark:
		o.Effect(kind, 0, make([]byte, 8))
	case abi.EffectAssign:
		o.Assign(0, 1)
	case abi.EffectRequest:
		o.Effect(kind, 0, row(schema("STRING,STRING,STRING,BYTES"), "GET", "http://localhost", nil, nil))
	default:
		o.Effect(kind, 0, nil)
	}
}

// ask has one op performed by a function, and tells what kind of fault there was.
func ask(t *testing.T, role string, op abi.OpKind, slots []*stream.Schema, f guesttest.Function) (abi.FaultKind, []string) {
	t.Helper()
	g := &guesttest.Instance{Functions: []guesttest.Function{f}}
	b := newBook(2, len(slots))
	c := guest.NewCaller(g, guest.Options{Role: role, Outputs: []*stream.Schema{oneNumber, oneNumber}, Slots: slots}, b)
	ctx := &guest.Context{Key: guest.NoRow(), Second: guest.NoRow()}
	group := uint32(0)
	if len(slots) == 0 {
		group = guest.NoGroup
	}
	if op == abi.OpEvict {
		r := c.WholeRow(row(oneNumber, 1))
		c.Element(guest.Element{Row: r})
		c.Element(guest.Element{Row: r})
	}
	switch op {
	case abi.OpCreate, abi.OpAdd, abi.OpResult, abi.OpReduce:
		for g := range b.slots {
			b.slots[g] = row(oneNumber, 1)
		}
		ctx = nil
	case abi.OpMerge:
		b.slots[0], b.slots[1] = row(oneNumber, 1), row(oneNumber, 1)
		c.AddMerge(0, 1, false)
	}
	if op != abi.OpMerge {
		c.Add(op, group, guest.NoRow(), ctx)
	}
	if err := c.Perform(); err != nil {
		t.Fatal(err)
	}
	return b.faults[0], b.lines[0]
}

// TestRules: each kind of op of each role with each kind of effect, none, once, twice
// and to another output.
func TestRules(t *testing.T) {
	var effects []abi.EffectKind
	for k := abi.EffectKind(1); k.Known(); k++ {
		effects = append(effects, k)
	}
	if len(effects) != 14 {
		t.Fatalf("%d kinds of effects; this test knows 14", len(effects))
	}
	seen := map[string]bool{}
	for _, a := range table(t) {
		seen[a.role] = true
		slots := []*stream.Schema{oneNumber}
		must := abi.EffectKind(0)
		for name, rule := range a.rules {
			if strings.Contains(rule, "!") {
				must = effects[slices.IndexFunc(effects, func(k abi.EffectKind) bool { return k.String() == name })]
			}
		}
		try := func(what string, want abi.FaultKind, f guesttest.Function) {
			if kind, lines := ask(t, a.role, a.op, slots, f); kind != want || want != 0 && len(lines) > 0 {
				t.Errorf("%s, %s, answered by %s: the fault %s with %q, want %s", a.role, a.op, what, kind, lines, want)
			}
		}
		want := abi.FaultKind(0)
		if must != 0 {
			want = abi.FaultBadAnswer
		}
		try("nothing", want, func(*guesttest.Op) {})
		for _, k := range effects {
			rule, may := a.rules[k.String()]
			want, twice, other := abi.FaultKind(0), abi.FaultKind(0), abi.FaultKind(0)
			if strings.ContainsAny(rule, "!?") {
				twice, other = abi.FaultBadAnswer, abi.FaultBadAnswer
			}
			if strings.Contains(rule, "0") {
				other = abi.FaultBadEffect
			}
			if !may {
				want, twice, other = abi.FaultBadEffect, abi.FaultBadEffect, abi.FaultBadEffect
			}
			also := func(o *guesttest.Op) {
				if must != 0 && must != k {
					effectOf(o, must, 0)
				}
			}
			try(k.String(), want, func(o *guesttest.Op) { also(o); effectOf(o, k, 0) })
			if k != abi.EffectEvict { // which names another element each time
				try(fmt.Sprintf("%s twice", k), twice, func(o *guesttest.Op) { also(o); effectOf(o, k, 0); effectOf(o, k, 0) })
			}
			if k == abi.EffectEmit && must != k {
				try("emit to output 1", other, func(o *guesttest.Op) { also(o); effectOf(o, k, 1) })
				if may {
					try("emit to output 2", abi.FaultBadEffect, func(o *guesttest.Op) { also(o); effectOf(o, k, 2) })
				}
			}
		}
	}
	for _, role := range abi.Roles {
		if !seen[role] {
			t.Errorf("the role %s is in no row", role)
		}
	}
}

// TestPayloads: effects that an op may have, with payloads and numbers that are wrong.
func TestPayloads(t *testing.T) {
	text := []*stream.Schema{schema("STRING")}
	number := []*stream.Schema{oneNumber}
	effect := func(kind abi.EffectKind, aux uint32, payload ...byte) guesttest.Function {
		return func(o *guesttest.Op) { o.Effect(kind, aux, payload) }
	}
	eight := make([]byte, 8)
	cut := row(oneNumber, 1)[:8]
	deleted := append([]byte(nil), row(oneNumber, 1)...)
	deleted[0] = 3
	long := row(text[0], "more than seven")
	invalid := append([]byte(nil), row(text[0], "abc")...)
	invalid[8] = 0xff
	asks := func(o *guesttest.Op) {
		o.Effect(abi.EffectRequest, 0, row(guest.RequestSchema, "GET", "https://rates.example/", nil, nil))
	}
	for name, c := range map[string]struct {
		role  string
		op    abi.OpKind
		slots []*stream.Schema
		f     guesttest.Function
		want  abi.FaultKind
	}{
		"timer of 7 bytes":         {abi.RoleTrigger, abi.OpOnElement, nil, effect(abi.EffectSetTimer, 0, eight[:7]...), abi.FaultBadEffect},
		"timer of 16 bytes":        {abi.RoleTrigger, abi.OpOnElement, nil, effect(abi.EffectDeleteTimer, 0, make([]byte, 16)...), abi.FaultBadEffect},
		"timer of domain 1":        {abi.RoleTrigger, abi.OpOnElement, nil, effect(abi.EffectSetTimer, 1, eight...), 0},
		"timer of domain 2":        {abi.RoleTrigger, abi.OpOnElement, nil, effect(abi.EffectSetTimer, 2, eight...), abi.FaultBadEffect},
		"decision 3":               {abi.RoleTrigger, abi.OpOnElement, nil, effect(abi.EffectDecide, 3), 0},
		"decision 4":               {abi.RoleTrigger, abi.OpOnElement, nil, effect(abi.EffectDecide, 4), abi.FaultBadEffect},
		"decision with payload":    {abi.RoleTrigger, abi.OpOnElement, nil, effect(abi.EffectDecide, 1, eight...), abi.FaultBadEffect},
		"empty window":             {abi.RoleAssigner, abi.OpAssign, nil, func(o *guesttest.Op) { o.Assign(5, 5) }, abi.FaultBadEffect},
		"window backwards":         {abi.RoleAssigner, abi.OpAssign, nil, func(o *guesttest.Op) { o.Assign(5, -5) }, abi.FaultBadEffect},
		"window of 8 bytes":        {abi.RoleAssigner, abi.OpAssign, nil, effect(abi.EffectAssign, 0, eight...), abi.FaultBadEffect},
		"element 1":                {abi.RoleEvictor, abi.OpEvict, nil, effect(abi.EffectEvict, 1), 0},
		"element 2 of 2":           {abi.RoleEvictor, abi.OpEvict, nil, effect(abi.EffectEvict, 2), abi.FaultBadEffect},
		"element twice":            {abi.RoleEvictor, abi.OpEvict, nil, func(o *guesttest.Op) { o.Effect(abi.EffectEvict, 1, nil); o.Effect(abi.EffectEvict, 1, nil) }, abi.FaultBadEffect},
		"elements backwards":       {abi.RoleEvictor, abi.OpEvict, nil, func(o *guesttest.Op) { o.Effect(abi.EffectEvict, 1, nil); o.Effect(abi.EffectEvict, 0, nil) }, abi.FaultBadEffect},
		"keep with payload":        {abi.RoleFilter, abi.OpOnRecord, nil, effect(abi.EffectKeep, 0, eight...), abi.FaultBadEffect},
		"time of 4 bytes":          {abi.RoleTimestamp, abi.OpOnRecord, nil, effect(abi.EffectEventTime, 0, eight[:4]...), abi.FaultBadEffect},
		"row cut off":              {abi.RoleFlatMap, abi.OpOnRecord, nil, effect(abi.EffectEmit, 0, cut...), abi.FaultBadRow},
		"row of another kind":      {abi.RoleFlatMap, abi.OpOnRecord, nil, effect(abi.EffectEmit, 0, deleted...), abi.FaultBadRow},
		"no row":                   {abi.RoleFlatMap, abi.OpOnRecord, nil, effect(abi.EffectEmit, 0), abi.FaultBadRow},
		"row too long":             {abi.RoleFlatMap, abi.OpOnRecord, nil, effect(abi.EffectEmit, 0, append(row(oneNumber, 1), eight...)...), abi.FaultBadRow},
		"output 2^32-1":            {abi.RoleFlatMap, abi.OpOnRecord, nil, effect(abi.EffectEmit, ^uint32(0), row(oneNumber, 1)...), abi.FaultBadEffect},
		"request of another shape": {abi.RoleEnrich, abi.OpOnRecord, nil, effect(abi.EffectRequest, 0, row(oneNumber, 1)...), abi.FaultBadRow},
		"request":                  {abi.RoleEnrich, abi.OpOnRecord, nil, asks, 0},
		"request after a row":      {abi.RoleEnrich, abi.OpOnRecord, nil, func(o *guesttest.Op) { o.Emit(0, row(oneNumber, 1)); asks(o) }, abi.FaultBadAnswer},
		"row after a request":      {abi.RoleEnrich, abi.OpOnRecord, nil, func(o *guesttest.Op) { asks(o); o.Emit(0, row(oneNumber, 1)) }, abi.FaultBadAnswer},
		"touch of a slot":          {abi.RoleProcess, abi.OpOnRecord, number, effect(abi.EffectTouch, 0), 0},
		"touch of no slot":         {abi.RoleProcess, abi.OpOnRecord, number, effect(abi.EffectTouch, 1), abi.FaultBadSlot},
		"touch without slots":      {abi.RoleProcess, abi.OpOnRecord, nil, effect(abi.EffectTouch, 0), abi.FaultBadSlot},
		"touch with payload":       {abi.RoleProcess, abi.OpOnRecord, number, effect(abi.EffectTouch, 0, eight...), abi.FaultBadEffect},
		"set-slot":                 {abi.RoleProcess, abi.OpOnRecord, text, effect(abi.EffectSetSlot, 0, long...), 0},
		"set-slot to nothing":      {abi.RoleProcess, abi.OpOnRecord, text, effect(abi.EffectSetSlot, 0), 0},
		"set-slot beyond":          {abi.RoleProcess, abi.OpOnRecord, text, effect(abi.EffectSetSlot, 1, long...), abi.FaultBadSlot},
		"set-slot far beyond":      {abi.RoleProcess, abi.OpOnRecord, text, effect(abi.EffectSetSlot, ^uint32(0), long...), abi.FaultBadSlot},
		"set-slot in place":        {abi.RoleProcess, abi.OpOnRecord, number, effect(abi.EffectSetSlot, 0, row(oneNumber, 1)...), abi.FaultBadEffect},
		"set-slot without slots":   {abi.RoleMap, abi.OpOnRecord, nil, effect(abi.EffectSetSlot, 0, row(oneNumber, 1)...), abi.FaultBadSlot},
		"invalid UTF-8":            {abi.RoleProcess, abi.OpOnRecord, text, effect(abi.EffectSetSlot, 0, invalid...), abi.FaultBadRow},
		"accumulator of nothing":   {abi.RoleAggregate, abi.OpCreate, text, effect(abi.EffectSetSlot, 0), abi.FaultBadRow},
		"slot of nothing":          {abi.RoleProcess, abi.OpOnRecord, number, func(o *guesttest.Op) { o.SetState(0, nil) }, 0},
		"nothing but not zero":     {abi.RoleProcess, abi.OpOnRecord, number, func(o *guesttest.Op) { o.SetState(0, deleted) }, abi.FaultBadRow},
		"slot of no kind":          {abi.RoleProcess, abi.OpOnRecord, number, func(o *guesttest.Op) { o.SetState(0, append([]byte{9}, cut[1:]...)) }, abi.FaultBadRow},
		"accumulator in place":     {abi.RoleAggregate, abi.OpAdd, number, func(o *guesttest.Op) { o.SetState(0, nil) }, abi.FaultBadRow},
	} {
		if kind, lines := ask(t, c.role, c.op, c.slots, c.f); kind != c.want || kind != 0 && lines != nil {
			t.Errorf("%s: the fault %s with %q, want %s", name, kind, lines, c.want)
		}
	}
}
