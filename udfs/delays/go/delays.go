// Command delays is the aggregate function of the hourly-delays job: how many flights, the sum of their delays and the
// longest one.
package main

import wasmstream "github.com/wasmstream/wasmstream/guest-sdk/go"

// The column of the input.
const delay wasmstream.Int = 0

// The columns of the accumulator, and of the result.
const (
	flights  wasmstream.BigInt = 0
	delaySum wasmstream.BigInt = 1
	delayMax wasmstream.Int    = 2
)

func init() {
	totals := wasmstream.Columns{flights.As("flights"), delaySum.As("delay_sum"), delayMax.As("delay_max")}
	wasmstream.Register(&wasmstream.Aggregate{
		Name:        "delays",
		Doc:         "number of flights, sum and maximum of their delays; as in SQL, null without any delay",
		Input:       wasmstream.Columns{delay.As("delay")},
		Accumulator: totals,
		Output:      totals,
		Create:      create,
		Add:         add,
		Merge:       merge,
		Result:      result,
	})
}

func main() { wasmstream.Main() }

func create(acc wasmstream.Row) {
	delaySum.SetNull(acc)
	delayMax.SetNull(acc)
}

func add(acc, in wasmstream.Row) {
	flights.Set(acc, flights.Get(acc)+1)
	if delay.IsNull(in) {
		return
	}
	// As include, spelled out: a call costs half as much as all the rest, and this runs for each record.
	minutes := delay.Get(in)
	delaySum.Set(acc, delaySum.Get(acc)+int64(minutes))
	if minutes > delayMax.Get(acc) || delayMax.IsNull(acc) {
		delayMax.Set(acc, minutes)
	}
}

func merge(acc, other wasmstream.Row) {
	flights.Set(acc, flights.Get(acc)+flights.Get(other))
	if !delayMax.IsNull(other) {
		include(acc, delaySum.Get(other), delayMax.Get(other))
	}
}

// include adds a sum and a maximum that are there.
func include(acc wasmstream.Row, sum int64, longest int32) {
	if delayMax.IsNull(acc) || longest > delayMax.Get(acc) {
		delayMax.Set(acc, longest)
	}
	// A null sum reads as 0.
	delaySum.Set(acc, delaySum.Get(acc)+sum)
}

func result(acc, out wasmstream.Row) {
	flights.Set(out, flights.Get(acc))
	if delayMax.IsNull(acc) {
		delaySum.SetNull(out)
		delayMax.SetNull(out)
		return
	}
	delaySum.Set(out, delaySum.Get(acc))
	delayMax.Set(out, delayMax.Get(acc))
}
