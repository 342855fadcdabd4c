package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

// needTime ends the call for a record without event time.
func needTime(o *ws.Op) int64 {
	if o.Time() == ws.NoTime {
		ws.Fail("a record without a timestamp came to a window of event time")
	}
	return o.Time()
}

// start is where the window of a time begins, of those of that width.
func start(time, width, offset int64) int64 {
	r := (time - offset) % width
	if r < 0 {
		r += width
	}
	return time - r
}

func tumbling(name string, processing bool) ws.Function {
	const sizeParameter, offsetParameter ws.BigInt = 0, 1
	var size, offset int64
	return &ws.Assigner{
		Name: name, Input: ws.Any, ProcessingTime: processing,
		Parameters: []ws.Parameter{{Column: sizeParameter.As("size")}, {Column: offsetParameter.As("offset"), Default: "0"}},
		Open: func(o *ws.Opening) {
			size, offset = sizeParameter.Get(o.Parameters), offsetParameter.Get(o.Parameters)
		},
		Assign: func(o *ws.Op, _ ws.Row) {
			time := o.Clock()
			if !processing {
				time = needTime(o)
			}
			begin := start(time, size, offset)
			o.Assign(begin, begin+size)
		},
	}
}

func sliding(name string, processing bool) ws.Function {
	const sizeParameter, slideParameter, offsetParameter ws.BigInt = 0, 1, 2
	var size, slide, offset int64
	return &ws.Assigner{
		Name: name, Input: ws.Any, ProcessingTime: processing,
		Parameters: []ws.Parameter{
			{Column: sizeParameter.As("size")}, {Column: slideParameter.As("slide")}, {Column: offsetParameter.As("offset"), Default: "0"},
		},
		Open: func(o *ws.Opening) {
			size, slide, offset = sizeParameter.Get(o.Parameters), slideParameter.Get(o.Parameters), offsetParameter.Get(o.Parameters)
		},
		Assign: func(o *ws.Op, _ ws.Row) {
			time := o.Clock()
			if !processing {
				time = needTime(o)
			}
			for begin := start(time, slide, offset); begin > time-size; begin -= slide {
				o.Assign(begin, begin+size)
			}
		},
	}
}

func session(name string, processing bool) ws.Function {
	const (
		gapParameter   ws.BigInt = 0
		fieldParameter ws.String = 1
	)
	var gap int64
	var field ws.Field
	var byField bool
	return &ws.Assigner{
		Name: name, Input: ws.Any, ProcessingTime: processing, Merges: true,
		Parameters: []ws.Parameter{
			{Column: gapParameter.As("gap"), Default: "0"}, {Column: fieldParameter.As("gap_field"), Default: `""`},
		},
		Open: func(o *ws.Opening) {
			gap = gapParameter.Get(o.Parameters)
			field, byField = find(o, fieldParameter.Get(o.Parameters))
		},
		Assign: func(o *ws.Op, in ws.Row) {
			time, of := o.Time(), gap
			if processing {
				time = o.Clock()
			}
			if byField {
				of = field.Int(in) // 0 if null
			}
			if of <= 0 {
				ws.Fail("a session's gap must be above 0")
			}
			o.Assign(time, time+of)
		},
	}
}
