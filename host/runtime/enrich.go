package runtime

import (
	"strings"
	"sync"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/connector"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/enrich"
	"github.com/wasmstream/wasmstream/host/stream"
)

// enrichOperator asks the world outside about records, as Flink's AsyncWaitOperator
// does. Told as a sequence, for one record:
//
//	the queue takes it; the function is asked by on-record, in a frame with others
//	it has results, and is finished; or it has a request, which the asker gets
//	the answer comes, from some goroutine, into answers, and the task is woken
//	the function is asked by on-answer, in a frame with others: the record is finished
//	the queue says when its results may leave
//
// A barrier does not wait for any of that: the records in the queue are in the snapshot.
// Whoever goes on from it asks about them again, but for those that have results and wait
// for others.
//
// Each task has a queue of its own, with an order and a capacity, as each of Flink's
// subtasks has. They share one asker: what may be asked at one time, or in a second, is a
// matter of the servers, and so is what they have answered.
type enrichOperator struct {
	keeper
	timeless
	stateless
	faults  *faults
	failed  failure // what all failures have alike
	queue   *enrich.Queue
	asker   connector.Asker
	answers answers
	caller  *guests.Caller
	input   *stream.Projection
	answer  *stream.RowWriter
	request requestReader
	now     guests.Context // what the next op is told of time

	// failures are records in the queue that the function failed on. What becomes of
	// them is seen to when they leave: until then they are in each snapshot.
	failures map[*enrich.Record]*failedAnswer
	err      error      // of a record that has left; it fails the job
	ops      []enrichOp // since the last Perform
	came     []enrichOp // scratch
	asked    bool       // the op at hand has made a request
	waiting  bool       // the input has more, and the queue has no room
	resuming bool       // the state has records that are to be taken up first
	results  int        // how many outputs results are for
	shelf    shelf
	buf      []byte
}

// enrichOp is an op before it is performed.
type enrichOp struct {
	record *enrich.Record
	second *connector.Answer // nil: the record has just come
}

// answers is where answers come in. There are no more than records that wait.
type answers struct {
	node *node
	mu   sync.Mutex
	list []enrichOp
}

func (a *answers) put(r *enrich.Record, answer *connector.Answer) {
	a.mu.Lock()
	a.list = append(a.list, enrichOp{r, answer})
	a.mu.Unlock()
	a.node.wake()
}

// take empties the list.
func (a *answers) take(into []enrichOp) []enrichOp {
	a.mu.Lock()
	defer a.mu.Unlock()
	into = append(into, a.list...)
	clear(a.list)
	a.list = a.list[:0]
	return into
}

// takeIn makes results of the answers that have come.
func (o *enrichOperator) takeIn() error {
	if o.resuming {
		o.resuming = false
		if err := o.resume(); err != nil {
			return err
		}
	}
	o.came = o.answers.take(o.came[:0])
	if o.err != nil || len(o.came) == 0 && len(o.ops) == 0 {
		return o.err
	}
	for _, op := range o.came {
		if err := o.add(op); err != nil {
			return err
		}
	}
	clear(o.came)
	return o.perform()
}

// add adds the op of a record, or of its answer.
func (o *enrichOperator) add(op enrichOp) error {
	o.ops = append(o.ops, op)
	ctx := o.now
	ctx.Time, ctx.Key, ctx.Second = int64(op.record.Time), guests.NoRow(), guests.NoRow()
	row := o.caller.Row(o.input, stream.Row(op.record.Row))
	kind := abi.OpOnRecord
	if op.second != nil {
		kind = abi.OpOnAnswer
		ctx.Second = o.caller.WholeRow(o.answerRow(op.second))
	} else {
		o.faults.rate.seen(1)
	}
	o.caller.Add(kind, guests.NoGroup, row, &ctx)
	if !o.caller.Due() {
		return nil
	}
	return o.perform()
}

// answerRow lays an answer out.
func (o *enrichOperator) answerRow(a *connector.Answer) stream.Row {
	w := o.answer
	w.BeginIn(o.buf[:0], stream.Insert)
	if a.Status == 0 {
		w.SetNull(guests.AnswerStatus)
		w.SetNull(guests.AnswerHeaders)
		w.SetNull(guests.AnswerBody)
		w.SetBytes(guests.AnswerError, []byte(strings.ToValidUTF8(a.Err, "\uFFFD")))
	} else {
		w.SetInt32(guests.AnswerStatus, a.Status)
		w.SetBytes(guests.AnswerHeaders, []byte(strings.ToValidUTF8(a.Headers, "\uFFFD")))
		w.SetBytes(guests.AnswerBody, a.Body)
		w.SetNull(guests.AnswerError)
	}
	o.buf = w.Buffer()
	return w.Row()
}

// perform has all ops performed.
func (o *enrichOperator) perform() error {
	err := o.caller.Perform()
	clear(o.ops)
	o.ops = o.ops[:0]
	if err == nil {
		err = o.err
	}
	return err
}

// Take carries an effect of an op out.
func (o *enrichOperator) Take(i int, e abi.Effect) error {
	r := o.ops[i].record
	if e.Kind == abi.EffectEmit {
		r.Add(e.Aux, e.Payload)
		return nil
	}
	o.asked = true
	o.asker.Ask(o.request.read(e.Payload), func(a *connector.Answer) { o.answers.put(r, a) })
	return nil
}

// Done finishes a record that has not asked.
func (o *enrichOperator) Done(i int) error {
	if !o.asked {
		o.queue.Finish(o.ops[i].record)
	}
	o.asked = false
	return nil
}

