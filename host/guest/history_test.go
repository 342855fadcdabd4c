package guest_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/stream"
)

// The step of the histories: records of a number and a word, a total and the word
// before as states.
var (
	numberIn  = schema("BIGINT,STRING")
	numberOut = schema("BIGINT,STRING,BIGINT")
	fixed     = []*stream.Schema{schema("BIGINT"), schema("BIGINT,BOOLEAN")}
	variable  = []*stream.Schema{schema("STRING"), schema("BIGINT,BOOLEAN")}
	keyRow    = schema("BIGINT")
)

// faults are the words that make the function go wrong, each in its own way, after it
// has edited its states.
var faultOf = map[string]abi.FaultKind{
	"fail": abi.FaultFailed, "trap": abi.FaultTrap, "row": abi.FaultBadRow, "slot": abi.FaultBadRow, "output": abi.FaultBadEffect,
	"effect": abi.FaultBadEffect, "domain": abi.FaultBadEffect, "touch": abi.FaultBadSlot, "unknown": abi.FaultBadEffect,
	"order": abi.FaultBadOp, "beyond": abi.FaultBadEffects, "large": abi.FaultTooLarge,
}

// total is the function: the total of a key's numbers, forgotten at multiples of 5.
func total(slots []*stream.Schema) guesttest.Function {
	number, word, key := numberIn.Column(0), numberIn.Column(1), keyRow.Column(0)
	sum, text, count := slots[0].Column(0), slots[0].Column(0), slots[1].Column(0)
	isText := text.Type.Kind == stream.String
	return func(o *guesttest.Op) {
		if o.Kind == abi.OpOpen {
			return
		}
		held, seen := int64(0), int64(0)
		if s := o.State(0); s != nil && isText {
			held, _ = strconv.ParseInt(string(text.Bytes(s)), 10, 64)
		} else if s != nil {
			held = sum.Int64(s)
		}
		if s := o.State(1); s != nil {
			seen = count.Int64(s)
		}
		held += number.Int64(o.Row)
		seen++
		switch {
		case held%5 == 0:
			o.SetState(0, nil)
		case isText:
			o.SetState(0, row(slots[0], fmt.Sprint(held)))
		default:
			o.SetState(0, row(slots[0], held))
		}
		o.SetState(1, row(slots[1], seen, nil))
		what := string(word.Bytes(o.Row))
		o.Emit(uint32(seen%2), row(numberOut, held, what, o.Time()+key.Int64(o.Key())))
		if seen%3 == 0 {
			o.SetTimer(uint32(o.Detail()), o.Watermark()+seen)
		}
		misbehave(o, what, slots)
	}
}

func misbehave(o *guesttest.Op, what string, slots []*stream.Schema) {
	switch what {
	case "fail":
		o.Fail("no such luck")
	case "trap":
		panic("unreachable")
	case "row":
		o.Emit(0, row(numberOut, 1, "x", 1)[:16])
	case "slot":
		bad := row(slots[1], 1, nil)
		bad[1] |= 0x80 // a null bit of no column
		o.SetState(1, bad)
	case "output":
		o.Emit(2, row(numberOut, 1, "x", 1))
	case "effect":
		o.Effect(abi.EffectDecide, 0, nil)
	case "domain":
		o.SetTimer(2, 5)
	case "touch":
		o.Effect(abi.EffectTouch, 1<<20, nil)
	case "unknown":
		o.Effect(999, 0, nil)
	case "order":
		o.Frame().Effect(abi.EffectEmit, 1<<20, 0, nil)
	case "beyond":
		f := o.Frame()
		o.Emit(0, row(numberOut, 1, "x", 1))
		f.Effects[len(f.Effects)-int(16+len(row(numberOut, 1, "x", 1)))+10] = 0x7f
	case "large":
		for range 100 {
			o.Emit(0, row(numberOut, 1, "a longer word", 1))
		}
	}
}

// history is ops, and what must come of them.
type history struct {
	group  []uint32
	number []int64
	word   []string
}

// expect works the history out one op after the other, without those at fault.
func (h *history) expect() (lines map[int][]string, totals, counts map[uint32]int64) {
	lines, totals, counts = map[int][]string{}, map[uint32]int64{}, map[uint32]int64{}
	for i, g := range h.group {
		if faultOf[h.word[i]] != 0 {
			continue
		}
		totals[g] += h.number[i]
		counts[g]++
		lines[i] = append(lines[i], fmt.Sprintf("emit %d: %d %s %d", counts[g]%2, totals[g], h.word[i], int64(1000+i)+int64(g)))
		if counts[g]%3 == 0 {
			lines[i] = append(lines[i], fmt.Sprintf("timer %d at %d", i%2, 7+counts[g]))
		}
		if totals[g]%5 == 0 {
			delete(totals, g)
		}
	}
	return lines, totals, counts
}

