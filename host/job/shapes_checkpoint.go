package job

import "math"

// The limits of checkpoints, restarts and files that roll.
const (
	CheckpointIntervalMin     = 10        // ms; Flink's, of the timeout as well
	DelayMax                  = 365 * day // ms; of what the clock measures
	RetainedMax               = 1000
	MultiplierMax             = 100
	RollingBytesMin           = 1 << 10
	RollingBytesMax           = 1 << 40
	checkpointIntervalDefault = 10_000  // ms
	checkpointTimeoutDefault  = 600_000 // ms; this and what follows are Flink's
	retainedDefault           = 2       // Flink's is 1
	tolerableDefault          = 10      // Flink's is 0: a disk that is full for a moment would end the job
	attemptsDefault           = 1
	maxFailuresDefault        = 1
	failureIntervalDefault    = 60_000    // ms
	delayDefault              = 1000      // ms
	delayMaxDefault           = 60_000    // ms
	resetAfterDefault         = 3_600_000 // ms
	multiplierDefault         = 1.5
	jitterDefault             = 0.1
	rollingBytesDefault       = 64 << 20
	rollingIntervalDefault    = 60_000 // ms
)

var (
	delayShape    = &shape{what: isDuration, max: DelayMax, example: "10s"}
	someTimeShape = &shape{what: isDuration, min: 1, max: DelayMax, example: "10s"}
	pulseShape    = &shape{what: isDuration, min: CheckpointIntervalMin, max: DelayMax, example: "10s"}
)

var checkpointField = field{name: "checkpoint", doc: "Keep the job's state, so that it goes on after a crash.", connector: true, shape: &shape{what: isFields, fields: []field{
	{name: "dir", doc: "The folder that checkpoints are kept in, for this job alone; relative to the job file.", required: true, shape: textShape},
	{name: "interval", doc: "How often a checkpoint is made; default 10s. What a sink writes exactly once can be seen after it.", shape: pulseShape},
	{name: "min-pause", doc: "The least time from the end of a checkpoint to the start of the next; default 0s.", shape: delayShape},
	{name: "timeout", doc: "A checkpoint that takes longer has failed; default 10m.", shape: pulseShape},
	{name: "tolerable-failures", doc: "How many checkpoints in a row may fail before the job does; default 10.", shape: &shape{what: isInteger, max: math.MaxInt32}},
	{name: "retained", doc: "How many complete checkpoints are kept; default 2, so that there is one to fall back on when the newest is damaged.", shape: &shape{what: isInteger, min: 1, max: RetainedMax}},
	{name: "mode", doc: "exactly-once (default); at-least-once: inputs do not wait for each other, and records after a restart may count twice.", shape: &shape{what: isWord, words: guaranteeWords[:NoGuarantee]}},
}, example: "{dir: state, interval: 10s}"}}

var restartShape = wordOrMapping(&shape{what: isFields, words: []string{restartWords[NoRestart]}, fields: []field{
	{name: restartWords[FixedDelay], doc: "So many times, each after the same delay.", shape: &shape{what: isFields, fields: []field{
		{name: "attempts", doc: "How many times the job is started again; default 1.", shape: &shape{what: isInteger, min: 1, max: math.MaxInt32}},
		{name: "delay", doc: "From a failure to the start; default 1s.", shape: delayShape},
	}}},
	{name: restartWords[ExponentialDelay], doc: "Always, after a delay that grows.", shape: &shape{what: isFields, fields: []field{
		{name: "initial", doc: "The first delay; default 1s.", shape: someTimeShape},
		{name: "max", doc: "The longest delay; default 1m.", shape: someTimeShape},
		{name: "multiplier", doc: "What each delay is of the one before; default 1.5.", shape: &shape{what: isNumber, least: 1, most: MultiplierMax}},
		{name: "reset-after", doc: "After this long without a failure the delay is initial again; default 1h.", shape: someTimeShape},
		{name: "jitter", doc: "The part of the delay that chance may add or take away, so that jobs do not start all at once; default 0.1.", shape: &shape{what: isNumber, most: 1}},
	}}},
	{name: restartWords[FailureRate], doc: "As long as failures are rare.", shape: &shape{what: isFields, fields: []field{
		{name: "max-failures", doc: "More failures than these within the interval end the job; default 1.", shape: &shape{what: isInteger, min: 1, max: math.MaxInt32}},
		{name: "interval", doc: "The time in which failures are counted; default 1m.", shape: someTimeShape},
		{name: "delay", doc: "From a failure to the start; default 1s.", shape: delayShape},
	}}},
}, one: []choice{{noun: "strategy", names: restartWords[FixedDelay:]}}})

var rollingField = field{name: "rolling", doc: "Make path a folder of files part-0000000001.ndjson and so on, in the order of writing; each appears with the first checkpoint after it is full or old.", shape: &shape{what: isFields, fields: []field{
	{name: "size", doc: "A file that has this much takes no more records; default 64MiB.", shape: &shape{what: isBytes, min: RollingBytesMin, max: RollingBytesMax, example: "64MiB"}},
	{name: "interval", doc: "A file that is this old takes no more records; default 1m.", shape: pulseShape},
}, example: "{size: 64MiB, interval: 1m}"}}