// Fault fails the job, or finishes the record without results.
func (o *enrichOperator) Fault(i int, err error) error {
	op := &o.ops[i]
	if o.faults.policy == job.Fail {
		x := o.failureOf(op.record, &failedAnswer{err, o.caller.Spent(), o.caller.CostlyRebuilds()})
		if op.second != nil {
			x.where = "the answer to " + x.where
		}
		return o.faults.take(&x)
	}
	o.failures[op.record] = &failedAnswer{err, o.caller.Spent(), o.caller.CostlyRebuilds()}
	o.queue.Finish(op.record)
	return nil
}

// failedAnswer is what a function failed with on a record, and what it took; see failure.
type failedAnswer struct {
	err          error
	fuel, costly int64
}

func (o *enrichOperator) failureOf(r *enrich.Record, failed *failedAnswer) failure {
	x := o.failed
	x.record, x.time, x.err, x.fuel, x.costly, x.position = r.Row, r.Time, failed.err, failed.fuel, failed.costly, r.Origin.String()
	if len(r.Original) > 0 {
		x.original = r.Original
	}
	x.where = "the record " + x.schema.Show(x.record)
	return x
}

// requestReader reads rows of requests.
type requestReader struct {
	columns [guests.RequestBody + 1]stream.Column
}

func newRequestReader() (r requestReader) {
	for i := range r.columns {
		r.columns[i] = guests.RequestSchema.Column(i)
	}
	return r
}

// read copies a request out of its row.
func (r *requestReader) read(row stream.Row) connector.Request {
	text := func(i int) string {
		if c := &r.columns[i]; !c.IsNull(row) {
			return string(c.Bytes(row))
		}
		return ""
	}
	return connector.Request{
		Method: text(guests.RequestMethod), URL: text(guests.RequestURL), Headers: text(guests.RequestHeaders), Body: []byte(text(guests.RequestBody)),
	}
}

func (o *enrichOperator) setClock(now stream.ProcTime) { o.now.Clock = int64(now) }

func (o *enrichOperator) rows(_ side, b *stream.Batch, from, to int) (int, error) {
	for i := from; i < to; i++ {
		if room, err := o.hasRoom(); err != nil || !room {
			return i, err
		}
		r := o.queue.Add(b.Row(i), b.Time(i))
		r.Origin, r.Original = b.Origin(i), append(r.Original, b.Original(i)...)
		if err := o.add(enrichOp{record: r}); err != nil {
			return i, err
		}
	}
	return to, nil
}

// hasRoom makes room in the queue, if it can.
func (o *enrichOperator) hasRoom() (bool, error) {
	if !o.queue.Full() {
		return true, nil
	}
	if err := o.perform(); err != nil {
		return false, err
	}
	o.emit()
	o.waiting = o.queue.Full()
	return !o.waiting, nil
}

// emit puts out what may leave, until there is no room for it.
func (o *enrichOperator) emit() {
	for !o.outs.isFull() {
		item, ok := o.queue.Next()
		if !ok {
			return
		}
		if item.Record != nil {
			o.leave(item.Record)
		} else {
			o.putOut(item.Mark)
		}
		o.queue.Pop()
	}
}

// leave puts out what a record has led to.
func (o *enrichOperator) leave(r *enrich.Record) {
	for _, result := range r.Results {
		to := o.outs[result.Output].batch
		to.Append(stream.Row(r.Data[result.From:result.To]), r.Time)
		if r.Origin.Source != "" {
			to.SetOrigin(r.Origin, r.Original)
		}
	}
	if len(o.failures) == 0 || o.failures[r] == nil {
		return
	}
	x := o.failureOf(r, o.failures[r])
	delete(o.failures, r)
	if err := o.faults.take(&x); err != nil && o.err == nil {
		o.err = err
		o.answers.node.wake() // to tell it
	}
}

func (o *enrichOperator) putOut(m stream.Mark) {
	if m.Kind == stream.MarkEnd {
		o.finish() // behind the mark the job may be over
	}
	o.outs.mark(m.Kind, m.Value)
}

func (o *enrichOperator) advance(t stream.EventTime) (bool, error) {
	if room, err := o.hasRoom(); err != nil || !room {
		return false, err
	}
	o.now.Watermark = int64(t)
	o.queue.Mark(stream.MarkWatermark, int64(t))
	return true, nil
}

// complete asks about the records that have come. It does not wait for answers: what
// waits for them is in the snapshot, and marks wait in the queue.
func (o *enrichOperator) complete() (bool, error) {
	err := o.perform()
	o.emit()
	return true, err
}

func (o *enrichOperator) status(kind stream.MarkKind) { o.queue.Mark(kind, 0) }

func (o *enrichOperator) end() error {
	o.queue.Mark(stream.MarkEnd, 0)
	return nil
}

// drain also hands on all that there is while the input waits for room: there is no
// telling when more comes.
func (o *enrichOperator) drain(all bool) bool {
	for {
		o.emit()
		if !o.keeper.drain(all) {
			return false
		}
		if _, more := o.queue.Next(); !more {
			break
		}
	}
	if o.waiting = o.waiting && o.queue.Full(); o.waiting {
		o.keeper.drain(true)
	}
	return !o.waiting
}

// barrier takes the records that wait into the snapshot.
func (o *enrichOperator) barrier(epoch int64) error {
	o.shelf.save(o.queue, o.failures)
	return o.keeper.barrier(epoch)
}

// resume takes the records that the restored state has into the queue, in their order,
// before any other. Those that have their results are not asked about again.
func (o *enrichOperator) resume() error {
	return o.shelf.takeUp(func(k *restored) error {
		r := o.queue.Add(k.row, k.time)
		if !k.done {
			return o.add(enrichOp{record: r})
		}
		if err := k.addTo(r, o.results); err != nil {
			return err
		}
		o.queue.Finish(r)
		return nil
	})
}
