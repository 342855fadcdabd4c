package job

import "math"

// stepShape is one step. What belongs to which operation is for the builder to
// tell: it has the better words.
var stepShape = &shape{what: isFields, fields: []field{
	fromField,
	{name: "map", doc: "A Wasm function that makes one row of each record.", shape: wasmShape},
	{name: "filter", doc: "A Wasm function that keeps a record or drops it.", shape: wasmShape},
	{name: "flat-map", doc: "A Wasm function that makes any number of rows of each record.", shape: wasmShape},
	{name: "key-by", doc: "The columns that records are grouped by, or a Wasm function of the role key that computes them. Of an enrich: those of which records with equal values keep their order.", shape: keyShape},
	{name: "window", doc: "Group a key's records; needs key-by and aggregate, or window-join.", shape: windowShape},
	{name: "aggregate", doc: "What becomes of a window's records: columns and how they are computed, or a Wasm function.", shape: aggregateShape},
	{name: "reduce", doc: "Instead of aggregate: a function that makes one record of two; the result is a record.", shape: wasmShape},
	{name: "apply", doc: "A function that makes of a window's result, or without aggregate and reduce of its records, the rows that are put out.", shape: wasmShape},
	processFields[0], processFields[1], processFields[2],
	{name: "interval-join", doc: "Pair the rows of two streams that have equal keys and times that are near.", shape: intervalJoinShape},
	{name: "co-group", doc: "Hand the rows of two streams that have equal keys and are in the same window to a function; needs window.", shape: coGroupShape},
	{name: "window-join", doc: "Pair the rows of two streams that have equal keys and are in the same window; needs window.", shape: windowJoinShape},
	{name: enrichOperation, doc: "Ask the world outside about each record: a Wasm function makes requests and digests answers.", shape: enrichShape},
	{name: "output", doc: "What a window puts out when it fires again: append (a row per firing; the default), update (the row before is taken back: -U, +U), changelog (as update, and rows of sessions that merged are deleted: -D) or complete (all retained results of the key, as one replaceable set).", shape: &shape{what: isWord, words: outputWords[:]}},
	{name: "combine", doc: "How the watermarks of several inputs become one: min (the default), or max, which waits for none of them and makes late what comes from those behind.", shape: &shape{what: isWord, words: []string{"min", "max"}}},
	{name: "on-fault", doc: "What becomes of a record that a function of the step fails on: the job fails (fail; the default), dead-letter (it goes to the output STEP.failed), or skip it, count and report.", shape: &shape{what: isWord, words: errorWords[:]}},
	{name: "fault-rate", doc: "With on-fault: the job fails when there are more faults than this share of the last 10,000 records of a task, or of a function's calls where those are more, and at least 100; 1: never. Default 0.1.", shape: &shape{what: isNumber, least: 0, most: 1}},
	limitsField,
	{name: "changes", doc: "ignore: take changes (-U, +U, -D) as plain records.", shape: &shape{what: isWord, words: []string{"ignore"}}},
}}

var timeField = field{name: "time", doc: "Whose time: event (default) or processing (the clock's).", shape: &shape{what: isWord, words: []string{"event", "processing"}}}

var zoneField = field{name: "time-zone", doc: "Windows of whole days begin at this zone's midnight, summer time included; without it at UTC's.", shape: &shape{what: isText, example: "Europe/Berlin"}}

