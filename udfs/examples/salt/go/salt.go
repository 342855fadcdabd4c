// Command salt makes a key of the user and a salt, so that the load of a hot user is spread.
package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

// The columns of the input and of the key, and the parameter.
const (
	user           ws.String = 0
	number         ws.BigInt = 1
	who            ws.String = 0
	salt           ws.Int    = 1
	saltsParameter ws.BigInt = 0
)

var salts int64

func init() {
	ws.Register(&ws.Key{
		Name: "salt", Doc: "the user and a salt, made of the record's number: the load of a hot user is spread over several keys",
		Input: ws.Columns{user.As("user"), number.As("number")}, Output: ws.Columns{who.As("who"), salt.As("salt")},
		Parameters: []ws.Parameter{{Column: saltsParameter.As("salts"), Default: "8"}},
		Open:       func(o *ws.Opening) { salts = saltsParameter.Get(o.Parameters) },
		Key: func(_ *ws.Op, in, key ws.Row) {
			if user.IsNull(in) {
				who.SetNull(key)
			} else {
				who.Set(key, user.Get(in))
			}
			salt.Set(key, int32((number.Get(in)%salts+salts)%salts))
		},
	})
}

func main() { ws.Main() }
