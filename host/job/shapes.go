package job

import "math"

// what is the kind of value that a shape describes.
type what uint8

const (
	isScalar   what = iota + 1 // text, a number, true or false
	isText                     // any text, not empty
	isName                     // a name of something in the job
	isInteger                  // a whole number
	isNumber                   // a finite number
	isFlag                     // true or false
	isWord                     // one of a closed set
	isDuration                 // 1h30m
	isBytes                    // 16MiB
	isType                     // a Flink SQL type
	isCall                     // a built-in aggregate: sum(delay)
	isFunction                 // module.function
	isAddress                  // host:port
	isTopic                    // the name of a Kafka topic
	isPattern                  // a regular expression
	isInstant                  // a time, as RFC 3339 or in milliseconds
	isFields                   // a mapping of the fields listed
	isNamed                    // a mapping from names of the user's choice
	isList                     // a list, not empty
	isEither                   // one of several, told apart by choose
)

// shape is what a value must look like. The table of shapes below is the one
// description of the job file's fields (invariant T).
type shape struct {
	what        what
	doc         string
	fields      []field  // isFields
	one         []choice // isFields: groups of which exactly one must be there
	of          *shape   // isNamed, isList
	noun        string   // isNamed: what a name names
	columns     bool     // isNamed: names are columns, so any text will do
	min, max    int64    // isInteger, isDuration (ms), isBytes
	least, most float64  // isNumber: no bounds if most is 0
	words       []string // isWord; isFields: what may stand alone instead of the mapping
	later       []string // isWord: words that are not offered yet
	mapped      []string // isWord: what takes a value, so is written as a mapping
	ref         string   // the name under which the JSON Schema describes the shape once
	either      []*shape // isEither
	choose      func(*node) *shape
	example     string // what an error shows as right
}

// field is a field of a mapping.
type field struct {
	name      string
	doc       string
	shape     *shape
	required  bool
	later     bool // the language has it, the engine does not yet
	connector bool // in Options.Test replaced by the script, whatever it says
}

// choice is a group of fields of which exactly one is needed.
type choice struct {
	noun  string
	names []string
}

// The limits of what a job may ask for.
const (
	ParallelismMax       = 1 << 15 // Flink's; a key group's number fits an int16
	BufferTimeoutMax     = 60_000  // ms
	RecordBytesMin       = 1 << 10
	RecordBytesMax       = 1 << 30 // offsets within a row have 32 bits
	NameBytesMax         = 128
	ColumnsMax           = 1000              // of a schema, an aggregate or a join's output
	SpanMax              = 100_000_000 * day // ms; of windows, gaps, intervals: sums with a date of our calendar fit an int64
	parallelismDefault   = 1
	keyGroupsDefault     = 128
	bufferTimeoutDefault = 5 // ms
	recordBytesDefault   = 16 << 20
	day                  = 86_400_000 // ms
)

// reservedOutput is where records go that a function failed on.
const reservedOutput = "failed"

var (
	scalarShape   = &shape{what: isScalar}
	textShape     = &shape{what: isText}
	numberShape   = &shape{what: isNumber}
	columnShape   = &shape{what: isText, doc: "A column."}
	flagShape     = &shape{what: isFlag}
	nameShape     = &shape{what: isName}
	functionShape = &shape{what: isFunction, doc: "A function of a module.", example: "delays.sum"}
	columnsShape  = &shape{what: isList, of: columnShape, example: "[user_id]"}
	callShape     = &shape{what: isCall, doc: "count, sum(column), min(column), max(column) or avg(column).", example: "sum(delay)"}
	refShape      = &shape{what: isText, doc: "A source, a step, or an output of a step.", example: "step.late"}
	anyTimeShape  = &shape{what: isDuration, min: math.MinInt64, max: math.MaxInt64, example: "15m"}
	positiveShape = &shape{what: isDuration, min: 1, max: math.MaxInt64, example: "1h30m"}
	spanShape     = &shape{what: isDuration, min: 1, max: SpanMax, example: "1h30m"}
	boundShape    = &shape{what: isDuration, min: -SpanMax, max: SpanMax, example: "-15m"}
	periodShape   = &shape{what: isDuration, min: 0, max: math.MaxInt64, example: "5s"}
)

// jobShape is the whole job file.
var jobShape = &shape{what: isFields, doc: "A wasmstream job.", fields: []field{
	{name: "version", doc: "The version of the job file's language.", required: true, shape: &shape{what: isInteger, min: 1, max: 1}},
	{name: "name", doc: "The job's name.", required: true, shape: nameShape},
	{name: "parallelism", doc: "How many tasks share each step's keys; default 1.", shape: &shape{what: isInteger, min: 1, max: ParallelismMax}},
	{name: "max-parallelism", doc: "The number of key groups, fixed for the life of the job's state; default 128.", shape: &shape{what: isInteger, min: 1, max: ParallelismMax}},
	{name: "buffer-timeout", doc: "The longest that a record waits for its batch to fill; default 5ms.", shape: &shape{what: isDuration, min: 0, max: BufferTimeoutMax, example: "5ms"}},
	{name: "compatibility", doc: "Where Flink's releases differ: which of them to follow.", shape: compatibilityShape},
	checkpointField,
	{name: "restart", doc: "What is done when the job fails: none, {fixed-delay: …}, {exponential-delay: …} or {failure-rate: …}. By default {exponential-delay: {}} with checkpoint and none without.", shape: restartShape},
	{name: "limits", doc: "What each step may take at most, unless it says otherwise; for functions of sources and sinks, too.", shape: jobLimitsShape},
	{name: "modules", doc: "Wasm modules, by the names that functions are called by.", shape: &shape{what: isNamed, noun: "module", of: moduleShape}},
	{name: "sources", doc: "Where records come from.", required: true, shape: &shape{what: isNamed, noun: "source", of: sourceShape}},
	{name: "steps", doc: "What is done to them. A step's name is its identity in checkpoints.", shape: &shape{what: isNamed, noun: "step", of: stepShape}},
	{name: "sinks", doc: "Where results go.", required: true, shape: &shape{what: isNamed, noun: "sink", of: sinkShape}},
}}

