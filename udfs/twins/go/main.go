// Command twins has functions that do what built-in parts do: ../README.md says what each does.
package main

import (
	"math"

	ws "github.com/wasmstream/wasmstream/guest-sdk/go"
)

func init() {
	ws.Register(
		tumbling("tumbling", false), tumbling("tumbling-processing", true),
		sliding("sliding", false), sliding("sliding-processing", true),
		session("session", false), session("session-processing", true),
		trigger(), evictor(), aggregate(), join(),
	)
}

func main() { ws.Main() }

// find is the column of that name; without a name, none.
func find(o *ws.Opening, name string) (ws.Field, bool) {
	if name == "" {
		return ws.Field{}, false
	}
	f := o.Input.Find(name)
	switch f.Type {
	case "INT", "BIGINT", "FLOAT", "DOUBLE":
		return f, true
	}
	ws.Fail("the column " + name + " is of no type that twins reckon with")
	return f, false
}

// double is a number as a double; null is not a number.
func double(f ws.Field, r ws.Row) float64 {
	if f.IsNull(r) {
		return math.NaN()
	}
	return f.Float(r)
}

// cut splits a text at a separator, and returns what is before it and what is behind.
func cut(text string, separator byte) (before, behind string) {
	for i := range len(text) {
		if text[i] == separator {
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

func number(digits string) (n int64) {
	for i := range len(digits) {
		n = 10*n + int64(digits[i]-'0')
	}
	return n
}
