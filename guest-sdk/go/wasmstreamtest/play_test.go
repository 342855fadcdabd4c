//go:build !wasip1

package wasmstreamtest

import (
	"strings"
	"testing"

	wasmstream "github.com/wasmstream/wasmstream/guest-sdk/go"
	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/cases"
	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// The columns of all functions here.
const (
	n    wasmstream.BigInt = 0
	name wasmstream.String = 1
)

var (
	row      = wasmstream.Columns{n.As("n"), name.As("name")}
	kept     = &wasmstream.ValueState{Name: "kept", Columns: row}
	list     = &wasmstream.ListState{Name: "list", Columns: row}
	table    = &wasmstream.MapState{Name: "table", Key: wasmstream.Columns{n.As("n")}, Columns: row}
	nobodys  = &wasmstream.ValueState{Name: "nobodys", Columns: row}
	unlisted = &wasmstream.ListState{Name: "unlisted", Columns: row}
	unmapped = &wasmstream.MapState{Name: "unmapped", Key: row, Columns: row}
)

func fill(out, in wasmstream.Row) {
	n.Set(out, n.Get(in))
	name.Copy(out, name, in)
}

// keyed is a process function of a name that does one thing with each record.
func keyed(name string, states []wasmstream.State, do func(o *wasmstream.Op, in wasmstream.Row)) wasmstream.Function {
	return &wasmstream.Process{Name: name, Input: row, Output: row, States: states, OnRecord: do}
}

// registered makes the functions be there before any test.
var registered = register()

func register() bool {
	states := []wasmstream.State{kept, list, table}
	wasmstream.Register(
		&wasmstream.FlatMap{
			Name: "split", Input: row, Output: row, Outputs: []wasmstream.Output{{Name: "rest", Columns: row}},
			FlatMap: func(o *wasmstream.Op, in wasmstream.Row) { fill(o.Emit(int(n.Get(in))), in) },
		},
		&wasmstream.Trigger{
			Name: "early", Input: row,
			OnElement: func(o *wasmstream.Op, in wasmstream.Row) wasmstream.Decision {
				o.SetTimer(wasmstream.Domain(n.Get(in)), 5)
				return wasmstream.Decision(n.Get(in))
			},
			OnEventTime: func(*wasmstream.Op) wasmstream.Decision { return wasmstream.Fire },
		},
		&wasmstream.Evictor{Name: "leave", Input: row, Evict: func(o *wasmstream.Op, after bool) {
			if o.Len() > 1 {
				o.Element(o.Len())
			}
			o.Evict(-1)
		}},
		keyed("keep", states, func(o *wasmstream.Op, in wasmstream.Row) {
			fill(kept.Edit(o), in)
			element := list.Row()
			fill(element, in)
			list.Add(o, element)
			key := table.KeyRow()
			n.Set(key, n.Get(in))
			table.Put(o, key, in)
		}),
		keyed("late", nil, func(o *wasmstream.Op, in wasmstream.Row) { o.SetTimer(wasmstream.ProcessingTime, n.Get(in)) }),
		keyed("another", nil, func(o *wasmstream.Op, in wasmstream.Row) { kept.Edit(o) }),
		keyed("value", nil, func(o *wasmstream.Op, in wasmstream.Row) { nobodys.Get(o) }),
		keyed("list", nil, func(o *wasmstream.Op, in wasmstream.Row) { unlisted.Clear(o) }),
		keyed("blank", nil, func(o *wasmstream.Op, in wasmstream.Row) { unlisted.Row() }),
		keyed("map", nil, func(o *wasmstream.Op, in wasmstream.Row) { unmapped.Remove(o, in) }),
	)
	return true
}

// problems are what playing cases of a function tells, a line each.
func problems(t *testing.T, function, text string) string {
	t.Helper()
	m, err := cases.ReadManifest(raw.Guest.Describe())
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := cases.Vectors(m, []byte("function "+function+"\ncase c\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, v := range vectors {
		g := &native{}
		g.ScopeOf = m.Functions[v.Function].ScopeOf
		raw.States = g
		if _, err := playVector(&v, g); err != nil {
			told = append(told, err.Error())
		}
	}
	return strings.Join(told, "\n")
}

// TestWrongCasesAreTold: by the line, in the words of cases, with the columns that differ.
func TestWrongCasesAreTold(t *testing.T) {
	const two = "on-record {\"n\": 0, \"name\": \"ann\"}\n=> emit {\"n\": 0, \"name\": \"ann\"}\non-record {\"n\": 1, \"name\": \"bob\"}\n"
	for _, c := range []struct{ function, text, want string }{
		{"split", two + `=> emit rest {"n": 2, "name": "bob"}`,
			`line 5, on-record {"n": 1, "name": "bob"}: want emit rest {"n": 2, "name": "bob"}; got emit rest {"n": 1, "name": "bob"}: column n is 1, not 2`},
		{"split", two + `=> emit rest {"n": 1, "name": "a name of more than seven"}`, `: column name is "bob", not "a name of more than seven"`},
		{"split", two + `=> emit rest {"n": 1}`, `: column name is "bob", not null`},
		{"split", two + `=> emit {"n": 1, "name": "bob"}`, `want emit {"n": 1, "name": "bob"}; got emit rest {"n": 1, "name": "bob"}`},
		{"split", two, `line 5, on-record {"n": 1, "name": "bob"}: got emit rest {"n": 1, "name": "bob"}, beyond what is wanted`},
		{"split", "on-record {\"n\": 0}\n=> emit {\"n\": 0}\n=> keep", `line 3, on-record {"n": 0}: want keep; got nothing`},
		{"early", "on-element {\"n\": 0}\n=> set-timer event 6", "line 3, on-element {\"n\": 0}: want set-timer event 6; got set-timer event 5"},
		{"keep", "on-record {\"n\": 1}\nstate kept {\"n\": 2}", `line 3, on-record {"n": 1}: state kept must hold {"n": 2, "name": null}; it holds {"n": 1, "name": null}: column n is 1, not 2`},
		{"keep", "on-record {\"n\": 1}\nstate kept -", `state kept must hold nothing; it holds {"n": 1, "name": null}`},
		{"keep", "on-record {\"n\": 1}\nstate list {\"n\": 1}, {\"n\": 1}", `state list must hold {"n": 1, "name": null}, {"n": 1, "name": null}; it holds {"n": 1, "name": null}`},
		{"keep", "on-record {\"n\": 1}\nstate table {\"n\": 1}: {\"n\": 3}", `state table must hold {"n": 1}: {"n": 3, "name": null}; it holds {"n": 1}: {"n": 1, "name": null}: column n is 1, not 3`},
	} {
		got := problems(t, c.function, c.text)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s\n%s\ngot:\n%s\nwant:\n%s", c.function, c.text, got, c.want)
		}
	}
}

// TestWhatIsNotThereIsRefused: outputs, elements, decisions, timers and states that a function does not have. The message
// is that of the fault, in Wasm as natively.
func TestWhatIsNotThereIsRefused(t *testing.T) {
	for _, c := range []struct{ function, text, want string }{
		{"split", `on-record {"n": 3}`, "wasmstream: flat-map split asks for output 3 and has 2, numbered from 0"},
		{"split", `on-record {"n": -1}`, "wasmstream: flat-map split asks for output -1 and has 2"},
		{"early", `on-element {"n": 1}`, "wasmstream: trigger early sets a timer, and has no OnProcessingTime to be called by it"},
		{"early", `on-element {"n": 2}`, "wasmstream: trigger early sets a timer, and there is no domain 2"},
		{"late", `on-record {"n": 5}`, "wasmstream: process late sets a timer, and has no OnTimer to be called by it"},
		{"late", "on-timer event @5", "wasmstream: process late has no OnTimer for a timer that is due"},
		{"leave", "element {}\nevict before", "wasmstream: evictor leave asks for element -1 and has 1, numbered from 0"},
		{"leave", "element {}\nelement {}\nevict after", "wasmstream: evictor leave asks for element 2 and has 2, numbered from 0"},
		{"another", `on-record {}`, "wasmstream: process another uses the state kept, which is not among its States"},
		{"value", `on-record {}`, "wasmstream: process value uses the state nobodys, which is not among its States"},
		{"list", `on-record {}`, "wasmstream: process list uses the state, which is not among its States"},
		{"blank", `on-record {}`, "wasmstream: a row for a state that no function has among its States"},
		{"map", `on-record {}`, "wasmstream: process map uses the state, which is not among its States"},
	} {
		got := problems(t, c.function, c.text)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s\n%s\ngot:\n%s\nwant:\n%s", c.function, c.text, got, c.want)
		}
	}
}
