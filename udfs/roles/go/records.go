package main

import (
	"math"
	"strings"

	ws "github.com/wasmstream/wasmstream/guest-sdk/go"
)

func scale() ws.Function {
	const parameter ws.BigInt = 0
	var factor int64
	return &ws.Map{
		Name: "scale", Doc: "the amount times a factor", Input: payment, Output: payment,
		Parameters: []ws.Parameter{{Column: parameter.As("factor"), Default: "2"}},
		Open:       func(o *ws.Opening) { factor = parameter.Get(o.Parameters) },
		Map: func(_ *ws.Op, in, out ws.Row) {
			user.Copy(out, user, in)
			if amount.IsNull(in) {
				amount.SetNull(out)
				return
			}
			amount.Set(out, amount.Get(in)*factor)
		},
	}
}

func positive() ws.Function {
	return &ws.Filter{
		Name: "positive", Doc: "amounts above 0", Input: payment,
		Keep: func(_ *ws.Op, in ws.Row) bool {
			if amount.Get(in) == math.MinInt64 {
				ws.Fail("an amount that cannot be")
			}
			return amount.Get(in) > 0
		},
	}
}

func split() ws.Function {
	return &ws.FlatMap{
		Name: "split", Doc: "as many rows as the amount says, the last one to another output", Input: payment, Output: number,
		Outputs: []ws.Output{{Name: "last", Columns: number}},
		FlatMap: func(o *ws.Op, in ws.Row) {
			for i := int64(1); i <= amount.Get(in); i++ {
				output := 0
				if i == amount.Get(in) {
					output = 1
				}
				n.Set(o.Emit(output), i)
			}
		},
	}
}

func byUser() ws.Function {
	return &ws.Key{
		Name: "by-user", Doc: "the user", Input: payment, Output: person,
		Key: func(_ *ws.Op, in, key ws.Row) { user.Copy(key, user, in) },
	}
}

func stamped() ws.Function {
	return &ws.TimestampAssigner{
		Name: "stamped", Doc: "the amount is the time, every tenth a watermark", Input: payment,
		Time: func(o *ws.Op, in ws.Row) int64 {
			if amount.Get(in)%10 == 0 {
				o.SendWatermark(amount.Get(in))
			}
			return amount.Get(in)
		},
	}
}

func total() ws.Function {
	return &ws.Aggregate{
		Name: "total", Doc: "the sum of amounts", Input: payment, Accumulator: number, Output: number,
		Add:    func(acc, in ws.Row) { n.Set(acc, n.Get(acc)+amount.Get(in)) },
		Merge:  func(acc, o ws.Row) { n.Set(acc, n.Get(acc)+n.Get(o)) },
		Result: func(acc, out ws.Row) { n.Set(out, n.Get(acc)) },
	}
}

func longest() ws.Function {
	const (
		first   ws.String = 0
		n       ws.BigInt = 1
		longest ws.String = 2
	)
	names := ws.Columns{first.As("first"), n.As("n"), longest.As("longest")}
	include := func(acc, from ws.Row, of ws.String, count int64, name string) {
		if first.IsNull(acc) {
			first.Copy(acc, of, from)
		}
		n.Set(acc, n.Get(acc)+count)
		if len(name) > len(longest.Get(acc)) {
			longest.Set(acc, name)
		}
	}
	return &ws.Aggregate{
		Name: "longest", Doc: "the first user, the longest name, and how many there were",
		Input: payment, Accumulator: names, Output: names,
		Create: func(acc ws.Row) { first.SetNull(acc); longest.Set(acc, "") },
		Add:    func(acc, in ws.Row) { include(acc, in, user, 1, user.Get(in)) },
		Merge:  func(acc, o ws.Row) { include(acc, o, first, n.Get(o), longest.Get(o)) },
		Result: func(acc, out ws.Row) {
			first.Copy(out, first, acc)
			n.Set(out, n.Get(acc))
			longest.Copy(out, longest, acc)
		},
	}
}

func largest() ws.Function {
	return &ws.Reduce{
		Name: "largest", Doc: "the payment with the larger amount", Input: payment,
		Reduce: func(_ *ws.Op, acc, in ws.Row) {
			if amount.Get(in) > amount.Get(acc) {
				user.Copy(acc, user, in)
				amount.Set(acc, amount.Get(in))
			}
		},
	}
}

func asked() ws.Function {
	const text ws.String = 1
	f := &ws.Enrich{Name: "asked", Doc: "asks who the user is", Input: payment, Output: ws.Columns{user.As("user"), text.As("text")}}
	f.Request = func(o *ws.Op, in ws.Row) {
		if user.IsNull(in) {
			return
		}
		r := f.Ask(o)
		ws.RequestMethod.Set(r, "GET")
		ws.RequestURL.Set(r, "/users/"+user.Get(in))
		ws.RequestHeaders.SetNull(r)
		ws.RequestBody.SetNull(r)
	}
	f.Answer = func(o *ws.Op, in, answer ws.Row) {
		out := o.Emit(0)
		user.Copy(out, user, in)
		if ws.AnswerStatus.IsNull(answer) {
			text.Set(out, ws.AnswerError.Get(answer))
			return
		}
		text.Set(out, string(ws.AnswerBody.Get(answer)))
	}
	return f
}

func words() ws.Function {
	return &ws.Decode{
		Name: "words", Doc: "a row for each word", Output: person,
		Decode: func(o *ws.Op, message ws.Row) {
			for word := range strings.FieldsSeq(string(ws.MessageValue.Get(message))) {
				user.Set(o.Emit(0), word)
			}
		},
	}
}

func written() ws.Function {
	return &ws.Encode{
		Name: "written", Doc: "the user", Input: payment,
		Encode: func(_ *ws.Op, in, message ws.Row) {
			if user.IsNull(in) {
				ws.MessageValue.SetNull(message)
				ws.MessageKey.SetNull(message)
				return
			}
			ws.MessageValue.Set(message, []byte(user.Get(in)))
			ws.MessageKey.Set(message, []byte(user.Get(in)))
		},
	}
}

func present() ws.Function {
	const parameter ws.String = 0
	var column ws.Field
	return &ws.Filter{
		Name: "present", Doc: "records whose column is not null", Input: ws.Any,
		Parameters: []ws.Parameter{{Column: parameter.As("column")}},
		Open:       func(o *ws.Opening) { column = o.Input.Find(parameter.Get(o.Parameters)) },
		Keep:       func(_ *ws.Op, in ws.Row) bool { return !column.IsNull(in) },
	}
}
