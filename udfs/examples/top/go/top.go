// Command top finds the items that come most often, by a sketch (space-saving): each of eight counters has an item; an item
// without a counter takes that of the rarest, and counts on from there.
package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

const counters = 8

// The column of the input, and the first ones of the accumulator: of counter i, item and n are at 2i and 2i+1. A counter
// whose n is 0 has no item.
const item ws.BigInt = 0

func itemOf(i int) ws.BigInt { return ws.BigInt(2 * i) }
func nOf(i int) ws.BigInt    { return ws.BigInt(2*i + 1) }

func init() {
	var accumulator, output ws.Columns
	for i := range counters {
		letter := string(rune('a' + i))
		accumulator = append(accumulator, itemOf(i).As(letter), nOf(i).As(letter+"_n"))
	}
	for i, name := range []string{"first", "second", "third"} {
		output = append(output, itemOf(i).As(name), nOf(i).As(name+"_n"))
	}
	ws.Register(&ws.Aggregate{
		Name: "top", Doc: "the items that come most often, by a sketch of eight counters (space-saving): counts may be too high, never too low",
		Input: ws.Columns{item.As("item")}, Accumulator: accumulator, Output: output,
		Add: func(acc, in ws.Row) {
			if !item.IsNull(in) {
				include(acc, item.Get(in), 1)
			}
		},
		Merge: func(acc, other ws.Row) {
			for i := range counters {
				if n := nOf(i).Get(other); n > 0 {
					include(acc, itemOf(i).Get(other), n)
				}
			}
		},
		Result: result,
	})
}

func main() { ws.Main() }

// include counts an item so many times.
func include(acc ws.Row, value, times int64) {
	rarest := 0
	for i := range counters {
		n := nOf(i).Get(acc)
		if n > 0 && itemOf(i).Get(acc) == value {
			nOf(i).Set(acc, n+times)
			return
		}
		if n < nOf(rarest).Get(acc) {
			rarest = i
		}
	}
	itemOf(rarest).Set(acc, value)
	nOf(rarest).Set(acc, nOf(rarest).Get(acc)+times)
}

// result puts the three counters out that count most, of those alike the one of the smaller item.
func result(acc, out ws.Row) {
	var taken [counters]bool
	for place := range 3 {
		best := -1
		for i := range counters {
			n := nOf(i).Get(acc)
			if n == 0 || taken[i] {
				continue
			}
			if best < 0 || n > nOf(best).Get(acc) || n == nOf(best).Get(acc) && itemOf(i).Get(acc) < itemOf(best).Get(acc) {
				best = i
			}
		}
		if best < 0 {
			itemOf(place).SetNull(out)
			nOf(place).SetNull(out)
			continue
		}
		taken[best] = true
		itemOf(place).Set(out, itemOf(best).Get(acc))
		nOf(place).Set(out, nOf(best).Get(acc))
	}
}
