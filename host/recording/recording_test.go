package recording_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/conformance"
	"github.com/wasmstream/wasmstream/host/recording"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/stream"
)

const wasmDir = "../../testdata/wasm"

func load(t testing.TB, name string) *sandbox.Module {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(wasmDir, name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := sandbox.NewEngine(context.Background(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	m, err := e.Load(context.Background(), name, wasm)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// module makes instances that are recorded.
type module struct {
	*sandbox.Module
	w   *recording.Writer
	of  *abi.Function
	key stream.Row
}

func (m module) New() (conformance.Instance, error) {
	i, err := m.Instantiate(context.Background(), sandbox.InstanceOptions{})
	if err != nil {
		return nil, err
	}
	return &asHosts{m.w.Wrap(i, functionOf(m.of), m.key).(conformance.Instance), i, nil}, nil
}

// asHosts has recorded what a host does: it opens a function once, and speaks one version.
type asHosts struct {
	conformance.Instance
	bare   *sandbox.Instance
	opened []byte
}

func (a *asHosts) Open(function uint32, frame []byte) ([]byte, error) {
	effects, err := a.bare.Open(function, frame)
	a.opened = bytes.Clone(frame)
	return bytes.Clone(effects), err
}

func (a *asHosts) Call(function, pointer uint32, length int) ([]byte, error) {
	frame := bytes.Clone(a.bare.Frame()[:length])
	h, err := abi.ReadHeader(frame)
	if err != nil || abi.ReadOp(frame, int(h.OpsOffset)).Kind > abi.OpOnKey {
		return a.bare.Call(function, pointer, length)
	}
	if a.opened != nil {
		if _, err := a.Instance.Open(function, a.opened); err != nil {
			return nil, err
		}
		a.opened = nil
		room, again, err := a.Instance.In(length)
		if err != nil || again != pointer {
			return nil, fmt.Errorf("the buffer is at %d, and was at %d: %w", again, pointer, err)
		}
		copy(room, frame)
	}
	return a.Instance.Call(function, pointer, length)
}

func functionOf(f *abi.Function) recording.Function {
	text, err := protojson.Marshal(&abi.Manifest{Functions: []*abi.Function{f}})
	if err != nil {
		panic(err)
	}
	return recording.Function{Step: "step", Module: "m", Name: f.GetName(), Role: f.GetRole(), Manifest: string(text)}
}

// record plays the suites of a module while it is recorded, function by function.
func record(t testing.TB, name string, o recording.Options, key stream.Row, functions ...string) []byte {
	t.Helper()
	suites, err := conformance.Suites(abi.Vectors, "next/vectors")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := recording.NewWriter(&out, o, recording.Header{Job: "job", Modules: []recording.Module{{Name: "m"}}})
	if err != nil {
		t.Fatal(err)
	}
	m := load(t, name)
	chosen, err := conformance.Choose(suites, m.Manifest())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range chosen {
		for i, f := range s.Manifest.GetFunctions() {
			if m.Manifest().FunctionIndex(f.GetName()) < 0 || len(functions) > 0 && !strings.Contains(strings.Join(functions, " "), f.GetName()) {
				continue
			}
			one := s
			one.Vectors = nil
			for _, v := range s.Vectors {
				if int(v.Function) == i {
					one.Vectors = append(one.Vectors, v)
				}
			}
			report, err := one.Run(module{m, w, f, key})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range report.Results {
				if r.Problem != "" {
					t.Errorf("what is recorded does otherwise: %+v", r)
				}
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// content is what a recording was read as.
type content struct {
	functions, calls, states, faults int
	differences                      []string
	err                              error
	reason                           string
}

// replay reads a recording and makes its calls again; without a module it only reads.
func replay(t testing.TB, text []byte, m *sandbox.Module, function string) (c content) {
	t.Helper()
	r, err := recording.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return content{err: err}
	}
	players := map[uint32]*recording.Player{}
	for {
		f, call, err := r.Next()
		if err != nil {
			c.reason = r.Reason
			if !errors.Is(err, io.EOF) {
				c.err = err
			}
			return c
		}
		var d *recording.Difference
		switch {
		case f != nil:
			c.functions++
			if m == nil {
				break
			}
			name := f.Name
			if function != "" {
				name = function
			}
			i, failed := m.Instantiate(context.Background(), sandbox.InstanceOptions{})
			if failed != nil {
				t.Fatal(failed)
			}
			t.Cleanup(func() { _ = i.Close() })
			index := m.Manifest().FunctionIndex(name)
			players[f.ID], d, err = recording.NewPlayer(f, i, uint32(index), m.Manifest().GetFunctions()[index])
		default:
			c.calls++
			c.states += len(call.States)
			if call.Outcome == recording.Faulted {
				c.faults++
			}
			if m != nil {
				d, err = players[call.Function].Replay(call)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if d != nil {
			c.differences = append(c.differences, fmt.Sprintf("%+v", show(d)))
		}
	}
}

func show(d *recording.Difference) string {
	text := fmt.Sprintf("call %d, %s -> %s", d.Call, d.Was, d.Is)
	for _, p := range d.Parts {
		if p.Op != nil {
			text += fmt.Sprintf("; op %d %s", *p.Op, p.Ask)
		} else {
			text += fmt.Sprintf("; slot %d of %s", *p.Slot, p.Of)
		}
		text += fmt.Sprintf(" %q -> %q", p.Was, p.Is)
	}
	return text
}

// What functions of all roles did, they do again, with states and faults; and so do
// modules in other languages.
func TestReplay(t *testing.T) {
	for _, c := range []struct {
		module, on     string
		states, faults bool
	}{
		{"roles-c", "roles-c", false, true}, {"stores-c", "stores-c", true, false}, {"delays-c", "delays-go", false, false},
		{"delays-go", "delays-c", false, false},
	} {
		text := record(t, c.module, recording.Options{}, nil)
		got := replay(t, text, load(t, c.on), "")
		if got.err != nil || got.functions == 0 || got.calls < 20 || len(got.differences) > 0 || (got.states > 0) != c.states || (got.faults > 0) != c.faults {
			t.Errorf("%s on %s: %+v", c.module, c.on, got)
		}
	}
}

// What another version does differently is told by op and slot.
func TestDifferences(t *testing.T) {
	text := record(t, "delays-c", recording.Options{}, nil)
	for variant, want := range map[string]string{
		"trap":         "call 0, answered -> fault trap: ",
		"fail":         "call 0, answered -> fault failed: no such luck",
		"full":         "call 0, answered -> too large: ",
		"no-result":    `; op 2 result, slot 0 ["emit to output 0, (flights 1, delay_sum 7, delay_max 7)"] -> []; slot 0 of the accumulator ["(flights 1, delay_sum 7, delay_max 7)"] -> ["(flights 0, delay_sum 0, delay_max 0)"]`,
		"two-results":  `; op 2 result, slot 0 ["emit to output 0, (flights 1, delay_sum 7, delay_max 7)"] -> ["emit to output 0, (flights 0, delay_sum 0, delay_max 0)" "emit to output 0, (flights 0, delay_sum 0, delay_max 0)"]`,
		"effects-kind": "answered -> guest fault bad-effect: ",
		"emit-for-add": `; op 1 add, slot 0, (delay 7) [] -> ["emit to output 0, `,
	} {
		got := replay(t, text, load(t, "misbehaving-"+variant), "misbehaving")
		if !strings.Contains(strings.Join(got.differences, "\n"), want) {
			t.Errorf("%s: want %s in %q", variant, want, got.differences[:min(4, len(got.differences))])
		}
	}
}

// Of a recording that is cut anywhere, all that is whole before can be read; of one that is
// altered anywhere, no more.
func TestCutRecordings(t *testing.T) {
	text := record(t, "stores-c", recording.Options{}, nil)
	whole := replay(t, text, nil, "")
	last := content{}
	for n := 0; n < len(text); n += 1 + n%31 {
		got := replay(t, text[:n], nil, "")
		if got.err == nil || got.calls < last.calls || got.functions < last.functions {
			t.Fatalf("of %d bytes of %d: %+v, of one less %+v", n, len(text), got, last)
		}
		last = got
	}
	last = replay(t, text[:len(text)-1], nil, "")
	if last.calls != whole.calls || last.functions != whole.functions || whole.err != nil {
		t.Errorf("at the end %+v, of the whole %+v", last, whole)
	}
	if got := replay(t, append(bytes.Clone(text), text...), nil, ""); got.err == nil || errors.As(got.err, new(*recording.CutError)) {
		t.Errorf("of two in a file: %+v", got)
	}
	damaged, tries := 0, 0
	for n := 0; n < len(text); n += 101 {
		altered := bytes.Clone(text)
		altered[n] ^= 0x10
		got := replay(t, altered, nil, "")
		if got.err == nil {
			t.Errorf("byte %d altered: nothing is wrong: %+v", n, got)
		} else if !errors.As(got.err, new(*recording.CutError)) {
			damaged++
		}
		tries++
	}
	if damaged < tries*3/4 { // a length that is altered may look as if the recording broke off
		t.Errorf("%d of %d alterations are told from a recording that breaks off", damaged, tries)
	}
}

// A recording ends at its limit, says so, and what is recorded goes on.
func TestLimit(t *testing.T) {
	var told []error
	const most = 20_000
	text := record(t, "delays-c", recording.Options{BytesMax: most, Stopped: func(reason error) { told = append(told, reason) }}, nil)
	got := replay(t, text, nil, "")
	if len(text) > most || len(text) < most/2 || got.err != nil || got.reason == "" || len(told) != 1 {
		t.Errorf("%d bytes, %+v, told %v", len(text), got, told)
	}
	if _, err := recording.NewWriter(io.Discard, recording.Options{BytesMax: 1}, recording.Header{}); err == nil {
		t.Error("a recording of one byte is begun")
	}
}

// failing takes so many bytes.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("the disk is full")
	}
	return len(b), nil
}

// A disk that is full ends the recording, not the calls.
func TestWriteFails(t *testing.T) {
	var told []error
	w, err := recording.NewWriter(&failing{1500}, recording.Options{Stopped: func(reason error) { told = append(told, reason) }}, recording.Header{})
	if err != nil {
		t.Fatal(err)
	}
	m := load(t, "delays-c")
	suites, err := conformance.Suites(abi.Vectors, "next/vectors")
	if err != nil {
		t.Fatal(err)
	}
	report, err := suites[0].Run(module{m, w, m.Manifest().GetFunctions()[0], nil})
	if err != nil || len(report.Results) < 20 {
		t.Fatal(report, err)
	}
	for _, r := range report.Results {
		if r.Problem != "" {
			t.Errorf("%+v", r)
		}
	}
	if err := w.Close(); err != nil || len(told) != 1 || told[0].Error() != "the disk is full" {
		t.Errorf("told %v, closed with %v", told, err)
	}
}

// Samples are of each instance's calls, the first one always.
func TestSample(t *testing.T) {
	all := replay(t, record(t, "delays-c", recording.Options{}, nil), nil, "")
	some := replay(t, record(t, "delays-c", recording.Options{Sample: 1000}, nil), nil, "")
	if some.calls != some.functions || some.functions != all.functions || all.calls <= 2*some.calls {
		t.Errorf("all %+v, samples %+v", all, some)
	}
}

// By a key, calls are recorded that have an op of it.
func TestKey(t *testing.T) {
	schema := stream.MustSchema(stream.Field{Name: "user", Type: stream.Type{Kind: stream.String}})
	key := func(user string) stream.Row {
		w := stream.NewRowWriter(schema)
		w.BeginIn(nil, stream.Insert)
		w.SetBytes(0, []byte(user))
		return w.Row()
	}
	all := replay(t, record(t, "roles-c", recording.Options{}, nil, "idle"), nil, "")
	counts := map[string]int{}
	for _, user := range []string{"ann", "bob, whose name is long", "nobody"} {
		text := record(t, "roles-c", recording.Options{}, key(user), "idle")
		got := replay(t, text, load(t, "roles-c"), "")
		if len(got.differences) > 0 || got.err != nil || got.functions != all.functions {
			t.Errorf("%s: %+v", user, got)
		}
		counts[user] = got.calls
	}
	if counts["nobody"] != 0 || counts["bob, whose name is long"] == 0 || counts["ann"] <= counts["bob, whose name is long"] || counts["ann"] >= all.calls {
		t.Errorf("of %d calls: %v", all.calls, counts)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(record(f, "stores-c", recording.Options{BytesMax: 8192}, nil))
	f.Fuzz(func(t *testing.T, text []byte) { replay(t, text, nil, "") })
}

// A function that takes other frames cannot be asked again; what is for people may change.
func TestRefusesOtherFunctions(t *testing.T) {
	column := func(name, kind string) *abi.Schema {
		return &abi.Schema{Fields: []*abi.Field{{Name: name, Type: kind}}}
	}
	then := &abi.Function{
		Name: "f", Role: abi.RoleCoProcess, Input: column("v", "BIGINT"), SecondInput: column("v", "BIGINT"), Output: column("v", "BIGINT"), Key: column("k", "STRING"),
		Parameters: []*abi.Parameter{{Name: "p", Type: "INT"}}, States: []*abi.State{{Name: "s", Kind: abi.StateValue, Value: column("v", "BIGINT")}},
	}
	for name, change := range map[string]func(*abi.Function){
		"role":         func(f *abi.Function) { f.Role = abi.RoleBroadcastProcess },
		"input":        func(f *abi.Function) { f.Input = column("v", "INT") },
		"second input": func(f *abi.Function) { f.SecondInput = &abi.Schema{Any: true} },
		"key":          func(f *abi.Function) { f.Key = column("k", "BIGINT") },
		"accumulator":  func(f *abi.Function) { f.Accumulator = column("v", "INT") },
		"parameter p":  func(f *abi.Function) { f.Parameters[0].Type = "BIGINT" },
		"state s":      func(f *abi.Function) { f.States[0].Kind = abi.StateList },

		"number of parameters": func(f *abi.Function) { f.Parameters = nil },
		"number of states":     func(f *abi.Function) { f.States = append(f.States, f.States[0]) },
	} {
		now := proto.Clone(then).(*abi.Function)
		change(now)
		f := functionOf(then)
		_, _, err := recording.NewPlayer(&f, nil, 0, now)
		if want := "the " + name + " of m.f is another now: its calls cannot be replayed"; err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	without := proto.Clone(then).(*abi.Function)
	without.Key = nil
	f := functionOf(without)
	if _, _, err := recording.NewPlayer(&f, nil, 0, then); err == nil || !strings.Contains(err.Error(), "the key of m.f is another now") {
		t.Errorf("a key that frames do not have: %v", err)
	}
	// Names of states and of the key's columns, and docs, are for people.
	now := proto.Clone(then).(*abi.Function)
	now.Doc, now.States[0].Name, now.Key.Fields[0].Name = "another", "other", "name"
	f = functionOf(then)
	if _, _, err := recording.NewPlayer(&f, nil, 0, now); err == nil || strings.Contains(err.Error(), "another now") {
		t.Errorf("other names: %v", err)
	}
}
