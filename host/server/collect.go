package server

import (
	"math"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// family is a metric with all its series.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// families makes the metrics of one scope, whose series have these labels. The names
// behind the scope are Flink's where it has one, and so are labels.
func families(scope string, labels ...string) (counter, gauge func(name, help string) family) {
	of := func(kind prometheus.ValueType) func(name, help string) family {
		return func(name, help string) family {
			return family{prometheus.NewDesc("wasmstream_"+scope+"_"+name, help, labels, nil), kind}
		}
	}
	return of(prometheus.CounterValue), of(prometheus.GaugeValue)
}

const jobLabel = "job_name" // Prometheus has a label job of its own

// The metrics of tasks.
var (
	taskCounter, taskGauge = families("task", jobLabel, "kind", "name", "subtask_index")

	recordsIn       = taskCounter("numRecordsIn", "Records that the task has taken; of a source, that it has read and could decode.")
	recordsOut      = taskCounter("numRecordsOut", "Records that the task has put out, late ones to a late output included.")
	recordErrors    = taskCounter("numRecordsInErrors", "Records that the source has left out: they could not be decoded, or had no value.")
	lateDropped     = taskCounter("numLateRecordsDropped", "Records that were too late for every window and went to no late output.")
	functionFaults  = taskCounter("numFunctionFaults", "Records that a function of the step failed on: dead letters, or left out.")
	inputWatermark  = taskGauge("currentInputWatermark", "The watermark of the task's input, in ms since the epoch; the least int64: none yet.")
	outputWatermark = taskGauge("currentOutputWatermark", "The watermark that the task put out last, in ms since the epoch; the least int64: none yet.")
	busyTime        = taskGauge("busyTimeMsPerSecond", "How long the task worked, in ms of each second.")
	waitedTime      = taskGauge("backPressuredTimeMsPerSecond", "How long the task waited for room in its output, in ms of each second.")
	idleTime        = taskGauge("idleTimeMsPerSecond", "How long the task had no input, or no worker to run on, in ms of each second.")
	stateEntries    = taskGauge("stateEntries", "Pairs of key and window, or of key and side of a join, for which the task keeps something.")
	stateBytes      = taskGauge("stateBytes", "What these take in memory, in bytes.")
	stateTimers     = taskGauge("stateTimers", "Timers that the task has set.")
)

// The metrics of splits: the partitions of a topic, or a file.
var (
	_, splitGauge     = families("split", jobLabel, "source", "split")
	_, idleSplitGauge = families("split", jobLabel, "source", "split", "idle")

	pendingRecords = splitGauge("pendingRecords", "Records of the split that are there and were not read yet.")
	watermarkLag   = idleSplitGauge("watermarkLag", "How far the watermark of the split is behind the clock, in ms; +Inf: the split had no record yet. One that is idle holds nobody up.")
)

// The metrics of the job.
var (
	jobCounter, jobGauge = families("job", jobLabel)

	restarts      = jobCounter("numRestarts", "How often the job failed and was started again by this process.")
	uptime        = jobGauge("uptime", "For how long the job has been running without interruption, in ms; 0: it is not running.")
	completed     = jobCounter("numberOfCompletedCheckpoints", "Checkpoints that are durable and that all sinks have committed.")
	failed        = jobCounter("numberOfFailedCheckpoints", "Checkpoints that came to nothing.")
	lastDuration  = jobGauge("lastCheckpointDuration", "How long the last completed checkpoint took, from its start until all sinks had committed it, in ms; -1: none yet.")
	lastSize      = jobGauge("lastCheckpointSize", "Bytes of state that were written for the last completed checkpoint; -1: none yet.")
	checkInterval = jobGauge("checkpointInterval", "How often a checkpoint is started, in ms.")
)

// The metrics of functions: those of modules, by the task that asks them.
var (
	functionCounter, functionGauge = families("function", jobLabel, "kind", "name", "subtask_index", "function", "role")
	faultCounter, _                = families("function", jobLabel, "kind", "name", "subtask_index", "function", "role", "fault")

	functionCalls     = functionCounter("numCalls", "Calls into instances of the function; each carries many ops.")
	functionOps       = functionCounter("numOps", "What the function was asked, such as about a record or a timer; what is asked again after a fault counts again.")
	functionFuel      = functionCounter("fuel", "Units of fuel that calls have spent, each about one instruction.")
	functionRebuilt   = functionCounter("numInstancesRebuilt", "Instances that were thrown away after a fault and made anew.")
	functionInstances = functionGauge("instances", "Instances of the function that the task has.")
	functionMemory    = functionGauge("peakMemoryBytes", "The most memory that one instance has taken.")
	faultsByKind      = faultCounter("numFaults", "Ops that the function failed on, by kind of fault.")
)

// The metrics of enrichments.
var (
	enrichCounter, enrichGauge = families("enrich", jobLabel, "name")

	requests        = enrichCounter("numRequests", "Requests of the function.")
	sharedRequests  = enrichCounter("numShared", "Requests that an equal one under way answered.")
	cacheHits       = enrichCounter("numCacheHits", "Requests that the cache answered.")
	answers         = enrichCounter("numAnswers", "Requests, of the others, that a server has answered, whatever its status.")
	unanswered      = enrichCounter("numUnanswered", "Requests, of the others, that have ended without an answer.")
	attempts        = enrichCounter("numAttempts", "Attempts at servers.")
	retries         = enrichCounter("numRetries", "Attempts that were not the first of their request.")
	timeouts        = enrichCounter("numTimeouts", "Attempts that took too long, and requests whose time was over before their first.")
	held            = enrichCounter("numRateLimitedWaits", "Attempts that have waited for the rate limit.")
	inFlight        = enrichGauge("requestsInFlight", "Requests that are at servers, or wait for their next attempt.")
	waitingRequests = enrichGauge("requestsWaiting", "Requests that wait until fewer are in flight.")
)

// Describe implements prometheus.Collector. What a job has depends on what it is, so
// nothing is promised.
func (w *watch) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (w *watch) Collect(to chan<- prometheus.Metric) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := emitter{to, w.job}
	out.put(restarts, float64(w.restarts))
	if w.interval > 0 {
		out.put(checkInterval, float64(w.interval.Milliseconds()))
	}
	if w.running == nil {
		out.put(uptime, 0)
		out.checkpoints(w.checkpoints)
		return
	}
	m, now := w.running.Metrics(), w.clock.Now()
	out.put(uptime, float64(now-w.since))
	out.checkpoints(w.added(m.Checkpoints))
	for i, spent := range w.rates.look(m) {
		out.task(&m.Tasks[i], spent)
	}
	for i := range m.Functions {
		out.function(&m.Functions[i])
	}
	for i := range m.Askers {
		out.enrichment(&m.Askers[i])
	}
	for _, s := range m.Splits {
		lag := math.Inf(1)
		if s.Watermark != stream.MinTime {
			lag = float64(now) - float64(s.Watermark)
		}
		out.put(watermarkLag, lag, s.Source, s.Split, strconv.FormatBool(s.Idle))
	}
	for _, l := range m.Lags {
		out.put(pendingRecords, float64(l.Records), l.Source, l.Split)
	}
}

