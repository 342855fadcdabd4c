// Package wasmstream is for writing wasmstream's functions in Go. A function declares its columns, says what it does
// with rows, and is registered; the package speaks the ABI.
//
//	var delay = wasmstream.Int("delay")            // a column of the input
//	var total = wasmstream.BigInt("total")         // a column of the accumulator
//	var sum   = wasmstream.BigInt("sum")           // a column of the result
//
//	func init() {
//		wasmstream.Register(&wasmstream.Aggregate{
//			Name:        "sum",
//			Input:       wasmstream.Columns{delay},
//			Accumulator: wasmstream.Columns{total},
//			Output:      wasmstream.Columns{sum},
//			Add:         func(acc, in *wasmstream.Row) { total.Set(acc, total.Get(acc)+int64(delay.Get(in))) },
//			Merge:       func(acc, other *wasmstream.Row) { total.Set(acc, total.Get(acc)+total.Get(other)) },
//			Result:      func(acc, out *wasmstream.Row) { sum.Set(out, total.Get(acc)) },
//		})
//	}
//
//	func main() { wasmstream.Main() }
//
// Build it as a reactor: GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags="-s -w".
//
// Invariants:
//
//	A. No allocation and no reflection per record: columns are bound to offsets when the function is registered.
//	B. A *Row is good until the function that got it returns, and so are the strings and bytes read from it.
//	C. Global variables are caches: an instance can be thrown away between any two calls. What must last is in the
//	   accumulator.
//	D. Natively every access checks that the column belongs to the row; in Wasm nothing is checked, the sandbox is
//	   the guard.
package wasmstream
