package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

func content() ws.Function {
	const start, elements, sum, before, windows ws.BigInt = 0, 1, 2, 3, 4
	fired := &ws.ValueState{Name: "fired", Columns: number, Scope: ws.PerWindow}
	ofKey := &ws.ValueState{Name: "windows", Columns: number}
	return &ws.Apply{
		Name: "content", Doc: "what is in a window, and how often it fired", Input: payment,
		Output: ws.Columns{start.As("start"), elements.As("elements"), sum.As("sum"), before.As("before"), windows.As("windows")},
		States: []ws.State{fired, ofKey},
		Apply: func(o *ws.Op, _ ws.Row) {
			f, w := fired.Edit(o), ofKey.Edit(o)
			if n.Get(f) == 0 {
				n.Set(w, n.Get(w)+1)
			}
			all := int64(0)
			for i := range o.Len() {
				all += amount.Get(o.Element(i).Row)
			}
			out := o.Emit(0)
			start.Set(out, o.Start())
			elements.Set(out, int64(o.Len()))
			sum.Set(out, all)
			before.Set(out, n.Get(f))
			windows.Set(out, n.Get(w))
			n.Set(f, n.Get(f)+1)
		},
		Clear: fired.Clear,
	}
}

func described() ws.Function {
	const start, end, count ws.BigInt = 0, 1, 2
	return &ws.Apply{
		Name: "described", Doc: "a result with its window", Input: number,
		Output: ws.Columns{start.As("start"), end.As("end"), count.As("n")},
		Apply: func(o *ws.Op, in ws.Row) {
			out := o.Emit(0)
			start.Set(out, o.Start())
			end.Set(out, o.End())
			count.Set(out, n.Get(in))
		},
	}
}

func tumbling() ws.Function {
	var size int64
	parameters, open := sized(&size, "60000", "milliseconds")
	return &ws.Assigner{
		Name: "tumbling", Doc: "windows of a size", Parameters: parameters, Open: open,
		Assign: func(o *ws.Op, _ ws.Row) {
			// Time before 1970 rounds down, too.
			behind := o.Time() % size
			if behind < 0 {
				behind += size
			}
			o.Assign(o.Time()-behind, o.Time()-behind+size)
		},
	}
}

func gap() ws.Function {
	var size int64
	parameters, open := sized(&size, "60000", "milliseconds of silence")
	return &ws.Assigner{
		Name: "gap", Doc: "sessions", Parameters: parameters, Open: open, Merges: true,
		Assign: func(o *ws.Op, _ ws.Row) { o.Assign(o.Time(), o.Time()+size) },
	}
}

func every() ws.Function {
	var size int64
	parameters, open := sized(&size, "3", "elements")
	seen := &ws.ValueState{Name: "seen", Columns: number, Scope: ws.PerWindow, Combines: "reducing"}
	atEnd := func(o *ws.Op) {
		if o.Last() > o.Watermark() {
			o.SetTimer(ws.EventTime, o.Last())
		}
	}
	return &ws.Trigger{
		Name: "every", Doc: "fires each time so many elements came, and purges at the end", Input: payment,
		Parameters: parameters, Open: open, States: []ws.State{seen},
		OnElement: func(o *ws.Op, _ ws.Row) ws.Decision {
			atEnd(o)
			count := seen.Edit(o)
			n.Set(count, n.Get(count)+1)
			if n.Get(count) < size {
				return ws.Continue
			}
			seen.Clear(o)
			return ws.Fire
		},
		OnEventTime: func(o *ws.Op) ws.Decision {
			if o.Time() == o.Last() {
				return ws.FireAndPurge
			}
			return ws.Continue
		},
		OnMerge: func(o *ws.Op) {
			sum := int64(0)
			for i := range o.Len() {
				if count := seen.Merged(o, i); !count.IsMissing() {
					sum += n.Get(count)
				}
			}
			if sum > 0 {
				n.Set(seen.Edit(o), sum)
			}
			atEnd(o)
		},
		Clear: func(o *ws.Op) {
			seen.Clear(o)
			o.DeleteTimer(ws.EventTime, o.Last())
		},
	}
}

func newest() ws.Function {
	var size int64
	parameters, open := sized(&size, "2", "elements")
	return &ws.Evictor{
		Name: "newest", Doc: "keeps the last elements", Input: payment, Parameters: parameters, Open: open,
		Evict: func(o *ws.Op, after bool) {
			for i := range o.Len() {
				if after && amount.Get(o.Element(i).Row) == 0 || !after && i+int(size) < o.Len() {
					o.Evict(i)
				}
			}
		},
	}
}

func matched() ws.Function {
	return &ws.Join{
		Name: "matched", Doc: "both amounts", Left: payment, Right: payment, Output: pairs,
		Join: func(o *ws.Op, left, right ws.Row) {
			out := o.Emit(0)
			setAmount(out, first, left)
			setAmount(out, other, right)
		},
	}
}

// setAmount sets a column to a side's amount, null if the side is missing.
func setAmount(out ws.Row, column ws.BigInt, side ws.Row) {
	if side.IsMissing() {
		column.SetNull(out)
		return
	}
	column.Set(out, amount.Get(side))
}

func balance() ws.Function {
	return &ws.CoGroup{
		Name: "balance", Doc: "the sums of both sides", Left: payment, Right: payment, Output: pairs,
		CoGroup: func(o *ws.Op) {
			var left, right int64
			for i := range o.Len() {
				if e := o.Element(i); e.Second {
					right += amount.Get(e.Row)
				} else {
					left += amount.Get(e.Row)
				}
			}
			out := o.Emit(0)
			first.Set(out, left)
			other.Set(out, right)
		},
	}
}
