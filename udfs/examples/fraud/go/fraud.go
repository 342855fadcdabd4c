// Command fraud looks for three failed logins, then one that succeeds, within ten minutes.
package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

// The columns of the input, of the key, of the state and of the output.
const (
	ok       ws.Boolean   = 0
	user     ws.String    = 0
	n        ws.BigInt    = 0
	since    ws.Timestamp = 1
	failures ws.BigInt    = 1
	began    ws.Timestamp = 2
)

const (
	enough   = 3
	patience = 600_000 // milliseconds
)

// failed is how many logins failed, and when the first of them did.
var failed = &ws.ValueState{Name: "failures", Columns: ws.Columns{n.As("n"), since.As("since")}}

func init() {
	ws.Register(&ws.Process{
		Name: "fraud", Doc: "three failed logins, then one that succeeds, within ten minutes",
		Input: ws.Columns{ok.As("ok")}, Key: ws.Columns{user.As("user")},
		Output:   ws.Columns{user.As("user"), failures.As("failures"), began.As("since")},
		States:   []ws.State{failed},
		OnRecord: onRecord,
		OnTimer:  failed.Clear,
	})
}

func onRecord(o *ws.Op, in ws.Row) {
	before := failed.Get(o)
	if !ok.Get(in) {
		s := failed.Edit(o)
		n.Set(s, n.Get(s)+1)
		if before.IsMissing() {
			since.Set(s, o.Time())
			o.SetTimer(ws.EventTime, o.Time()+patience)
		}
		return
	}
	if before.IsMissing() {
		return
	}
	if n.Get(before) >= enough {
		out := o.Emit(0)
		user.Set(out, user.Get(o.Key()))
		failures.Set(out, n.Get(before))
		began.Set(out, since.Get(before))
	}
	o.DeleteTimer(ws.EventTime, since.Get(before)+patience)
	failed.Clear(o)
}

func main() { ws.Main() }
