package runtime

import "github.com/wasmstream/wasmstream/host/stream"

// output is one stream that a task puts out. The task fills batch; drain hands
// it to everybody who reads the stream.
type output struct {
	batch   *stream.Batch
	limits  Limits
	routes  []*route
	passing bool // the batch is being handed on: nothing may be added
	passed  int  // routes that have it already
	sealed  bool // a barrier is its last mark: nothing may be added
	meter   *meter
}

// Limits bound what is done at once. A batch that has reached BatchRows or
// BatchBytes is handed on before it gets another row. SliceRecords of a snapshot are
// written between two batches. Zero means the default.
type Limits struct {
	BatchRows    int
	BatchBytes   int
	SliceRecords int
}

func newOutput(l Limits, m *meter) *output {
	return &output{batch: new(stream.Batch), limits: l, meter: m}
}

// isFull tells whether the batch is to be handed on before more is added.
func (o *output) isFull() bool {
	return o.sealed || o.passing || o.batch.Len() >= o.limits.BatchRows || o.batch.Bytes() >= o.limits.BatchBytes ||
		len(o.batch.Marks) >= o.limits.BatchRows
}

// seal puts a barrier out: it is the last thing in its batch.
func (o *output) seal(epoch int64) {
	o.batch.Mark(stream.MarkBarrier, epoch)
	o.sealed = true
}

// drain hands the batch on if it is full. With all set, nothing is kept back,
// neither here nor on the way to N tasks. It returns false if some reader has no
// room; then nothing may be added until a later drain or pass succeeds.
func (o *output) drain(all bool) bool {
	if (all || o.isFull()) && !o.pass() {
		return false
	}
	if all {
		o.flush()
	}
	return true
}

// flush sends what is being filled for each of N tasks.
func (o *output) flush() {
	for _, r := range o.routes {
		r.flush()
	}
}

// pass hands the batch on, whatever is in it. It answers as drain does.
func (o *output) pass() bool {
	if o.batch.IsEmpty() {
		return true
	}
	if !o.passing {
		o.passing = true
		o.meter.handed(o.batch)
	}
	for o.passed < len(o.routes) {
		if !o.routes[o.passed].pass(o, o.passed == len(o.routes)-1) {
			return false
		}
		o.passed++
	}
	o.passing, o.passed, o.sealed = false, 0, false
	o.batch.Reset()
	return true
}

// deal is how records come to several tasks.
type deal uint8

// The ways.
const (
	byKey    deal = iota // or to all, without a key
	inTurn               // to the next task that has room
	straight             // all that one task puts out to one and the same
)

// route leads to the tasks of one step or sink: to one task, or to N, mostly by the hash
// of the key.
type route struct {
	pipes   []*pipe[*stream.Batch]
	pending []*stream.Batch // for each of N tasks; nil: none is being filled
	limits  Limits

	deal      deal
	next      int                // the task whose turn it is, or that gets all rows
	key       *stream.Projection // nil: each task gets all rows, if it goes by key
	keyBuf    []byte
	owner     []uint16 // the task that owns each key group
	row, mark int      // how far into the batch pass has come
}

// pass hands the output's batch to the route. The last of the routes may keep
// the batch itself.
func (r *route) pass(o *output, last bool) bool {
	if len(r.pipes) > 1 {
		return r.distribute(o.batch)
	}
	b, ok := r.pipes[0].take()
	if !ok {
		return false
	}
	if last {
		b.Reset()
		b, o.batch = o.batch, b
	} else {
		b.CopyFrom(o.batch)
	}
	r.pipes[0].send(b)
	return true
}

// distribute copies each row to the task that owns its key and each mark to all.
// When a task has no room it returns false, and goes on from there next time.
func (r *route) distribute(b *stream.Batch) bool {
	for {
		if r.mark < len(b.Marks) && int(b.Marks[r.mark].At) <= r.row {
			if !r.broadcast(b.Marks[r.mark]) {
				return false
			}
			r.mark++
			continue
		}
		if r.row == b.Len() {
			break
		}
		if !r.direct(b, r.row) {
			return false
		}
		r.row++
	}
	r.row, r.mark = 0, 0
	return true
}

// direct hands row n on.
func (r *route) direct(b *stream.Batch, n int) bool {
	switch {
	case r.deal == inTurn:
		return r.dealOut(b, n)
	case r.deal == straight:
		return r.hand(r.next, b, n)
	case r.key == nil:
		return r.copyToAll(b, n)
	}
	r.keyBuf = r.key.AppendTo(r.keyBuf[:0], b.Row(n), stream.Insert)
	return r.hand(int(r.owner[stream.KeyGroupOf(stream.Row(r.keyBuf).Hash(), len(r.owner))]), b, n)
}

// hand hands a row to one task.
func (r *route) hand(i int, b *stream.Batch, n int) bool {
	if !r.hasPending(i) {
		return false
	}
	r.append(i, b, n)
	return true
}

// dealOut hands a row to the task whose turn it is, or if that has no room, to the next
// one that has.
func (r *route) dealOut(b *stream.Batch, n int) bool {
	for range r.pipes {
		i := r.next
		r.next = (r.next + 1) % len(r.pipes)
		if r.hand(i, b, n) {
			return true
		}
	}
	return false
}

// copyToAll hands a row to all tasks, or to none.
func (r *route) copyToAll(b *stream.Batch, n int) bool {
	for i := range r.pipes {
		if !r.hasPending(i) {
			return false
		}
	}
	for i := range r.pipes {
		r.append(i, b, n)
	}
	return true
}

func (r *route) append(i int, from *stream.Batch, n int) {
	b := r.pending[i]
	b.Append(from.Row(n), from.Time(n))
	b.CopyOrigin(from, n)
	if b.Len() >= r.limits.BatchRows || b.Bytes() >= r.limits.BatchBytes {
		r.send(i)
	}
}

// hasPending makes sure that a batch for task i is being filled.
func (r *route) hasPending(i int) bool {
	if r.pending[i] == nil {
		b, ok := r.pipes[i].take()
		if !ok {
			return false
		}
		b.Reset()
		r.pending[i] = b
	}
	return true
}

func (r *route) broadcast(m stream.Mark) bool {
	for i := range r.pipes {
		if !r.hasPending(i) {
			return false
		}
	}
	for i := range r.pipes {
		r.pending[i].Mark(m.Kind, m.Value)
		if m.Kind == stream.MarkBarrier || len(r.pending[i].Marks) >= r.limits.BatchRows {
			r.send(i)
		}
	}
	return true
}

func (r *route) send(i int) {
	r.pipes[i].send(r.pending[i])
	r.pending[i] = nil
}

// flush sends what is being filled.
func (r *route) flush() {
	for i, b := range r.pending {
		if b != nil && !b.IsEmpty() {
			r.send(i)
		}
	}
}