// emitter hands the samples of one collection on.
type emitter struct {
	to  chan<- prometheus.Metric
	job string
}

func (e *emitter) put(f family, value float64, labels ...string) {
	labels = append([]string{e.job}, labels...)
	for i, l := range labels {
		labels[i] = strings.ToValidUTF8(l, "\uFFFD") // or the whole scrape would fail
	}
	m, err := prometheus.NewConstMetric(f.desc, f.kind, value, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(f.desc, err)
	}
	e.to <- m
}

func (e *emitter) checkpoints(c *runtime.CheckpointMetrics) {
	if c == nil {
		return
	}
	e.put(completed, float64(c.Completed))
	e.put(failed, float64(c.Failed))
	e.put(lastDuration, float64(c.LastMillis))
	e.put(lastSize, float64(c.LastBytes))
}

// task puts out what tasks of its kind have.
func (e *emitter) task(t *runtime.TaskMetrics, of perSecond) {
	put := func(f family, value float64) { e.put(f, value, string(t.Kind), t.Name, strconv.Itoa(t.Task)) }
	put(busyTime, of.busy)
	put(waitedTime, of.waited)
	put(idleTime, of.idle)
	if t.Kind == runtime.DecoderTask {
		return
	}
	put(recordsIn, float64(t.RecordsIn))
	if t.Kind == runtime.SourceTask {
		put(recordErrors, float64(t.Skipped))
	} else {
		put(inputWatermark, float64(t.InputWatermark))
	}
	if t.Kind != runtime.SinkTask {
		put(recordsOut, float64(t.RecordsOut))
		put(outputWatermark, float64(t.OutputWatermark))
	}
	if t.Windowed {
		put(lateDropped, float64(t.LateDropped))
	}
	if t.Asks {
		put(functionFaults, float64(t.Faults))
	}
	if s := t.State; s != nil {
		put(stateEntries, float64(s.Entries))
		put(stateBytes, float64(s.Bytes))
		put(stateTimers, float64(s.Timers))
	}
}

func (e *emitter) function(f *runtime.FunctionMetrics) {
	of := []string{string(f.Kind), f.Name, strconv.Itoa(f.Task), f.Function, f.Role}
	put := func(to family, value int64) { e.put(to, float64(value), of...) }
	put(functionCalls, f.Calls)
	put(functionOps, f.Ops)
	put(functionFuel, f.Fuel)
	put(functionRebuilt, f.Rebuilt)
	put(functionInstances, int64(f.Instances))
	put(functionMemory, f.MemoryBytes)
	for kind, n := range f.Faults {
		if kind > 0 { // there is no kind 0
			e.put(faultsByKind, float64(n), append(of[:len(of):len(of)], abi.FaultKind(kind).String())...)
		}
	}
}

func (e *emitter) enrichment(a *runtime.AskerMetrics) {
	put := func(to family, value int64) { e.put(to, float64(value), a.Step) }
	put(requests, a.Requests)
	put(sharedRequests, a.Shared)
	put(cacheHits, a.CacheHits)
	put(answers, a.Answered)
	put(unanswered, a.Failed)
	put(attempts, a.Attempts)
	put(retries, a.Retries)
	put(timeouts, a.TimedOut)
	put(held, a.Held)
	put(inFlight, a.InFlight)
	put(waitingRequests, a.Waiting)
}
