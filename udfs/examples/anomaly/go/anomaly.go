// Command anomaly finds values that are far from a moving mean, weighted exponentially.
package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

// The columns of the input, of the key, of the state and of the output, and the parameters.
const (
	value    ws.Double = 0
	sensor   ws.String = 0
	n        ws.BigInt = 0
	mean     ws.Double = 1
	variance ws.Double = 2
	odd      ws.Double = 1
	before   ws.Double = 2

	shareParameter      ws.Double = 0
	deviationsParameter ws.Double = 1
)

// enough is how many values there must have been.
const enough = 3

// share is the weight of a new value, limit the square of how many deviations are far.
var share, limit float64

var moving = &ws.ValueState{Name: "moving", Columns: ws.Columns{n.As("n"), mean.As("mean"), variance.As("variance")}}

func init() {
	ws.Register(&ws.Process{
		Name: "anomaly", Doc: "values that are far from what there was before: more than so many deviations from a moving mean",
		Input: ws.Columns{value.As("value")}, Key: ws.Columns{sensor.As("sensor")},
		Output: ws.Columns{sensor.As("sensor"), odd.As("value"), before.As("mean")},
		States: []ws.State{moving},
		Parameters: []ws.Parameter{
			{Column: shareParameter.As("share"), Default: "0.1", Doc: "of a new value in the mean"},
			{Column: deviationsParameter.As("deviations"), Default: "4"},
		},
		Open: func(o *ws.Opening) {
			share = shareParameter.Get(o.Parameters)
			limit = deviationsParameter.Get(o.Parameters) * deviationsParameter.Get(o.Parameters)
		},
		OnRecord: onRecord,
	})
}

func onRecord(o *ws.Op, in ws.Row) {
	if value.IsNull(in) {
		return
	}
	s, v := moving.Edit(o), value.Get(in)
	n.Set(s, n.Get(s)+1)
	if n.Get(s) == 1 {
		mean.Set(s, v)
		return
	}
	difference := v - mean.Get(s)
	if n.Get(s) > enough && difference*difference > limit*variance.Get(s) {
		out := o.Emit(0)
		sensor.Set(out, sensor.Get(o.Key()))
		odd.Set(out, v)
		before.Set(out, mean.Get(s))
	}
	variance.Set(s, (1-share)*(variance.Get(s)+share*(difference*difference)))
	mean.Set(s, mean.Get(s)+share*difference)
}

func main() { ws.Main() }