var windowShape = &shape{what: isFields, fields: []field{
	{name: "tumbling", doc: "Windows of one size, one after the other.", shape: &shape{what: isFields, fields: []field{
		{name: "size", doc: "How long a window is.", required: true, shape: spanShape},
		{name: "offset", doc: "Moves all windows; smaller than size. Default 0s.", shape: anyTimeShape},
		timeField,
		zoneField,
	}}},
	{name: "sliding", doc: "Windows of one size that begin at every slide, so they overlap, or leave gaps where slide is larger than size.", shape: &shape{what: isFields, fields: []field{
		{name: "size", doc: "How long a window is.", required: true, shape: spanShape},
		{name: "slide", doc: "From the beginning of a window to that of the next.", required: true, shape: spanShape},
		{name: "offset", doc: "Moves all windows; smaller than slide. Default 0s.", shape: anyTimeShape},
		timeField,
		zoneField,
	}}},
	{name: "session", doc: "Windows of records with less than a gap between them.", shape: &shape{what: isFields, fields: []field{
		{name: "gap", doc: "How long nothing must come for a session to end.", shape: spanShape},
		{name: "gap-field", doc: "The column that holds each record's own gap: INT or BIGINT, in milliseconds.", shape: columnShape},
		timeField,
		{name: "merge", doc: "touching (default): sessions exactly a gap apart are one, as in Flink; overlapping: they stay two.", shape: &shape{what: isWord, words: []string{"touching", "overlapping"}}},
	}, one: []choice{{noun: "gap", names: []string{"gap", "gap-field"}}}}},
	{name: "global", doc: "One window without an end for each key; needs a trigger to put anything out.", shape: &shape{what: isFields}},
	{name: "wasm", doc: "A function, as module.function, that says in which windows a record is.", shape: functionShape},
	withField,
	{name: "trigger", doc: "When a window puts out its result; by default when its time has passed.", shape: triggerShape},
	{name: "evictor", doc: "Which records leave a window when it fires; it then keeps all its records.", shape: evictorShape},
	{name: "allowed-lateness", doc: "How long after its end a window of event time still takes records; each puts out the result again. Default 0s.", shape: periodShape},
	{name: "late-output", doc: "Makes the output STEP.NAME of the records that came too late; without it they are dropped and counted.", shape: nameShape},
}, one: []choice{{noun: "assigner", names: []string{"tumbling", "sliding", "session", "global", "wasm"}}}}

var deltaShape = &shape{what: isFields, fields: []field{
	{name: "field", doc: "The column that is compared: a number.", required: true, shape: columnShape},
	{name: "threshold", doc: "The difference, new minus old.", required: true, shape: numberShape},
}, example: "{field: price, threshold: 0.5}"}

var countShape = &shape{what: isInteger, min: 1, max: math.MaxInt64}

var triggerShape = makeTriggerShape()

