// Command roles has a function of each role: what a host asks, once over, and examples as small as they can be.
package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

// The columns of payments, which most of the functions take.
const (
	user   ws.String = 0
	amount ws.BigInt = 1
)

var payment = ws.Columns{user.As("user"), amount.As("amount")}

// The column of what is counted, or added up.
const n ws.BigInt = 0

var number = ws.Columns{n.As("n")}

// person is rows with the user alone.
var person = ws.Columns{user.As("user")}

// The columns of results that put two numbers side by side.
const (
	first ws.BigInt = 0
	other ws.BigInt = 1
)

var pairs = ws.Columns{first.As("amount"), other.As("other")}

// The parameter of those that have a size, and what it is set to: a cache, since each instance is opened anew.
const sizeParameter ws.BigInt = 0

func sized(size *int64, byDefault, doc string) ([]ws.Parameter, func(*ws.Opening)) {
	of := []ws.Parameter{{Column: sizeParameter.As("size"), Default: byDefault, Doc: doc}}
	return of, func(o *ws.Opening) { *size = sizeParameter.Get(o.Parameters) }
}

func init() {
	// By a variable, so that none is inlined here: in the copy that the compiler makes of a closure for that, columns are calls.
	for _, f := range []func() ws.Function{scale, positive, split, byUser, stamped, total, largest, content, described, tumbling, gap,
		every, newest, idle, joined, latest, matched, balance, asked, words, written, present, longest} {
		ws.Register(f())
	}
}

func main() { ws.Main() }
