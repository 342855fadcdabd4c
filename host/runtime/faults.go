package runtime

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/stream"
)

// faults is what becomes of records that the functions of a step's task fail on, or
// that a source cannot decode.
type faults struct {
	policy job.OnError
	out    *output // the output failed; nil unless policy is DeadLetter
	writer *stream.RowWriter
	stats  *StepStats
	rate   faultRate
	tell   func(error) // of one that is left out

	computed int // columns at the end of a record that are no part of it: the key that a function made
	atHand
	told map[int32]struct{}           // rows that functions failed on
	lost func(number int, x *failure) // a record of a list was failed on, see recomputed
}

// atHand is the record that functions are asked about.
type atHand struct {
	row      int32         // in its batch, from 1; in the lists of recomputed, from -1 down
	origin   stream.Origin // if it is put out when it fails
	place    []byte        // the same of a record of a list
	original []byte        // that it was made of
}

// failure is a record that a function failed on.
type failure struct {
	function *job.Function
	record   []byte         // its row, or what was not decoded; nil: there is none
	schema   *stream.Schema // of a row; nil: the record is bytes
	other    []byte         // of a pair, the right row; nil: there is none
	original []byte         // what was read at position; empty: it is not known
	within   string         // the window that it is in, or the timer that it is, for people; "": it does not matter
	pair     string         // what is shown of a pair
	position string         // where it was read
	key      string         // for people; "" if there is none
	time     stream.EventTime
	where    string // what the function was asked for, in words
	fuel     int64  // that the op took; 0: it is not known
	asked    int64  // ops of the function so far; 0: it is not known
	costly   int64  // rebuilds for it that count like faults
	note     string // what is to be added to the message
	row      int32  // as the record at hand has it; 0: it is no record
	err      error
}

// failing is the part of an operator that knows what becomes of failures.
type failing struct{ faults *faults }

func (f *failing) failures() *faults { return f.faults }

// withFailed adds the output of dead letters, if there is one, to outputs that get
// watermarks together.
func (f *failing) withFailed(outs outputs) outputs {
	if f.faults.out == nil {
		return outs
	}
	return append(outs, f.faults.out)
}

// failureOf is the failure of op i of a function.
func failureOf(f *job.Function, c *guests.Caller, i int, err error) failure {
	kind, _ := c.Op(i)
	x := failure{function: f, time: stream.MinTime, err: err, where: kind.String(), fuel: c.Spent(), asked: c.Asked(), costly: c.CostlyRebuilds()}
	if len(f.Inputs) > 0 {
		x.schema = f.Inputs[0].Schema
		if kind == abi.OpOnSecond || kind == abi.OpOnBroadcast || kind == abi.OpOnKey {
			x.schema = f.Inputs[len(f.Inputs)-1].Schema
		}
		if row := c.RowOf(i, x.schema); row != nil {
			x.record, x.where = row, "the record "+x.schema.Show(row)
		}
	}
	ctx, key := c.ContextOf(i)
	if ctx == nil {
		return x
	}
	x.time = stream.EventTime(ctx.Time)
	if f.Key != nil && key != nil {
		x.key = f.Key.Show(key)
	}
	switch kind {
	case abi.OpOnWindow, abi.OpOnGroup, abi.OpEvict, abi.OpClear, abi.OpOnEventTime, abi.OpOnProcessingTime, abi.OpOnMerge:
		of := window.Window{Start: ctx.Start, End: ctx.End}
		if x.time == stream.MinTime {
			x.time = stream.EventTime(of.MaxTimestamp())
		}
		x.within = showWindow(of)
		x.where += " of " + x.within
	case abi.OpOnTimer:
		x.within = "the timer of " + x.time.Show()
		x.where = x.within
	}
	return x
}

// failureIn is the failure of element n of the list of op i of a function.
func failureIn(f *job.Function, c *guests.Caller, i, n int, err error) failure {
	x := failureOf(f, c, i, err)
	schemas := make([]*stream.Schema, len(f.Inputs))
	for s := range f.Inputs {
		schemas[s] = f.Inputs[s].Schema
	}
	e, row := c.ElementOf(i, n, schemas...)
	x.record, x.schema = row, schemas[min(int(e.Input), len(schemas)-1)]
	x.where = "the record " + x.shown()
	return x
}

// shown is what it is about, for people.
func (x *failure) shown() string {
	switch {
	case x.pair != "":
		return x.pair
	case x.record == nil || x.schema == nil:
		return x.within
	case x.within == "":
		return x.schema.Show(x.record)
	}
	return x.schema.Show(x.record) + " in " + x.within
}

// came says which record is at hand.
func (f *faults) came(b *stream.Batch, n int) {
	f.row = int32(n) + 1
	if f.out != nil {
		f.origin, f.original = b.Origin(n), b.Original(n)
	}
}

// cameOfList says that a record of a list is at hand, by its number.
func (f *faults) cameOfList(number int, e listedRow) {
	f.atHand = atHand{row: -1 - int32(number), place: e.place}
}

// fail fails the job, whatever the policy is.
func (f *faults) fail(x *failure) error {
	if x.function == nil {
		return x.err
	}
	if x.key != "" {
		x.where += " at key " + x.key
	}
	return &FunctionError{Function: x.function, Err: x.err, Where: x.where}
}

