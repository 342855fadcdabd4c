// Command delays is the aggregate function of the hourly-delays job: how many flights, the sum of their delays and the
// longest one.
package main

import wasmstream "github.com/wasmstream/wasmstream/guest-sdk/go"

// The columns of the input, the accumulator and the result.
var (
	delay = wasmstream.Int("delay")

	flights  = wasmstream.BigInt("flights")
	delaySum = wasmstream.BigInt("delay_sum")
	delayMax = wasmstream.Int("delay_max")

	outFlights  = wasmstream.BigInt("flights")
	outDelaySum = wasmstream.BigInt("delay_sum")
	outDelayMax = wasmstream.Int("delay_max")
)

func init() {
	wasmstream.Register(&wasmstream.Aggregate{
		Name:        "delays",
		Doc:         "number of flights, sum and maximum of their delays; as in SQL, null without any delay",
		Input:       wasmstream.Columns{delay},
		Accumulator: wasmstream.Columns{flights, delaySum, delayMax},
		Output:      wasmstream.Columns{outFlights, outDelaySum, outDelayMax},
		Create:      create,
		Add:         add,
		Merge:       merge,
		Result:      result,
	})
}

func main() { wasmstream.Main() }

func create(acc *wasmstream.Row) {
	delaySum.SetNull(acc)
	delayMax.SetNull(acc)
}

func add(acc, in *wasmstream.Row) {
	flights.Set(acc, flights.Get(acc)+1)
	if !delay.IsNull(in) {
		include(acc, int64(delay.Get(in)), delay.Get(in))
	}
}

func merge(acc, other *wasmstream.Row) {
	flights.Set(acc, flights.Get(acc)+flights.Get(other))
	if !delayMax.IsNull(other) {
		include(acc, delaySum.Get(other), delayMax.Get(other))
	}
}

// include adds a sum and a maximum that are there.
func include(acc *wasmstream.Row, sum int64, longest int32) {
	if delayMax.IsNull(acc) || longest > delayMax.Get(acc) {
		delayMax.Set(acc, longest)
	}
	// A null sum reads as 0.
	delaySum.Set(acc, delaySum.Get(acc)+sum)
}

func result(acc, out *wasmstream.Row) {
	outFlights.Set(out, flights.Get(acc))
	if delayMax.IsNull(acc) {
		outDelaySum.SetNull(out)
		outDelayMax.SetNull(out)
		return
	}
	outDelaySum.Set(out, delaySum.Get(acc))
	outDelayMax.Set(out, delayMax.Get(acc))
}
