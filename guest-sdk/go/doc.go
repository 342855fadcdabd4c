// Package wasmstream is for writing wasmstream's functions in Go. A function declares its columns, says what it does
// with rows, and is registered; the package speaks the ABI.
//
//	const delay wasmstream.Int = 0     // the columns of the input, by position
//	const total wasmstream.BigInt = 0  // those of the accumulator, and here of the result
//
//	func init() {
//		wasmstream.Register(&wasmstream.Aggregate{
//			Name:        "sum",
//			Input:       wasmstream.Columns{delay.As("delay")},
//			Accumulator: wasmstream.Columns{total.As("total")},
//			Output:      wasmstream.Columns{total.As("total")},
//			Add:         func(acc, in wasmstream.Row) { total.Set(acc, total.Get(acc)+int64(delay.Get(in))) },
//			Merge:       func(acc, other wasmstream.Row) { total.Set(acc, total.Get(acc)+total.Get(other)) },
//			Result:      func(acc, out wasmstream.Row) { total.Set(out, total.Get(acc)) },
//		})
//	}
//
//	func main() { wasmstream.Main() }
//
// Build it as a reactor: GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags="-s -w".
//
// Invariants:
//
//	A. No allocation and no reflection per record: a column is a constant, its field at a known place.
//	B. A Row is good until the function that got it returns, and so are the strings and bytes read from it.
//	C. Global variables are caches: an instance can be thrown away between any two calls. What must last is in the
//	   accumulator.
//	D. Natively every access checks that the row has such a column, and may be written; in Wasm that is not checked, the
//	   sandbox is the guard. Outputs, elements, states and timers that a function does not have are refused in both.
package wasmstream
