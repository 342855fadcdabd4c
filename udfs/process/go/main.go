// Command process has the process functions of benchmarks, as ../c has them.
package main

import (
	"math"

	ws "github.com/wasmstream/wasmstream/guest-sdk/go"
)

func init() { ws.Register(tick, idle) }

func main() { ws.Main() }

const (
	bidder    ws.BigInt    = 0 // of the input, the key and the outputs
	records   ws.BigInt    = 0 // of the state ticks
	times     ws.BigInt    = 1
	n         ws.BigInt    = 0 // of the state counted
	last      ws.Timestamp = 1
	told      ws.BigInt    = 1 // of the outputs
	toldTimes ws.BigInt    = 2
	gap       ws.BigInt    = 0 // of the parameters
)

var (
	bid        = ws.Columns{bidder.As("bidder")}
	parameters = []ws.Parameter{{Column: gap.As("gap"), Default: "1000", Doc: "milliseconds"}}
	ticks      = &ws.ValueState{Name: "ticks", Columns: ws.Columns{records.As("records"), times.As("times")}}
	counted    = &ws.ValueState{Name: "counted", Columns: ws.Columns{n.As("n"), last.As("last")}}
)

// Caches of the parameters: each instance is opened anew.
var after, patience int64

// tick counts a key's records, and by a timer for each of them how many times there were; it tells both at the end of time.
var tick = &ws.Process{
	Name: "tick", Doc: "how many records and times of records a key had",
	Input: bid, Key: bid, Output: ws.Columns{bidder.As("bidder"), told.As("records"), toldTimes.As("times")},
	Parameters: parameters, Open: func(o *ws.Opening) { after = gap.Get(o.Parameters) },
	States: []ws.State{ticks},
	OnRecord: func(o *ws.Op, _ ws.Row) {
		s := ticks.Edit(o)
		if records.Get(s) == 0 {
			o.SetTimer(ws.EventTime, math.MaxInt64)
		}
		records.Set(s, records.Get(s)+1)
		o.SetTimer(ws.EventTime, o.Time()+after)
	},
	OnTimer: func(o *ws.Op) {
		s := ticks.Edit(o)
		if o.Time() < math.MaxInt64 {
			times.Set(s, times.Get(s)+1)
			return
		}
		out := o.Emit(0)
		bidder.Set(out, bidder.Get(o.Key()))
		told.Set(out, records.Get(s))
		toldTimes.Set(out, times.Get(s))
		ticks.Clear(o)
	},
}

// idle is Flink's count with a timeout: a key is told when nothing has come of it for a while. Timers that a later record
// has overtaken say nothing.
var idle = &ws.Process{
	Name: "idle", Doc: "how many records a key had when none came for a while",
	Input: bid, Key: bid, Output: ws.Columns{bidder.As("bidder"), told.As("n")},
	Parameters: parameters, Open: func(o *ws.Opening) { patience = gap.Get(o.Parameters) },
	States: []ws.State{counted},
	OnRecord: func(o *ws.Op, _ ws.Row) {
		s := counted.Edit(o)
		n.Set(s, n.Get(s)+1)
		last.Set(s, o.Time())
		o.SetTimer(ws.EventTime, o.Time()+patience)
	},
	OnTimer: func(o *ws.Op) {
		s := counted.Get(o)
		if s.IsMissing() || last.Get(s)+patience != o.Time() {
			return
		}
		out := o.Emit(0)
		bidder.Set(out, bidder.Get(o.Key()))
		told.Set(out, n.Get(s))
		counted.Clear(o)
	},
}
