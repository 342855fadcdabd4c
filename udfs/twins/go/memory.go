package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

// The columns of the trigger's state.
const (
	numberColumn  ws.BigInt = 0
	lastColumn    ws.Double = 1
	timeoutColumn ws.BigInt = 2
)

// The parameters of the trigger, and of the evictor.
const (
	ruleParameter      ws.String = 0
	fieldParameter     ws.String = 1
	thresholdParameter ws.Double = 2
)

var ruleParameters = []ws.Parameter{
	{Column: ruleParameter.As("rule")}, {Column: fieldParameter.As("field"), Default: `""`},
	{Column: thresholdParameter.As("threshold"), Default: "0"},
}

// read is what a state's row says.
func read(r ws.Row) (m memory) {
	if r.IsMissing() {
		return m
	}
	if v := numberColumn.Get(r); !numberColumn.IsNull(r) {
		m.number = &v
	}
	if v := lastColumn.Get(r); !lastColumn.IsNull(r) {
		m.last = &v
	}
	if v := timeoutColumn.Get(r); !timeoutColumn.IsNull(r) {
		m.timeout = &v
	}
	return m
}

// write keeps what is set.
func (m *memory) write(o *ws.Op, state *ws.ValueState) {
	if m.number == nil && m.last == nil && m.timeout == nil {
		state.Clear(o)
		return
	}
	r := state.Edit(o)
	numberColumn.SetNull(r)
	lastColumn.SetNull(r)
	timeoutColumn.SetNull(r)
	if m.number != nil {
		numberColumn.Set(r, *m.number)
	}
	if m.last != nil {
		lastColumn.Set(r, *m.last)
	}
	if m.timeout != nil {
		timeoutColumn.Set(r, *m.timeout)
	}
}

// parse reads a rule's words, from the outermost trigger to the innermost.
func parse(o *ws.Opening, text string) rule {
	word, rest := cut(text, ' ')
	if word == "purging" {
		return purging{parse(o, rest)}
	}
	digits, inner := cut(rest, ' ')
	switch word {
	case "timeout", "timeout-reset":
		return timeout{rule: parse(o, inner), after: number(digits), reset: word == "timeout-reset"}
	case "event-time":
		return eventTime{}
	case "processing-time":
		return processingTime{}
	case "never":
		return nothing{}
	case "end-of-stream":
		return endOfStream{}
	case "count":
		return count{most: number(digits)}
	case "continuous-event-time":
		return continuous{number(digits), ws.EventTime}
	case "continuous-processing-time":
		return continuous{number(digits), ws.ProcessingTime}
	case "delta":
		field, _ := find(o, fieldParameter.Get(o.Parameters))
		return delta{field: field, threshold: thresholdParameter.Get(o.Parameters)}
	}
	ws.Fail("the rule is none of udfs/twins/README.md")
	return nil
}

func trigger() ws.Function {
	state := &ws.ValueState{Name: "memory", Scope: ws.PerWindow, Columns: ws.Columns{
		numberColumn.As("number"), lastColumn.As("last"), timeoutColumn.As("timeout"),
	}}
	var outermost rule
	onTimer := func(domain ws.Domain) func(*ws.Op) ws.Decision {
		return func(o *ws.Op) ws.Decision {
			m := read(state.Get(o))
			d := outermost.onTimer(o, &m, domain)
			m.write(o, state)
			return d
		}
	}
	return &ws.Trigger{
		Name: "trigger", Input: ws.Any, States: []ws.State{state}, Parameters: ruleParameters,
		Open: func(o *ws.Opening) { outermost = parse(o, ruleParameter.Get(o.Parameters)) },
		OnElement: func(o *ws.Op, in ws.Row) ws.Decision {
			m := read(state.Get(o))
			d := outermost.onElement(o, &m, in)
			m.write(o, state)
			return d
		},
		OnEventTime:      onTimer(ws.EventTime),
		OnProcessingTime: onTimer(ws.ProcessingTime),
		OnMerge: func(o *ws.Op) {
			var m memory
			merged := make([]memory, o.Len())
			for i := range merged {
				merged[i] = read(state.Merged(o, i))
			}
			outermost.onMerge(o, &m, merged)
			m.write(o, state)
		},
		Clear: func(o *ws.Op) {
			m := read(state.Get(o))
			outermost.clear(o, &m)
			m.write(o, state)
		},
	}
}

func evictor() ws.Function {
	var word string
	var size int64
	var field ws.Field
	var threshold float64
	return &ws.Evictor{
		Name: "evictor", Input: ws.Any, Parameters: ruleParameters,
		Open: func(o *ws.Opening) {
			var digits string
			// The word is compared to later, when the parameters' row is gone.
			switch word, digits = cut(ruleParameter.Get(o.Parameters), ' '); word {
			case "count":
				word = "count"
			case "time":
				word = "time"
			case "delta":
				word = "delta"
			default:
				ws.Fail("the rule is none of udfs/twins/README.md")
			}
			size, threshold = number(digits), thresholdParameter.Get(o.Parameters)
			field, _ = find(o, fieldParameter.Get(o.Parameters))
		},
		Evict: func(o *ws.Op, _ bool) {
			switch word {
			case "count":
				for i := range max(0, o.Len()-int(size)) {
					o.Evict(i)
				}
			case "time":
				evictByTime(o, size)
			case "delta":
				for i := range o.Len() {
					last := double(field, o.Element(o.Len()-1).Row)
					if last-double(field, o.Element(i).Row) >= threshold {
						o.Evict(i)
					}
				}
			}
		},
	}
}

func evictByTime(o *ws.Op, size int64) {
	if o.Len() == 0 || o.Element(0).Time == ws.NoTime {
		return
	}
	newest := int64(ws.NoTime)
	for i := range o.Len() {
		time := o.Element(i).Time
		if time == ws.NoTime {
			ws.Fail("an element without a timestamp came to an evictor by time")
		}
		newest = max(newest, time)
	}
	for i := range o.Len() {
		if o.Element(i).Time <= newest-size {
			o.Evict(i)
		}
	}
}
