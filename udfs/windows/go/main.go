// Command windows has triggers that read no record, as ../c has them: what it costs to ask one is measured with them.
package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

func init() { ws.Register(atEnd, counted) }

func main() { ws.Main() }

// atEnd is as the built-in trigger event-time.
var atEnd = &ws.Trigger{
	Name: "at-end", Doc: "fires at the window's end, and at each record after it",
	OnElement: func(o *ws.Op, _ ws.Row) ws.Decision {
		if o.Last() <= o.Watermark() {
			return ws.Fire
		}
		o.SetTimer(ws.EventTime, o.Last())
		return ws.Continue
	},
	OnEventTime: func(o *ws.Op) ws.Decision {
		if o.Time() == o.Last() {
			return ws.Fire
		}
		return ws.Continue
	},
	OnMerge: func(o *ws.Op) {
		if o.Last() > o.Watermark() {
			o.SetTimer(ws.EventTime, o.Last())
		}
	},
	Clear: func(o *ws.Op) { o.DeleteTimer(ws.EventTime, o.Last()) },
}

const (
	size ws.BigInt = 0 // of the parameters
	n    ws.BigInt = 0 // of the state
)

// most is a cache of the parameter: each instance is opened anew.
var most int64

var seen = &ws.ValueState{Name: "seen", Columns: ws.Columns{n.As("n")}, Scope: ws.PerWindow, Combines: "reducing"}

// counted is as the built-in trigger count.
var counted = &ws.Trigger{
	Name: "counted", Doc: "fires at every so many records",
	Parameters: []ws.Parameter{{Column: size.As("size")}},
	Open:       func(o *ws.Opening) { most = size.Get(o.Parameters) },
	States:     []ws.State{seen},
	OnElement: func(o *ws.Op, _ ws.Row) ws.Decision {
		count := seen.Edit(o)
		n.Set(count, n.Get(count)+1)
		if n.Get(count) < most {
			return ws.Continue
		}
		seen.Clear(o)
		return ws.Fire
	},
	OnMerge: func(o *ws.Op) {
		sum := int64(0)
		for i := range o.Len() {
			if count := seen.Merged(o, i); !count.IsMissing() {
				sum += n.Get(count)
			}
		}
		if sum > 0 {
			n.Set(seen.Edit(o), sum)
		}
	},
	Clear: func(o *ws.Op) { seen.Clear(o) },
}