// take does what the policy says; an error fails the job.
func (f *faults) take(x *failure) error {
	err := f.fail(x)
	if f.policy == job.Fail {
		return err
	}
	f.rate.asked(x.asked)
	if f.rate.fault(1 + x.costly) {
		return fmt.Errorf("%d faults in the last %d records or calls are more than the step's fault-rate, %g, allows (a greater one lets more pass, 1 any number); the last of them: %w",
			f.rate.faults, min(max(f.rate.records, 1), faultRecords), f.rate.share, err)
	}
	if x.row < 0 {
		f.lost(int(-1-x.row), x)
	}
	if !f.first(x.row) {
		return nil
	}
	f.stats.Faults.Add(1)
	if f.out == nil {
		f.tell(err)
		return nil
	}
	f.write(x)
	return nil
}

// first notes that a function failed on a record, and tells whether it is the first time:
// another one of the step, or the same for another window, may have before. A record is left
// out once. For the share of faults each counts.
func (f *faults) first(row int32) bool {
	if row <= 0 {
		return true // a record of a list leaves it
	}
	if _, known := f.told[row]; known {
		return false
	}
	if f.told == nil {
		f.told = map[int32]struct{}{}
	}
	f.told[row] = struct{}{}
	return true
}

// completed says that no function will be asked about the records before this any more.
func (f *faults) completed() {
	if len(f.told) > 0 {
		clear(f.told)
	}
}

// leaveOut counts and puts out a record that is left out by a fault which was taken.
func (f *faults) leaveOut(x *failure) {
	if f.stats.Faults.Add(1); f.out != nil {
		f.write(x)
	}
}

// write puts a row of job.FailedSchema out.
func (f *faults) write(x *failure) {
	w := f.writer
	w.Begin(f.out.batch, stream.Insert)
	column := 0
	bytes := func(b []byte) {
		if len(b) > 0 {
			w.SetBytes(column, b)
		} else {
			w.SetNull(column)
		}
		column++
	}
	text := func(s string) { bytes([]byte(strings.ToValidUTF8(s, "\ufffd"))) }
	bytes(x.record)
	text(x.shown())
	text(x.position)
	reason, message, backtrace, fuel := describe(x.err)
	fuel = max(fuel, x.fuel)
	text(reason)
	text(message + x.note)
	if x.function != nil {
		text(x.function.Module.Name + "." + x.function.Name)
	} else {
		text("")
	}
	text(x.key)
	if fuel > 0 {
		w.SetInt64(column, fuel)
		column++
	} else {
		bytes(nil)
	}
	text(strings.Join(backtrace, "\n"))
	bytes(x.original)
	bytes(x.other)
	w.End(x.time)
}

// failedOutput is the output of dead letters.
const failedOutput = "failed"

// undecodable is the reason of records that could not be decoded.
const undecodable = "undecodable"

// describe takes a fault apart; fuel 0: it is not known.
func describe(err error) (reason, message string, backtrace []string, fuel int64) {
	reason, message = undecodable, err.Error()
	if kind := guests.KindOf(err); kind != 0 {
		reason = kind.String()
	}
	var code *sandbox.Fault
	var answer *abi.Fault
	switch {
	case errors.As(err, &code):
		message, backtrace, fuel = code.Message, code.Backtrace, code.Fuel
	case errors.As(err, &answer):
		message = answer.Detail
	}
	return reason, message, backtrace, fuel
}

// faultRate tells when too many of the last records failed, so that a function that
// fails on everything ends the job instead of turning all of it into dead letters. The
// last records are counted in buckets.
type faultRate struct {
	share   float64
	records int64 // so far
	buckets [faultBuckets]int64
	bucket  int64 // of the newest record, from the beginning
	faults  int64 // in all buckets
}

const (
	faultRecords = 10_000 // what the last records are
	faultBuckets = 100
	faultsMin    = 100 // fewer never fail the job
)

// seen counts records that functions are asked about.
func (r *faultRate) seen(records int) {
	r.records += int64(records)
	const width = faultRecords / faultBuckets
	for now := r.records / width; r.bucket < now; {
		r.bucket++
		if now-r.bucket < faultBuckets {
			b := &r.buckets[r.bucket%faultBuckets]
			r.faults -= *b
			*b = 0
		} else {
			r.faults, r.buckets, r.bucket = 0, [faultBuckets]int64{}, now
		}
	}
}

// asked says how often a function was asked so far. That is more often than there are
// records where it is asked about each of a record's windows, or about timers.
func (r *faultRate) asked(ops int64) {
	if more := ops - r.records; more > 0 {
		r.seen(int(more))
	}
}

// fault counts a fault, as so many, and tells whether there are too many now.
func (r *faultRate) fault(n int64) bool {
	r.faults += n
	r.buckets[r.bucket%faultBuckets] += n
	if r.share >= 1 {
		return false
	}
	of := float64(min(max(r.records, 1), faultRecords))
	return r.faults >= faultsMin && float64(r.faults) > r.share*of
}

// faults makes what a step's functions need; its output, if there is one, is added to
// outs, for the marks.
func (b *builder) faults(s *job.Step, n *node, stats *StepStats, outs *outputs) *faults {
	f := &faults{computed: s.Computed, policy: s.OnFault, stats: stats, rate: faultRate{share: s.FaultRate}, tell: b.teller("step", s.Name)}
	if s.OnFault == job.DeadLetter {
		f.out = b.output(job.StreamRef{Name: failedOf(s.Name), Output: failedOutput}, n)
		f.writer = stream.NewRowWriter(job.FailedSchema)
		*outs = append(*outs, f.out)
	}
	return f
}

// failedOf is the step that dead letters are put out by: those of the one that computes
// a key are the keyed one's.
func failedOf(step string) string { return strings.TrimSuffix(step, "."+job.KeyStep) }
