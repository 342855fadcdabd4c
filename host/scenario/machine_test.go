package scenario_test

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/scenario"
	"github.com/wasmstream/wasmstream/host/stream"
)

// The machine is a process function that does what records tell it, so that scripts
// can play with states and timers. It is a guest in Go: it reads frames as the ABI
// says.

var (
	machineInput  = schemaOf("k STRING, what STRING, n BIGINT, x BIGINT")
	machineOutput = schemaOf("k STRING, what STRING, n BIGINT, x BIGINT")
	machineSide   = schemaOf("k STRING, n BIGINT")
	number        = schemaOf("n BIGINT")
	texts         = schemaOf("text STRING")
)

func schemaOf(text string) *stream.Schema {
	var fields []stream.Field
	for _, column := range splitColumns(text) {
		t, err := stream.ParseType(column[1])
		if err != nil {
			panic(err)
		}
		fields = append(fields, stream.Field{Name: column[0], Type: t})
	}
	return stream.MustSchema(fields...)
}

func rowOf(s *stream.Schema, values ...any) stream.Row {
	w := stream.NewRowWriter(s)
	w.BeginIn(nil, stream.Insert)
	for i, v := range values {
		switch v := v.(type) {
		case int64:
			w.SetInt64(i, v)
		case string:
			w.SetBytes(i, []byte(v))
		case nil:
			w.SetNull(i)
		}
	}
	return w.Row()
}

// numberOf is the only column of a row, null or a number.
func numberOf(r stream.Row) any {
	if r == nil {
		return nil
	}
	c := number.Column(0)
	return c.Int64(r)
}

// machine is an instance.
type machine struct {
	guesttest.Instance
	states sandbox.StateCalls
}

// CallStates takes the host's calls.
func (m *machine) CallStates(s sandbox.StateCalls) { m.states = s }

// newMachine makes one whose states are as those of the function are.
func newMachine(f *job.Function) *machine {
	m := &machine{}
	at := map[string]int{}
	slot := 0
	for i := range f.States {
		at[f.States[i].Name] = i
		if f.States[i].InSlot {
			at[f.States[i].Name] = slot
			slot++
		}
	}
	for len(m.Functions) <= f.Index {
		m.Functions = append(m.Functions, nil)
	}
	m.Functions[f.Index] = func(o *guesttest.Op) { (&step{m: m, f: f, o: o, at: at}).run() }
	return m
}

// step is the machine at one op.
type step struct {
	m  *machine
	f  *job.Function
	o  *guesttest.Op
	at map[string]int
}

func (s *step) column(i int) stream.Column { return machineInput.Column(i) }

func (s *step) run() {
	switch s.o.Kind {
	case abi.OpOpen:
	case abi.OpOnTimer:
		s.onTimer()
	default:
		what, n, x := s.column(1), s.column(2), s.column(3)
		s.perform(string(what.Bytes(s.o.Row)), n.Int64(s.o.Row), x.Int64(s.o.Row))
	}
}

// key is the key as text.
func (s *step) key() any {
	if s.o.Kind == abi.OpOnBroadcast {
		return nil
	}
	c := texts.Column(0)
	return string(c.Bytes(s.o.Key()))
}

func (s *step) emit(what string, n, x any) {
	s.o.Emit(0, rowOf(machineOutput, s.key(), what, n, x))
}

// onTimer tells of itself, and while the value is positive it counts it down and sets
// the next timer, and takes away the one that would be in between.
func (s *step) onTimer() {
	name, domain := "event", s.o.Detail()
	if domain == 1 {
		name = "clock"
	}
	value, _ := numberOf(s.o.State(s.at["v"])).(int64)
	s.touch(s.at["v"])
	s.emit(name, s.o.Time(), value)
	if value > 0 {
		s.o.SetState(s.at["v"], rowOf(number, value-1))
		s.o.SetTimer(domain, s.o.Time()+3)
		s.o.DeleteTimer(domain, s.o.Time()+1)
	}
}

func (s *step) perform(what string, n, x int64) {
	o, v := s.o, s.at["v"]
	switch what {
	case "set":
		o.SetState(v, rowOf(number, n))
	case "clear":
		o.SetState(v, nil)
	case "add":
		old, _ := numberOf(o.State(v)).(int64)
		s.touch(v)
		o.SetState(v, rowOf(number, old+n))
	case "get":
		s.read(v)
	case "peek": // without saying that it was read
		s.emit("get", numberOf(o.State(v)), nil)
	case "write":
		o.SetState(s.at["t"], rowOf(texts, fmt.Sprint("a text that is long ", n)))
	case "read":
		s.emit("read", int64(len(o.State(s.at["t"]))), nil)
		s.touch(s.at["t"])
	case "event timer", "clock timer":
		o.SetTimer(domainOf(what), n)
	case "no event timer", "no clock timer":
		o.DeleteTimer(domainOf(what[3:]), n)
	case "side":
		o.Emit(1, rowOf(machineSide, s.key(), n))
	case "time":
		s.emit("time", o.Watermark(), o.Clock())
	case "fail":
		o.Fail("as told")
	case "bad":
		s.bad(n)
	case "visit":
		o.Effect(abi.EffectVisitKeys, 0, nil)
	default:
		s.called(what, n, x)
	}
}

