package sim

import (
	"io"
	"slices"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/stream"
)

// sourceLog is the outside of a source: splits with records, some of which are there only after a while.
type sourceLog struct {
	world  *world
	name   string
	file   bool // one split, whose offsets are bytes
	splits []*splitLog
}

// splitLog is a split. It is there when a reader comes to a record of that time in another one, and from then on.
type splitLog struct {
	name    string
	records []sourceRecord
	appears stream.EventTime
	there   bool
}

// sourceRecord is a record with its offset. One without a line is what the source cannot deliver.
type sourceRecord struct {
	line   string
	offset int64
	time   stream.EventTime
}

// end is the offset behind all records.
func (s *splitLog) end() int64 {
	if len(s.records) == 0 {
		return 0
	}
	last := s.records[len(s.records)-1]
	return last.offset + max(1, int64(len(last.line)))
}

// find looks for the record at a position; false if there can be none.
func (s *splitLog) find(at connector.Position) (int, bool) {
	if at == (connector.Position{}) {
		return 0, true
	}
	for i, r := range s.records {
		if r.offset >= at.Offset {
			return i, int64(i) == at.Record
		}
	}
	return len(s.records), at.Record == int64(len(s.records)) && at.Offset <= s.end()
}

// logReader is a process's part of it.
type logReader struct {
	log      *sourceLog
	life     *life
	opened   bool
	closed   bool
	at       map[string]*splitReader
	order    []*splitReader
	announce []*splitReader
}

// splitReader is how far a split has been handed out.
type splitReader struct {
	*splitLog
	next  int
	at    connector.Position
	ended bool
}

// Open implements connector.Source.
func (r *logReader) Open(at []connector.SplitPosition) error {
	if err := r.life.enter(sourceOpen, r.log.name); err != nil {
		return err
	}
	if r.opened {
		r.log.world.find("source %s: it is opened twice", r.log.name)
	}
	r.opened, r.at = true, map[string]*splitReader{}
	for _, p := range at {
		i := slices.IndexFunc(r.log.splits, func(s *splitLog) bool { return s.name == p.Split && s.there })
		if i < 0 {
			r.log.world.find("source %s: it goes on with a split %q, which there is not", r.log.name, p.Split)
			continue
		}
		s := r.add(r.log.splits[i])
		var ok bool
		if s.next, ok = s.find(p.Position); !ok {
			r.log.world.find("source %s: split %q goes on at %+v, where no record begins", r.log.name, p.Split, p.Position)
		}
		s.at, s.ended = p.Position, p.Ended
		r.announce = append(r.announce, s) // also one that has ended, as Kafka's source does
	}
	r.discover()
	return nil
}

func (r *logReader) add(s *splitLog) *splitReader {
	reader := &splitReader{splitLog: s}
	r.at[s.name] = reader
	r.order = append(r.order, reader)
	return reader
}

// discover finds splits that are there and not known.
func (r *logReader) discover() {
	for _, s := range r.log.splits {
		if s.there && r.at[s.name] == nil {
			r.announce = append(r.announce, r.add(s))
		}
	}
}

// Read implements connector.Source. It hands out a few records of some split, or nothing yet.
func (r *logReader) Read(c *connector.Chunk) error {
	if err := r.life.enter(sourceRead, r.log.name); err != nil {
		return err
	}
	if r.life.fails(r.life.weather.sources) {
		return errInjected
	}
	if r.closed || !r.opened {
		r.log.world.find("source %s: Read, and it is not open", r.log.name)
	}
	random := r.life.rand
	for {
		live := slices.DeleteFunc(slices.Clone(r.order), func(s *splitReader) bool { return s.ended })
		switch {
		case len(r.announce) > 0:
			s := r.announce[0]
			r.announce = r.announce[1:]
			c.Split, c.Start, c.Next, c.Ended, c.Announcing = s.name, s.at, s.at, s.ended, len(r.announce) > 0
			return nil
		case len(live) == 0 && !r.appear(stream.MaxTime):
			return io.EOF
		case len(live) == 0:
			r.discover()
		default:
			s := live[random.IntN(len(live))]
			if s.next < len(s.records) && r.appear(s.records[s.next].time) {
				r.discover()
				continue
			}
			r.fill(c, s)
			return nil
		}
	}
}

// appear makes splits be there that are as soon as a reader comes to a time; of those that are left at the end, the next.
func (r *logReader) appear(at stream.EventTime) (some bool) {
	for _, s := range r.log.splits {
		if !s.there && s.appears <= at {
			s.there, some = true, true
			r.log.world.trace.say("source %s: split %q is there", r.log.name, s.name)
			if at == stream.MaxTime {
				break
			}
		}
	}
	return some
}

// stallsOf is how many reads of 4 find nothing new.
const stallsOf4 = 2

// fill hands out the next records of a split.
func (r *logReader) fill(c *connector.Chunk, s *splitReader) {
	random := r.life.rand
	c.Split, c.Start = s.name, s.at
	n := 0
	if random.IntN(4) >= stallsOf4 {
		n = 1 + random.IntN(r.life.readMax)
	}
	for ; n > 0 && s.next < len(s.records); n-- {
		record := s.records[s.next]
		if len(c.Ends) > 0 && r.waits(record.time) {
			break // a split is to be made known first
		}
		s.next++
		r.life.patience--
		s.at = connector.Position{Offset: record.offset + max(1, int64(len(record.line))), Record: s.at.Record + 1}
		if !r.log.file {
			s.at.Offset = record.offset + 1
		}
		if record.line == "" {
			c.Fault = errInjected
			break
		}
		c.Data = append(c.Data, record.line...)
		c.Ends = append(c.Ends, uint32(len(c.Data)))
		if !r.log.file {
			c.Offsets = append(c.Offsets, record.offset)
		}
	}
	c.Next = s.at
	if s.next == len(s.records) && random.IntN(2) == 0 {
		c.Ended, s.ended = true, true
	}
}

// waits tells of a time at which a split appears that is not there yet.
func (r *logReader) waits(at stream.EventTime) bool {
	return slices.ContainsFunc(r.log.splits, func(s *splitLog) bool { return !s.there && s.appears <= at })
}

// Checkpointed implements connector.Source: the positions are those of a durable manifest.
func (r *logReader) Checkpointed(at []connector.SplitPosition) {
	w := r.log.world
	m := w.manifests[w.newest]
	if m == nil {
		w.find("source %s: Checkpointed, and no manifest is durable", r.log.name)
		return
	}
	for i := range m.Sources {
		if s := &m.Sources[i]; s.Name == r.log.name && !slices.Equal(s.Positions(), at) {
			w.find("source %s: Checkpointed with %v, and checkpoint %d has %v", r.log.name, at, m.Epoch, s.Positions())
		}
	}
}

// Size implements connector.Source.
func (r *logReader) Size() int64 { return 0 }

// Close implements connector.Source.
func (r *logReader) Close() error {
	r.closed = true
	return nil
}
