package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

func idle() ws.Function {
	const (
		count ws.BigInt    = 0
		due   ws.Timestamp = 1
		told  ws.BigInt    = 1 // of the output
	)
	var patience int64
	parameters, open := sized(&patience, "1000", "milliseconds")
	idling := &ws.ValueState{Name: "idling", Columns: ws.Columns{count.As("n"), due.As("due")}}
	return &ws.Process{
		Name: "idle", Doc: "how many payments there were when there is none for a while",
		Input: payment, Output: ws.Columns{user.As("user"), told.As("n")}, Key: person,
		Parameters: parameters, Open: open, States: []ws.State{idling},
		OnRecord: func(o *ws.Op, in ws.Row) {
			s := idling.Edit(o)
			if count.Get(s) > 0 {
				o.DeleteTimer(ws.EventTime, due.Get(s))
			}
			if amount.Get(in) < 0 {
				idling.Clear(o)
				return
			}
			count.Set(s, count.Get(s)+1)
			due.Set(s, o.Time()+patience)
			o.SetTimer(ws.EventTime, due.Get(s))
		},
		OnTimer: func(o *ws.Op) {
			s := idling.Get(o)
			if s.IsMissing() || o.Domain() != ws.EventTime {
				return
			}
			out := o.Emit(0)
			user.Set(out, user.Get(o.Key()))
			told.Set(out, count.Get(s))
			idling.Clear(o)
		},
	}
}

func joined() ws.Function {
	users := &ws.ValueState{Name: "users", Columns: person}
	return &ws.Process{
		Name: "joined", Doc: "all users in one string", Input: payment, Output: person, States: []ws.State{users},
		OnRecord: func(o *ws.Op, in ws.Row) {
			if all := users.Get(o); !all.IsMissing() {
				user.Set(users.Edit(o), user.Get(all)+","+user.Get(in))
				return
			}
			user.Set(users.Edit(o), user.Get(in))
			o.SetTimer(ws.ProcessingTime, o.Clock()+1000)
		},
		OnTimer: func(o *ws.Op) {
			all := users.Get(o)
			if all.IsMissing() {
				return
			}
			user.Set(o.Emit(0), user.Get(all))
			users.Clear(o)
		},
	}
}

func latest() ws.Function {
	last := &ws.ValueState{Name: "other", Columns: number}
	return &ws.CoProcess{
		Name: "latest", Doc: "each payment with the last amount of the second input",
		Input: payment, Second: payment, Output: pairs, States: []ws.State{last},
		OnRecord: func(o *ws.Op, in ws.Row) {
			out, l := o.Emit(0), last.Get(o)
			first.Set(out, amount.Get(in))
			if l.IsMissing() {
				other.SetNull(out)
				return
			}
			other.Set(out, n.Get(l))
		},
		OnSecond: func(o *ws.Op, in ws.Row) { n.Set(last.Edit(o), amount.Get(in)) },
	}
}
