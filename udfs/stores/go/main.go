// Command stores has functions whose states are reached by calls of the host: a map, a list, broadcast state, and those of windows.
package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

// The columns of payments, and of what is made of them.
const (
	user   ws.String = 0
	amount ws.BigInt = 1
	n      ws.BigInt = 0
	told   ws.BigInt = 1
	first  ws.BigInt = 0
	other  ws.BigInt = 1
)

var (
	payment = ws.Columns{user.As("user"), amount.As("amount")}
	number  = ws.Columns{n.As("n")}
	person  = ws.Columns{user.As("user")}
)

func init() { ws.Register(tally(), rated(), varied()) }

func main() { ws.Main() }

func tally() ws.Function {
	sums := &ws.MapState{Name: "sums", Key: person, Columns: number}
	amounts := &ws.ListState{Name: "amounts", Columns: number}
	add := func(o *ws.Op, in ws.Row) {
		key := sums.KeyRow()
		user.Set(key, user.Get(in))
		sum := sums.Get(o, key)
		if sum.IsMissing() {
			sum = sums.Row()
		}
		n.Set(sum, n.Get(sum)+amount.Get(in))
		sums.Put(o, key, sum)
		one := amounts.Row()
		n.Set(one, amount.Get(in))
		amounts.Add(o, one)
	}
	tell := func(o *ws.Op) {
		for key, sum := range sums.All(o) {
			out := o.Emit(0)
			user.Set(out, user.Get(key))
			told.Set(out, n.Get(sum))
		}
		for one := range amounts.All(o) {
			n.Set(o.Emit(1), n.Get(one))
		}
	}
	return &ws.Process{
		Name: "tally", Doc: "sums by user and a list of amounts", Input: payment,
		Output:  ws.Columns{user.As("user"), told.As("n")},
		Outputs: []ws.Output{{Name: "amounts", Columns: number}}, States: []ws.State{sums, amounts},
		OnRecord: func(o *ws.Op, in ws.Row) {
			switch a := amount.Get(in); {
			case a > 0:
				add(o, in)
			case a == 0:
				tell(o)
			case a == -1:
				sums.Clear(o)
				amounts.Clear(o)
			}
		},
	}
}

func rated() ws.Function {
	count := &ws.ValueState{Name: "count", Columns: number}
	rates := &ws.MapState{Name: "rates", Key: person, Columns: number, Scope: ws.Broadcast}
	keyOf := func(in ws.Row) ws.Row {
		key := rates.KeyRow()
		user.Set(key, user.Get(in))
		return key
	}
	return &ws.BroadcastProcess{
		Name: "rated", Doc: "amounts times a rate that comes by broadcast", Input: payment, Second: payment,
		Output: ws.Columns{first.As("amount"), other.As("other")}, States: []ws.State{count, rates},
		OnRecord: func(o *ws.Op, in ws.Row) {
			c := count.Edit(o)
			n.Set(c, n.Get(c)+1)
			out, rate := o.Emit(0), rates.Get(o, keyOf(in))
			first.Set(out, n.Get(c))
			if rate.IsMissing() {
				other.SetNull(out)
				return
			}
			other.Set(out, amount.Get(in)*n.Get(rate))
		},
		OnBroadcast: func(o *ws.Op, in ws.Row) {
			if amount.Get(in) == 0 {
				rates.Remove(o, keyOf(in))
				o.VisitKeys()
				return
			}
			rate := rates.Row()
			n.Set(rate, amount.Get(in))
			rates.Put(o, keyOf(in), rate)
		},
		OnKey: func(o *ws.Op, _ ws.Row) { count.Clear(o) },
	}
}

func varied() ws.Function {
	amounts := &ws.ListState{Name: "amounts", Columns: number, Scope: ws.PerWindow}
	users := &ws.MapState{Name: "users", Key: person, Columns: number, Scope: ws.PerWindow}
	count := func(o *ws.Op, of string, more int64) int64 {
		key := users.KeyRow()
		user.Set(key, of)
		value := users.Get(o, key)
		if value.IsMissing() {
			value = users.Row()
		}
		n.Set(value, n.Get(value)+more)
		users.Put(o, key, value)
		return n.Get(value)
	}
	return &ws.Trigger{
		Name: "varied", Doc: "fires at an amount that was there before, and purges at a user's third record",
		Input: payment, States: []ws.State{amounts, users},
		OnElement: func(o *ws.Op, in ws.Row) (decision ws.Decision) {
			for one := range amounts.All(o) {
				if n.Get(one) == amount.Get(in) {
					decision |= ws.Fire
				}
			}
			one := amounts.Row()
			n.Set(one, amount.Get(in))
			amounts.Add(o, one)
			if count(o, user.Get(in), 1) == 3 {
				decision |= ws.Purge
			}
			return decision
		},
		OnMerge: func(o *ws.Op) {
			amounts.Merge(o)
			for i := range o.Len() {
				for key, value := range users.Merged(o, i) {
					count(o, user.Get(key), n.Get(value))
				}
			}
		},
	}
}