// makeTriggerShape makes a shape that holds itself.
func makeTriggerShape() *shape {
	alone := []string{"event-time", "processing-time", "never", "end-of-stream"}
	either := &shape{what: isEither, ref: "trigger", doc: "When a window puts out its result."}
	fields := []field{
		{name: "count", doc: "At every so many records.", shape: countShape},
		{name: "continuous-event-time", doc: "At every so much event time.", shape: spanShape},
		{name: "continuous-processing-time", doc: "At every so much of the clock's time.", shape: spanShape},
		{name: "purging", doc: "As the trigger within, and each firing empties the window.", shape: either},
		{name: "delta", doc: "When a column has grown by more than a threshold since the last firing.", shape: deltaShape},
		{name: "timeout", doc: "As the trigger within, and a while after the first record of a firing.", shape: &shape{what: isFields, fields: []field{
			{name: "trigger", doc: "The trigger within.", required: true, shape: either},
			{name: "after", doc: "How long after, by the clock.", required: true, shape: spanShape},
			{name: "reset", doc: "true: each record starts the timeout again. Default false.", shape: flagShape},
		}}},
		{name: "wasm", doc: "When a function, module.function, says so.", shape: functionShape},
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	fields = append(fields, withField)
	word := &shape{what: isWord, words: alone, mapped: names}
	mapping := &shape{what: isFields, fields: fields, words: alone, one: []choice{{noun: "trigger", names: names}}}
	either.either = []*shape{word, mapping}
	either.choose = func(n *node) *shape {
		if n.form == mappingForm {
			return mapping
		}
		return word
	}
	return either
}

var evictorShape = &shape{what: isFields, fields: []field{
	{name: "count", doc: "Keep the newest so many records.", shape: countShape},
	{name: "time", doc: "Keep the records that are less than this older than the newest.", shape: spanShape},
	{name: "delta", doc: "Keep the records that the last one exceeds by less than a threshold.", shape: deltaShape},
	{name: "wasm", doc: "Keep what a function, module.function, says.", shape: functionShape},
	withField,
	{name: "when", doc: "before (default) or after the result is computed.", shape: &shape{what: isWord, words: []string{"before", "after"}}},
}, one: []choice{{noun: "evictor", names: []string{"count", "time", "delta", "wasm"}}}, example: "{count: 2}"}

var joinTypeShape = &shape{what: isWord, words: joinWords[:]}

// joinFields are those of both kinds of joins.
var joinFields = []field{
	{name: "left", doc: "The left side: a source, a step or step.output; a list is a union.", required: true, shape: fromShape},
	{name: "right", doc: "The right side: a source, a step or step.output; a list is a union.", required: true, shape: fromShape},
	{name: "left-key", doc: "The left side's columns that must equal right-key.", required: true, shape: columnsShape},
	{name: "right-key", doc: "The right side's columns, in the order of left-key.", required: true, shape: columnsShape},
	{name: "type", doc: "inner (default), or left, right or full: rows of that side without a partner are put out with nulls.", shape: joinTypeShape},
	{name: "join", doc: "A function that makes of each pair the rows that are put out.", shape: wasmShape},
}

var coGroupShape = &shape{what: isFields, fields: append(joinFields[:4:4],
	field{name: "function", doc: "What becomes of the rows of both sides.", required: true, shape: wasmShape})}

var windowJoinShape = &shape{what: isFields, fields: joinFields}

var intervalJoinShape = &shape{what: isFields, fields: append(joinFields[:len(joinFields):len(joinFields)], []field{
	{name: "lower", doc: "The least that right.time is after left.time; negative: before it.", shape: boundShape},
	{name: "upper", doc: "The most that right.time is after left.time.", shape: boundShape},
	{name: "lower-exclusive", doc: "true: exactly lower is too little. Default false.", shape: flagShape},
	{name: "upper-exclusive", doc: "true: exactly upper is too much. Default false.", shape: flagShape},
	{name: "ttl", doc: "In place of lower or upper, or both: how far apart in event time two rows may be on that side.", shape: spanShape},
	{name: "unbounded", doc: "true: lower or upper may be missing, and rows are then kept for ever.", shape: flagShape},
	{name: "late-left", doc: "Makes the output STEP.NAME of left rows that came too late; without it they are dropped and counted.", shape: nameShape},
	{name: "late-right", doc: "The same for right rows.", shape: nameShape},
}...)}

var callsShape = &shape{what: isNamed, noun: "column", columns: true, of: callShape}

var wasmShape = &shape{what: isFields, fields: []field{
	{name: "wasm", doc: "The function, as module.function.", required: true, shape: functionShape},
	withField,
}}

var withField = field{name: "with", doc: "The function's parameters.", shape: &shape{what: isNamed, noun: "parameter", columns: true, of: scalarShape}}

// callOr is a function, or what else may stand in its place.
func callOr(other *shape) *shape {
	return &shape{what: isEither, either: []*shape{other, wasmShape}, choose: func(n *node) *shape {
		if n.form == mappingForm {
			return wasmShape
		}
		return other
	}}
}

var (
	keyShape       = callOr(columnsShape)
	eventTimeShape = callOr(columnShape)
)

// aggregateShape: an output column cannot be called wasm.
var aggregateShape = &shape{what: isEither, either: []*shape{callsShape, wasmShape}, choose: func(n *node) *shape {
	if n.get("wasm") != nil {
		return wasmShape
	}
	return callsShape
}}