func randomHistory(random *rand.Rand, faulty, inPlace bool) *history {
	h := &history{}
	words := append(slices.Sorted(maps.Keys(faultOf)), "another longer word")
	if inPlace {
		// An op that edits the slot after it hides what it left there.
		words = slices.DeleteFunc(words, func(w string) bool { return w == "slot" })
	}
	for range 1 + random.IntN(60) {
		h.group = append(h.group, uint32(random.IntN(5)))
		h.number = append(h.number, random.Int64N(20)-10)
		word := ""
		if faulty && random.IntN(4) == 0 {
			word = words[random.IntN(len(words))]
		}
		h.word = append(h.word, word)
	}
	return h
}

func showEffect(e abi.Effect) string {
	if e.Kind == abi.EffectEmit {
		a, b, c := numberOut.Column(0), numberOut.Column(1), numberOut.Column(2)
		r := stream.Row(e.Payload)
		return fmt.Sprintf("emit %d: %d %s %d", e.Aux, a.Int64(r), b.Bytes(r), c.Int64(r))
	}
	return fmt.Sprintf("timer %d at %d", e.Aux, guest.Int64(e.Payload, 0))
}

// TestHistories: whatever frames ops are in, whatever goes wrong with some of them, the
// others give what they give alone, and slots are what they are then.
func TestHistories(t *testing.T) {
	for seed := range uint64(1500) {
		random := rand.New(rand.NewPCG(seed, 1))
		slots := fixed
		if seed%2 == 1 {
			slots = variable
		}
		h := randomHistory(random, seed%3 != 0, slots[0].IsFixedWidth())
		g := &guesttest.Instance{Functions: []guesttest.Function{total(slots)}, EffectsMax: 2000 + random.IntN(4000)}
		if random.IntN(2) == 0 {
			g.FrameMax = 1000 + random.IntN(2000)
		}
		b := newBook(5, 2)
		b.show = showEffect
		c := guest.NewCaller(g, guest.Options{
			Role: abi.RoleProcess, Outputs: []*stream.Schema{numberOut, numberOut}, Slots: slots, OpsMax: 1 + random.IntN(64),
		}, b)
		if _, err := c.Open(nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := play(c, b, h); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		checkHistory(t, seed, h, b, slots)
		if t.Failed() {
			return
		}
	}
}

// play adds the ops, and has them performed when they are due. The book numbers ops
// from the beginning.
func play(c *guest.Caller, b *book, h *history) error {
	whole := newBook(0, 0)
	first := 0
	perform := func(next int) error {
		b.lines, b.done, b.faults = map[int][]string{}, nil, map[int]abi.FaultKind{}
		err := c.Perform()
		for i, l := range b.lines {
			whole.lines[first+i] = l
		}
		for i, k := range b.faults {
			whole.faults[first+i] = k
		}
		for _, i := range b.done {
			whole.done = append(whole.done, first+i)
		}
		first = next
		return err
	}
	identity := stream.NewProjection(numberIn, []int{0, 1})
	for i, g := range h.group {
		r := c.Row(identity, row(numberIn, h.number[i], h.word[i]))
		key := c.WholeRow(row(keyRow, int64(g)))
		c.Add(abi.OpOnRecord, g, r, &guest.Context{Time: int64(1000 + i), Watermark: 7, Clock: 3, Key: key, Detail: uint32(i % 2), Second: guest.NoRow()})
		if c.Due() {
			if err := perform(i + 1); err != nil {
				return err
			}
		}
	}
	err := perform(len(h.group))
	b.lines, b.done, b.faults = whole.lines, whole.done, whole.faults
	return err
}

func checkHistory(t *testing.T, seed uint64, h *history, b *book, slots []*stream.Schema) {
	t.Helper()
	lines, totals, counts := h.expect()
	sound := 0
	for i := range h.group {
		if !slices.Equal(b.lines[i], lines[i]) {
			t.Errorf("seed %d: op %d gave %q, want %q", seed, i, b.lines[i], lines[i])
		}
		if b.faults[i] != faultOf[h.word[i]] {
			t.Errorf("seed %d: op %d, %q: the fault %s, want %s", seed, i, h.word[i], b.faults[i], faultOf[h.word[i]])
		}
		if faultOf[h.word[i]] == 0 {
			if sound >= len(b.done) || b.done[sound] != i {
				t.Errorf("seed %d: done are %v, and op %d must be next", seed, b.done, i)
				return
			}
			sound++
		}
	}
	for g := range uint32(5) {
		want := [][]byte{nil, nil}
		if v, ok := totals[g]; ok && slots[0].IsFixedWidth() {
			want[0] = row(slots[0], v)
		} else if ok {
			want[0] = row(slots[0], fmt.Sprint(v))
		}
		if counts[g] > 0 {
			want[1] = row(slots[1], counts[g], nil)
		}
		for i := range want {
			if got := b.slots[int(g)*2+i]; string(got) != string(want[i]) {
				t.Errorf("seed %d: slot %d of %d is %x, want %x", seed, i, g, got, want[i])
			}
		}
	}
}
