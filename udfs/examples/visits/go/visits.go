// Command visits makes a row of each session, those of bots apart: a bot clicks too fast for too long.
package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

// The column of the input, that of the key, those of the output, and the parameters.
const (
	page   ws.String    = 0
	user   ws.String    = 0
	start  ws.Timestamp = 1
	clicks ws.BigInt    = 2
	first  ws.String    = 3
	last   ws.String    = 4

	leastParameter ws.BigInt = 0
	gapParameter   ws.BigInt = 1
)

// Outputs by the numbers that Emit takes.
const people, bots = 0, 1

// least is how many clicks a bot makes, gap how far apart they are at the most, on average.
var least, gap int64

func init() {
	visit := ws.Columns{user.As("user"), start.As("start"), clicks.As("clicks"), first.As("first"), last.As("last")}
	ws.Register(&ws.Apply{
		Name: "visits", Doc: "visits, without those of bots, which click too fast for too long",
		Input: ws.Columns{page.As("page")}, Key: ws.Columns{user.As("user")}, Output: visit,
		Outputs: []ws.Output{{Name: "bots", Columns: visit}},
		Parameters: []ws.Parameter{
			{Column: leastParameter.As("clicks"), Default: "20"}, {Column: gapParameter.As("gap"), Default: "500", Doc: "milliseconds"},
		},
		Open: func(o *ws.Opening) {
			least, gap = leastParameter.Get(o.Parameters), gapParameter.Get(o.Parameters)
		},
		Apply: apply,
	})
}

func apply(o *ws.Op, _ ws.Row) {
	begin, end := o.Element(0), o.Element(0)
	for i := range o.Len() {
		// Elements come in order of arrival, which is not that of time.
		e := o.Element(i)
		if e.Time < begin.Time {
			begin = e
		}
		if e.Time >= end.Time {
			end = e
		}
	}
	n, output := int64(o.Len()), people
	if n >= least && end.Time-begin.Time <= gap*(n-1) {
		output = bots
	}
	out := o.Emit(output)
	user.Set(out, user.Get(o.Key()))
	start.Set(out, begin.Time)
	clicks.Set(out, n)
	first.Set(out, page.Get(begin.Row))
	last.Set(out, page.Get(end.Row))
}

func main() { ws.Main() }
