package guest_test

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/stream"
)

// liar is an instance that answers the same to all.
type liar struct {
	effects, slots []byte
	frame          []byte
	calls          int
}

func (l *liar) Open(uint32, []byte) ([]byte, error) { return l.effects, nil }
func (l *liar) In(size int) ([]byte, uint32, error) {
	if cap(l.frame) < size {
		l.frame = make([]byte, size)
	}
	l.frame = l.frame[:size]
	return l.frame, 64, nil
}

func (l *liar) Call(_, _ uint32, length int) ([]byte, error) {
	l.calls++
	h, err := abi.ReadHeader(l.frame)
	if err != nil {
		panic(err)
	}
	copy(l.frame[h.SlotsOffset:h.RowsOffset], l.slots)
	return append([]byte(nil), l.effects...), nil
}
func (l *liar) Frame() []byte  { return l.frame }
func (l *liar) Rebuild() error { return nil }
func (l *liar) Close() error   { return nil }

// witness is a role that looks whether what it is given is sound.
type witness struct {
	t       testing.TB
	outputs []*stream.Schema
	slots   []*stream.Schema
	taken   int
}

func (w *witness) Load(dst []byte, _ uint32, i int) []byte {
	return append(dst, make([]byte, w.slots[i].FixedBytes())...)
}

func (w *witness) Store(_ uint32, i int, row stream.Row) error {
	if len(row) > 0 && stream.CheckExact(w.slots[i], row) != nil {
		w.t.Fatalf("slot %d becomes %x", i, []byte(row))
	}
	return nil
}

func (w *witness) Take(_ int, e abi.Effect) error {
	w.taken++
	if e.Kind == abi.EffectEmit && stream.CheckExact(w.outputs[e.Aux], e.Payload) != nil {
		w.t.Fatalf("put out is %x", e.Payload)
	}
	return nil
}

func (w *witness) Done(int) error { return nil }

func (w *witness) Fault(_ int, err error) error {
	if guest.KindOf(err) == 0 {
		w.t.Fatalf("a fault of no kind: %v", err)
	}
	return nil
}

// hear has a frame of each kind of op of a role answered by these bytes.
func hear(t testing.TB, role uint8, effects, slots []byte) (taken int) {
	a := table2[int(role)%len(table2)]
	w := &witness{t: t, outputs: []*stream.Schema{schemaOfAnswers, oneNumber}}
	switch role / 128 {
	case 0:
		w.slots = []*stream.Schema{oneNumber, schemaOfFlags}
	default:
		w.slots = []*stream.Schema{schemaOfAnswers}
	}
	c := guest.NewCaller(&liar{effects: effects, slots: slots}, guest.Options{Role: a.role, Outputs: w.outputs, Slots: w.slots}, w)
	for _, op := range a.ops {
		r := c.WholeRow(row(oneNumber, 1))
		switch op {
		case abi.OpMerge:
			c.AddMerge(0, 1, false)
			continue
		case abi.OpOnMerge:
			c.Merged(1)
		default:
			c.Element(guest.Element{Row: r})
			c.Element(guest.Element{Row: r})
		}
		c.Add(op, 0, r, &guest.Context{Key: r, Second: r})
	}
	if err := c.Perform(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(nil, []byte("12345678")); err != nil && guest.KindOf(err) == 0 {
		t.Fatalf("an opening that fails without a fault: %v", err)
	}
	return w.taken
}

var (
	schemaOfAnswers = schema("BIGINT,STRING,DOUBLE,BOOLEAN,DECIMAL(9),BYTES")
	schemaOfFlags   = schema("BOOLEAN,INT")
)

// opsOf are the ops of a role, and the rules of each.
type opsOf struct {
	role  string
	ops   []abi.OpKind
	rules []map[string]string
}

// table2 has a row for each role.
var table2 = func() (list []opsOf) {
	for _, a := range table(new(testing.T)) {
		if len(list) == 0 || list[len(list)-1].role != a.role {
			list = append(list, opsOf{role: a.role})
		}
		r := &list[len(list)-1]
		r.ops, r.rules = append(r.ops, a.op), append(r.rules, a.rules)
	}
	return list
}()

// answer is a sound effect for an op of a role, or one that is nearly so.
func answer(random *rand.Rand, dst []byte, role uint8, op uint32) []byte {
	var payload []byte
	kinds := abi.EffectKind(15)
	kind, aux := uint32(1+random.IntN(int(kinds)-1)), uint32(random.IntN(2))
	r := table2[int(role)%len(table2)]
	for name := range r.rules[int(op)%len(r.ops)] {
		for k := range kinds {
			if k.String() == name && random.IntN(8) > 0 {
				kind = uint32(k)
			}
		}
	}
	switch abi.EffectKind(kind) {
	case abi.EffectEmit, abi.EffectSetSlot:
		if aux == 0 || kind == uint32(abi.EffectSetSlot) {
			payload = row(schemaOfAnswers, random.Int64(), "a text that is long", random.Float64(), nil, nil, "x")
		} else {
			payload = row(oneNumber, random.Int64())
		}
	case abi.EffectSetTimer, abi.EffectDeleteTimer, abi.EffectEventTime, abi.EffectWatermark:
		payload = make([]byte, 8)
	case abi.EffectAssign:
		payload = make([]byte, 16)
		payload[8] = byte(random.IntN(2))
	}
	for _, v := range [4]uint32{kind, op, uint32(len(payload)), aux} {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	dst = append(dst, payload...)
	return append(dst, make([]byte, abi.Align(len(dst))-len(dst))...)
}

// TestAnswers: answers that are nearly sound end in faults or in what is sound, never
// in a panic. WASMSTREAM_ANSWERS says how many, by default 100,000.
func TestAnswers(t *testing.T) {
	answers := 100_000
	if text := os.Getenv("WASMSTREAM_ANSWERS"); text != "" {
		var err error
		if answers, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(7, 7))
	var effects, slots []byte
	taken := 0
	for range answers {
		effects = effects[:0]
		op, role := uint32(0), uint8(random.IntN(256))
		for range random.IntN(5) {
			effects = answer(random, effects, role, op)
			op += uint32(random.IntN(2))
		}
		for n := random.IntN(4) - 2; n > 0 && len(effects) > 0; n-- {
			effects[random.IntN(len(effects))] ^= 1 << random.IntN(8)
		}
		if random.IntN(10) == 0 {
			effects = effects[:random.IntN(len(effects)+1)]
		}
		slots = append(slots[:0], make([]byte, 32)...)
		for n := random.IntN(6) - 4; n > 0; n-- {
			slots[random.IntN(len(slots))] ^= 1 << random.IntN(8)
		}
		taken += hear(t, role, effects, slots)
	}
	if taken < answers/5 {
		t.Errorf("only %d effects of %d answers were sound", taken, answers)
	}
}

// FuzzAnswer holds the same of any bytes.
func FuzzAnswer(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 3))
	for role := range 2 * len(table2) {
		f.Add(uint8(role), answer(random, nil, uint8(role), 0), make([]byte, 24))
	}
	f.Fuzz(func(t *testing.T, role uint8, effects, slots []byte) { hear(t, role, effects, slots) })
}
