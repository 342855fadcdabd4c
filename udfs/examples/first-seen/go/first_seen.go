// Command first-seen lets each event through once: its state is forgotten after a day.
package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

// The columns of the input, and of the state.
const (
	id      ws.String  = 0
	payload ws.String  = 1
	seen    ws.Boolean = 0
)

// before tells whether the event was seen. Its life begins when it is written, and is not prolonged.
var before = &ws.ValueState{Name: "seen", Columns: ws.Columns{seen.As("seen")}, TTL: ws.TTL{After: "1d"}}

func init() {
	event := ws.Columns{id.As("id"), payload.As("payload")}
	ws.Register(&ws.Process{
		Name: "first-seen", Doc: "each event once: what was seen within a day is left out",
		Input: event, Output: event, States: []ws.State{before},
		OnRecord: func(o *ws.Op, in ws.Row) {
			if !before.Get(o).IsMissing() {
				return
			}
			seen.Set(before.Edit(o), true)
			out := o.Emit(0)
			id.Set(out, id.Get(in))
			payload.Set(out, payload.Get(in))
		},
	})
}

func main() { ws.Main() }
