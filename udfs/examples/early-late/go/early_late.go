// Command early-late fires early, at the end of the window, and for each record that is late.
package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

// The column of the state, and the parameter.
const (
	due            ws.BigInt = 0
	earlyParameter ws.BigInt = 0
)

// early is how long results wait, in milliseconds of processing time.
var early int64

// next is when the window fires early; no value where nothing is new.
var next = &ws.ValueState{Name: "early", Columns: ws.Columns{due.As("due")}, Scope: ws.PerWindow}

func init() {
	ws.Register(&ws.Trigger{
		Name: "early-late", Doc: "fires early, now and then while records come, at the end of the window, and for each record that is late",
		Parameters: []ws.Parameter{{Column: earlyParameter.As("early"), Default: "10000", Doc: "milliseconds"}},
		Open:       func(o *ws.Opening) { early = earlyParameter.Get(o.Parameters) },
		States:     []ws.State{next},
		OnElement:  onElement,
		OnEventTime: func(o *ws.Op) ws.Decision {
			if o.Time() != o.Last() {
				return ws.Continue
			}
			forget(o)
			return ws.Fire
		},
		OnProcessingTime: func(o *ws.Op) ws.Decision {
			if s := next.Get(o); s.IsMissing() || due.Get(s) != o.Time() {
				return ws.Continue
			}
			next.Clear(o)
			return ws.Fire
		},
		OnMerge: onMerge,
		Clear: func(o *ws.Op) {
			forget(o)
			o.DeleteTimer(ws.EventTime, o.Last())
		},
	})
}

func onElement(o *ws.Op, _ ws.Row) ws.Decision {
	if o.Last() <= o.Watermark() {
		return ws.Fire // late
	}
	o.SetTimer(ws.EventTime, o.Last())
	if next.Get(o).IsMissing() {
		due.Set(next.Edit(o), o.Clock()+early)
		o.SetTimer(ws.ProcessingTime, o.Clock()+early)
	}
	return ws.Continue
}

func onMerge(o *ws.Op) {
	for i := range o.Len() {
		of, s := next.Merged(o, i), next.Get(o)
		if !of.IsMissing() && (s.IsMissing() || due.Get(of) < due.Get(s)) {
			due.Set(next.Edit(o), due.Get(of))
		}
	}
	if s := next.Get(o); !s.IsMissing() {
		o.SetTimer(ws.ProcessingTime, due.Get(s))
	}
	if o.Last() > o.Watermark() {
		o.SetTimer(ws.EventTime, o.Last())
	}
}

// forget deletes the timer of the next early firing.
func forget(o *ws.Op) {
	if s := next.Get(o); !s.IsMissing() {
		o.DeleteTimer(ws.ProcessingTime, due.Get(s))
		next.Clear(o)
	}
}

func main() { ws.Main() }
