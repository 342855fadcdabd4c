package runtime

import (
	"errors"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/connector"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// stamper has a function say the event times of records, and where watermarks stand
// among them. A record that it fails on is as one that cannot be decoded.
type stamper struct {
	stateless
	function *job.Function
	caller   *guests.Caller
	input    *stream.Projection // to the columns that the function declares
	clock    stream.Clock

	task    *decodeTask
	into    *decoded
	origins []origin // of the rows of the batch
	first   int      // row of the present frame's first op
	lost    []bool   // by row: the function failed on its record
	losses  int
	wrong   error // of the present op
}

// origin is the record that a row was made of.
type origin struct {
	record int // in the chunk
	at     connector.Position
}

// punctuatedWatermark is a watermark behind a row of a batch.
type punctuatedWatermark struct {
	row int32
	at  stream.EventTime
}

// came says that the batch has so many rows, the last of them of a record.
func (s *stamper) came(rows, record int, at connector.Position) {
	for len(s.origins) < rows {
		s.origins = append(s.origins, origin{record, at})
	}
}

// stamp asks about all rows of a batch.
func (s *stamper) stamp(t *decodeTask, d *decoded) error {
	b := d.batch
	s.task, s.into, s.first, s.lost, s.losses = t, d, 0, s.lost[:0], 0
	now := int64(s.clock.Now())
	for i := range b.Len() {
		s.lost = append(s.lost, false)
		row := s.caller.Row(s.input, b.Row(i))
		s.caller.Add(abi.OpOnRecord, guests.NoGroup, row, &guests.Context{Time: int64(b.Time(i)), Watermark: int64(stream.MinTime), Clock: now})
		if s.caller.Due() {
			if err := s.perform(i + 1); err != nil {
				return err
			}
		}
	}
	err := s.perform(b.Len())
	s.origins = s.origins[:0]
	if s.losses > 0 {
		s.leaveOut()
	}
	return err
}

func (s *stamper) perform(next int) error {
	err := s.caller.Perform()
	s.first = next
	return err
}

// leaveOut takes the rows of records out that the function failed on.
func (s *stamper) leaveOut() {
	d := s.into
	d.batch.Keep(func(i int) bool { return !s.lost[i] })
	kept, before, next := d.marks[:0], int32(0), 0
	for _, m := range d.marks {
		for ; next < int(m.row); next++ {
			if s.lost[next] {
				before++
			}
		}
		if !s.lost[m.row] {
			kept = append(kept, punctuatedWatermark{m.row - before, m.at})
		}
	}
	d.marks = kept
}

// errNoTime is why a record is refused that the function gives no time.
var errNoTime = errors.New("it says the least of all timestamps, which stands for no event time")

// Take implements guest.Role.
func (s *stamper) Take(i int, e abi.Effect) error {
	row, at := s.first+i, stream.EventTime(guests.Int64(e.Payload, 0))
	switch {
	case e.Kind == abi.EffectWatermark:
		s.into.marks = append(s.into.marks, punctuatedWatermark{int32(row), at})
	case at == stream.MinTime:
		s.wrong = errNoTime
	default:
		s.into.batch.SetTime(row, at)
	}
	return nil
}

// Done implements guest.Role.
func (s *stamper) Done(i int) error {
	if s.wrong != nil {
		s.lose(i, &FunctionError{Function: s.function, Err: s.wrong})
		s.wrong = nil
	}
	return nil
}

// Fault implements guest.Role.
func (s *stamper) Fault(i int, err error) error {
	s.lose(i, &FunctionError{Function: s.function, Err: err, Where: "a record"})
	return nil
}

func (s *stamper) lose(i int, err error) {
	row := s.first + i
	s.lost[row] = true
	s.losses++
	s.task.fault(s.into, s.origins[row].record, s.origins[row].at, err)
}

// stamper makes the function that says a source's event times ready.
func (b *builder) stamper(s *job.Source, t *decodeTask) error {
	f := s.Timestamp
	if f == nil {
		return nil
	}
	x := &stamper{function: f, input: stream.NewProjection(s.Output, f.Inputs[0].Columns), clock: b.config.Clock}
	var err error
	x.caller, err = b.caller(f, x)
	t.stamper = x
	return err
}

// EventTimes asks a source's function for the event times of single records, outside of
// a job: a script's.
type EventTimes struct {
	stateless
	instance Guest
	caller   *guests.Caller
	input    *stream.Projection
	time     stream.EventTime
}

// NewEventTimes opens the function of a source in an instance, which Close closes.
func NewEventTimes(instance Guest, s *job.Source) (*EventTimes, error) {
	f := s.Timestamp
	t := &EventTimes{instance: instance, input: stream.NewProjection(s.Output, f.Inputs[0].Columns)}
	t.caller = guests.NewCaller(instance, guests.Options{Function: uint32(f.Index), Role: f.Role}, t)
	if _, err := t.caller.Open(f.Parameters, f.Schemas()); err != nil {
		return nil, errors.Join(&FunctionError{Function: f, Err: err}, instance.Close())
	}
	return t, nil
}

// Of is the event time of a row of the source's output.
func (t *EventTimes) Of(row stream.Row) (stream.EventTime, error) {
	r := t.caller.Row(t.input, row)
	t.caller.Add(abi.OpOnRecord, guests.NoGroup, r, &guests.Context{Time: int64(stream.MinTime), Watermark: int64(stream.MinTime)})
	err := t.caller.Perform()
	return t.time, err
}

// Close closes the instance.
func (t *EventTimes) Close() error { return t.instance.Close() }

// Take implements guest.Role. Watermarks are the script's.
func (t *EventTimes) Take(_ int, e abi.Effect) error {
	if e.Kind == abi.EffectEventTime {
		t.time = stream.EventTime(guests.Int64(e.Payload, 0))
	}
	return nil
}

// Done implements guest.Role.
func (t *EventTimes) Done(int) error { return nil }

// Fault implements guest.Role.
func (t *EventTimes) Fault(_ int, err error) error { return err }