var moduleShape = &shape{what: isFields, fields: []field{
	{name: "file", doc: "The module's file, relative to the job file.", shape: textShape},
	{name: "digest", later: true},
}, one: []choice{{noun: "origin", names: []string{"file", "digest"}}}}

var formatField = field{name: "format", doc: "json: newline-delimited JSON; or a Wasm function of the role decode, or of a sink encode, that takes or gives one line.", required: true, shape: formatShape}

var recordBytesField = field{name: "record-bytes-max", doc: "The longest record that is not an error; default 16MiB.", shape: &shape{what: isBytes, min: RecordBytesMin, max: RecordBytesMax, example: "16MiB"}}

var testField = field{name: "test", doc: "The script of a scenario stands in for the connector.", shape: &shape{what: isFields}, connector: true}

var sourceShape = &shape{what: isFields, fields: []field{
	{name: "file", doc: "A file of records.", connector: true, shape: &shape{what: isFields, fields: []field{
		{name: "path", doc: "The file, relative to the job file.", required: true, shape: textShape},
		formatField,
		recordBytesField,
	}}},
	kafkaSourceField,
	testField,
	{name: "schema", doc: "The records' columns with their Flink SQL types.", required: true, shape: &shape{what: isNamed, noun: "column", columns: true, of: &shape{what: isType, example: "BIGINT"}}},
	{name: "event-time", doc: "The column that holds a record's event time: TIMESTAMP(3), TIMESTAMP_LTZ(3), or BIGINT in milliseconds since the epoch. Or a Wasm function of the role timestamp.", shape: eventTimeShape},
	{name: "ingestion-time", doc: "Stamp records with the clock as they are read.", shape: flagShape},
	{name: "watermark", doc: "How event time moves on; without it only the end of input moves it.", shape: watermarkShape},
	{name: "on-error", doc: "What becomes of the job when a record cannot be decoded: fail (default), dead-letter (it goes to the output SOURCE.failed), or skip it, count and report.", shape: &shape{what: isWord, words: errorWords[:]}},
}, one: []choice{{noun: "connector", names: []string{"file", "kafka", "test"}}}}

var watermarkShape = &shape{what: isFields, fields: []field{
	{name: "strategy", doc: "bounded (max-out-of-orderness behind the latest record; the default), monotonous (records come in order) or none (only the end of input moves time).", shape: &shape{what: isWord, words: strategyWords[:]}},
	{name: "max-out-of-orderness", doc: "How much later than the latest record an older one may come; default 0s.", shape: periodShape},
	{name: "idle-timeout", doc: "After this long without records the source holds nothing up; by default never.", shape: positiveShape},
	{name: "emit", doc: "periodic (every 200ms; the default), on-event (after every record: the result is then a function of the input alone) or punctuated (where the function says so that event-time names).", shape: &shape{what: isWord, words: []string{"periodic", "on-event", "punctuated"}}},
	{name: "alignment", doc: "Hold the source back while it is ahead of the others of a group.", shape: &shape{what: isFields, fields: []field{
		{name: "group", doc: "The group's name; sources that name it wait for each other.", required: true, shape: nameShape},
		{name: "max-drift", doc: "How far ahead of the group's lowest watermark the source may be.", required: true, shape: periodShape},
	}}},
}}

// compatibilityShape: each switch is one behaviour that a named Flink ticket
// changed; flink says which release's they all are unless said otherwise.
var compatibilityShape = &shape{what: isFields, fields: []field{
	{name: "flink", doc: "The release (its last patch) that the switches below follow by default; in quotes, default \"2.3\".", shape: &shape{what: isWord, words: flinkReleases}},
	{name: "cleanup-after-empty-firing", doc: "A window that fires without contents is forgotten in time (FLINK-33192) instead of never.", shape: flagShape},
	{name: "flush-when-all-idle", doc: "When the last input of a union turns idle, the watermark becomes the highest of all (FLINK-40475), instead of only if that input held it back.", shape: flagShape},
	{name: "max-of-idle", doc: "When all partitions of a source or both sides of an interval join are idle, the watermark becomes the highest of theirs (FLINK-38454) instead of staying.", shape: flagShape},
	{name: "idle-clock-pauses", doc: "While a source is held back its idle-timeout does not run (FLINK-35886).", shape: flagShape},
}}

var fromList = &shape{what: isList, of: refShape, example: "[a, b]"}

var fromShape = &shape{what: isEither, either: []*shape{refShape, fromList}, choose: func(n *node) *shape {
	if n.form == listForm {
		return fromList
	}
	return refShape
}}

var fromField = field{name: "from", doc: "A source, a step or step.output; a list is a union.", shape: fromShape}

var sinkShape = &shape{what: isFields, fields: []field{
	required(fromField),
	{name: "file", doc: "A file that appears when it is complete, or a folder of them.", connector: true, shape: &shape{what: isFields, fields: []field{
		{name: "path", doc: "The file, or with rolling the folder, relative to the job file.", required: true, shape: textShape},
		formatField,
		rollingField,
	}}},
	kafkaSinkField,
	testField,
	{name: "postgres", later: true, connector: true},
	{name: "sqlite", later: true, connector: true},
}, one: []choice{{noun: "connector", names: []string{"file", "kafka", "postgres", "sqlite", "test"}}}}

func required(f field) field {
	f.required = true
	return f
}
