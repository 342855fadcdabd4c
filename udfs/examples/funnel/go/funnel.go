// Command funnel tells how far visitors come: view, cart, payment, in this order and within an hour of the view.
package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

// The columns of the input, of the key, of the state and of the output.
const (
	step    ws.String    = 0
	visitor ws.String    = 0
	n       ws.BigInt    = 0
	began   ws.Timestamp = 1
	reached ws.String    = 1
	after   ws.BigInt    = 2
)

const patience = 3_600_000 // milliseconds

var steps = [...]string{"view", "cart", "payment"}

// progress is how many steps were reached, and when the first was.
var progress = &ws.ValueState{Name: "progress", Columns: ws.Columns{n.As("reached"), began.As("began")}}

func init() {
	ws.Register(&ws.Process{
		Name: "funnel", Doc: "how far visitors come: view, cart, payment, in this order and within an hour of the view",
		Input: ws.Columns{step.As("step")}, Key: ws.Columns{visitor.As("visitor")},
		Output:   ws.Columns{visitor.As("visitor"), reached.As("reached"), after.As("after")},
		States:   []ws.State{progress},
		OnRecord: onRecord,
		OnTimer:  progress.Clear,
	})
}

func onRecord(o *ws.Op, in ws.Row) {
	done := int64(0)
	if s := progress.Get(o); !s.IsMissing() {
		done = n.Get(s)
	}
	if step.Get(in) != steps[done] {
		return
	}
	s := progress.Edit(o)
	n.Set(s, done+1)
	if done == 0 {
		began.Set(s, o.Time())
		o.SetTimer(ws.EventTime, o.Time()+patience)
	}
	out := o.Emit(0)
	visitor.Set(out, visitor.Get(o.Key()))
	reached.Set(out, steps[done])
	after.Set(out, o.Time()-began.Get(s))
	if int(done)+1 == len(steps) {
		o.DeleteTimer(ws.EventTime, began.Get(s)+patience)
		progress.Clear(o)
	}
}

func main() { ws.Main() }
