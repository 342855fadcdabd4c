package job

// The limits of what an enrichment may ask for.
const (
	EnrichCapacityMax     = 1 << 20
	EnrichTimeoutMax      = 3_600_000 // ms
	AttemptsMax           = 100
	AnswerBytesMax        = 256 << 20
	CacheBytesMax         = 1 << 40
	enrichCapacityDefault = 100        // Flink's
	enrichTimeoutDefault  = 10_000     // ms
	inFlightDefault       = 32         // at most the capacity
	askedDefault          = 3          // in all
	backoffDefault        = 100        // ms
	backoffMaxDefault     = 10_000     // ms
	budgetDefault         = 0.2        // further attempts for each request
	answerBytesDefault    = 128 << 10  // of which guests with buffers of the usual size make a row
	cacheBytesDefault     = 64 << 20   //
	cacheTTLMax           = 1000 * day // ms
)

var statusesDefault = []int{429, 502, 503, 504}

var enrichTimeShape = &shape{what: isDuration, min: 1, max: EnrichTimeoutMax, example: "10s"}

var retryShape = &shape{what: isFields, fields: []field{
	{name: "attempts", doc: "How often a request is tried in all; 1: once. Default 3.", shape: &shape{what: isInteger, min: 1, max: AttemptsMax}},
	{name: "statuses", doc: "The statuses that are tried again, besides errors of the network; default [429, 502, 503, 504].", shape: &shape{what: isList, of: &shape{what: isInteger, min: 300, max: 599}, example: "[429, 503]"}},
	{name: "backoff", doc: "About how long to wait before the second attempt, and twice as long before each further one; default 100ms. A server's Retry-After is heeded.", shape: enrichTimeShape},
	{name: "backoff-max", doc: "The longest that is waited between two attempts; default 10s.", shape: enrichTimeShape},
	{name: "budget", doc: "How many further attempts there may be for each request, on average; ten may come at once. Default 0.2.", shape: &shape{what: isNumber, least: 0.001, most: AttemptsMax}},
}}

var cacheShape = &shape{what: isFields, fields: []field{
	{name: "ttl", doc: "How long an answer is good for.", required: true, shape: &shape{what: isDuration, min: 1, max: cacheTTLMax, example: "5m"}},
	{name: "size", doc: "How many bytes of answers are kept; default 64MiB.", shape: &shape{what: isBytes, min: 1 << 10, max: CacheBytesMax, example: "64MiB"}},
}}

var httpShape = &shape{what: isFields, fields: []field{
	{name: "allow", doc: "The URLs that may be asked, each with a * at its end for all that begin so. Nothing else is reached, and redirects are not followed.", required: true, shape: &shape{what: isList, of: &shape{what: isText, example: "https://rates.example/*"}, example: `["https://rates.example/*"]`}},
	{name: "private", doc: "Networks that may be reached although they are not public.", shape: &shape{what: isList, of: &shape{what: isText, example: "10.1.0.0/16"}, example: "[10.1.0.0/16]"}},
	{name: "in-flight", doc: "How many requests are at servers at one time; default 32, at most capacity.", shape: &shape{what: isInteger, min: 1, max: EnrichCapacityMax}},
	{name: "timeout", doc: "How long a record waits for its answer, all attempts included; default 10s.", shape: enrichTimeShape},
	{name: "attempt-timeout", doc: "How long one attempt may take; by default as long as timeout.", shape: enrichTimeShape},
	{name: "retry", doc: "What is done about failures.", shape: retryShape},
	{name: "rate-limit", doc: "How many attempts there are in a second, evenly spaced; by default as many as come.", shape: &shape{what: isNumber, least: 0.001, most: 1e6}},
	{name: "answer-bytes-max", doc: "The longest body of an answer that is not an error; default 128KiB.", shape: &shape{what: isBytes, min: 0, max: AnswerBytesMax, example: "128KiB"}},
	{name: "cache", doc: "Keep answers with a status of 200 to 299 for equal requests: of equal method, URL, headers and body.", shape: cacheShape},
}}

var enrichShape = &shape{what: isFields, fields: []field{
	{name: "wasm", doc: "The function, as module.function.", required: true, shape: functionShape},
	withField,
	{name: "order", doc: "ordered (results leave in the order of the records; the default) or unordered (as they come, but none passes a watermark).", shape: &shape{what: isWord, words: enrichOrderWords[:]}},
	{name: "capacity", doc: "How many records and watermarks wait at most; then the step takes no more. Default 100, as in Flink.", shape: &shape{what: isInteger, min: 1, max: EnrichCapacityMax}},
	{name: "http", doc: "What the function's requests may reach, and how they are asked.", required: true, shape: httpShape},
}}