// bad does a little of everything, then something that it may not: all of it must come
// to nothing.
func (s *step) bad(n int64) {
	o, op := s.o, uint32(s.o.Index)
	o.SetState(s.at["v"], rowOf(number, int64(99)))
	check(s.m.states.Put(op, uint32(s.at["m"]), rowOf(number, int64(0)), rowOf(number, int64(99))))
	check(s.m.states.Put(op, uint32(s.at["l"]), nil, rowOf(number, int64(99))))
	check(s.m.states.Delete(op, uint32(s.at["m"]), rowOf(number, int64(1))))
	o.SetTimer(0, 1)
	o.Emit(0, rowOf(machineOutput, "bad", "bad", nil, nil))
	switch n % 6 {
	case 0:
		o.Fail("as told")
	case 1:
		o.Emit(7, rowOf(machineSide, "bad", nil))
	case 2:
		o.SetTimer(2, 1)
	case 3:
		check(s.m.states.Put(op, 17, nil, nil))
	case 4:
		o.Effect(abi.EffectTouch, 1_000_000, nil)
	case 5:
		o.Emit(0, []byte("no row"))
	}
}

func domainOf(what string) uint32 {
	if what == "clock timer" {
		return 1
	}
	return 0
}

func (s *step) read(v int) {
	s.emit("get", numberOf(s.o.State(v)), nil)
	s.touch(v)
}

// touch says that a slot was read.
func (s *step) touch(v int) { s.o.Effect(abi.EffectTouch, s.o.Slot+uint32(v), nil) }

// called are the ops on states that are reached by host calls: those of the map m, the
// list l and the broadcast state b.
func (s *step) called(what string, n, x int64) {
	op, m, l, b := uint32(s.o.Index), uint32(s.at["m"]), uint32(s.at["l"]), uint32(s.at["b"])
	key, value := rowOf(number, n), rowOf(number, x)
	switch what {
	case "put":
		check(s.m.states.Put(op, m, key, value))
	case "look":
		s.look(m, key, "look", n)
	case "del":
		check(s.m.states.Delete(op, m, key))
	case "del all":
		check(s.m.states.Delete(op, m, nil))
	case "scan":
		var after []byte
		if x != 0 {
			after = key
		}
		s.scan(m, "scan", after)
	case "push":
		check(s.m.states.Put(op, l, nil, key))
	case "list":
		s.scan(l, "list", nil)
	case "empty":
		check(s.m.states.Delete(op, l, nil))
	case "share":
		check(s.m.states.Put(op, b, key, value))
	case "unshare":
		check(s.m.states.Delete(op, b, key))
	case "shared":
		s.look(b, key, "shared", n)
	case "add shared": // on-key: the value grows by what is shared
		s.addShared(b, key)
	default:
		panic("the machine cannot " + what)
	}
}

func (s *step) look(state uint32, key stream.Row, what string, n int64) {
	value, ok, err := s.m.states.Get(uint32(s.o.Index), state, key)
	check(err)
	if !ok {
		s.emit(what, n, nil)
		return
	}
	s.emit(what, n, numberOf(value))
}

func (s *step) addShared(state uint32, key stream.Row) {
	if s.o.Kind == abi.OpOnBroadcast {
		s.o.Effect(abi.EffectVisitKeys, 0, nil)
		return
	}
	value, _, err := s.m.states.Get(uint32(s.o.Index), state, key)
	check(err)
	more, _ := numberOf(value).(int64)
	old, _ := numberOf(s.o.State(s.at["v"])).(int64)
	s.o.SetState(s.at["v"], rowOf(number, old+more))
}

// scan emits entries, two at a time.
func (s *step) scan(state uint32, what string, after []byte) {
	into := make([]byte, 2*(8+16+16))
	for {
		n, err := s.m.states.Scan(uint32(s.o.Index), state, after, into)
		check(err)
		if n <= 0 {
			return
		}
		for b := into[:n]; len(b) > 0; {
			keyBytes, valueBytes := int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
			key, value := b[8:][:keyBytes], b[8+keyBytes:][:valueBytes] // both are multiples of 8 here
			if keyBytes == 8 {
				s.emit(what, int64(binary.LittleEndian.Uint64(key)), numberOf(value))
			} else {
				s.emit(what, numberOf(key), numberOf(value))
			}
			after = append([]byte(nil), key...)
			b = b[8+keyBytes+valueBytes:]
		}
	}
}

// fault is what a host call ended in, which ends the call.
func check(err error) {
	var fault *abi.Fault
	if err != nil && !errors.As(err, &fault) {
		panic(fmt.Sprintf("a host call failed with %v", err))
	}
	if err != nil {
		panic(err)
	}
}

// machines are options whose modules are manifests in JSON, and whose functions are
// machines.
func machines() scenario.Options {
	o := options()
	o.Manifest = func(_ job.Module, text []byte) (*abi.Manifest, error) { return abi.ParseManifestJSON(text) }
	o.Guest = func(f *job.Function, _ []byte) (runtime.Guest, error) { return newMachine(f), nil }
	return o
}

func splitColumns(text string) (columns [][2]string) {
	var name, kind string
	for i, at := 0, 0; at <= len(text); at++ {
		if at < len(text) && text[at] != ',' {
			continue
		}
		if _, err := fmt.Sscan(text[i:at], &name, &kind); err != nil {
			panic(err)
		}
		columns = append(columns, [2]string{name, kind})
		i = at + 1
	}
	return columns
}
