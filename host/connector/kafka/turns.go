package kafka

import (
	"math"

	"github.com/wasmstream/wasmstream/host/connector"
)

// This file says of which split a chunk is handed out next. A backlog is read faster than
// it is made, and what a partition has of one hour may be many times what another has of
// it. So the split goes next that is behind the others in event time, as in Kafka Streams;
// of those that are equal, or of which no time is known, the one whose turn is longest ago.
//
// Event times are known to whoever decodes the records, some chunks after they were handed
// out (Reached). Until then a split counts as having gone on at its pace before.

const (
	// pieceBytes is what a chunk has at least, up to the end of a batch, where others wait
	// for their turn: about what the decoders put into one batch, since a piece of a quarter
	// of it cost the job a fifth of its speed.
	pieceBytes = 256 << 10
	// turnsMax is after how many chunks of others a split has its turn, whatever its time:
	// one whose records are all old would leave the others none.
	turnsMax = 64
	// dryMax is how many answers in a row have nothing of a split, though its log should
	// have more, until it is not waited for any more: its leader may be away, or compaction
	// may have taken the rest.
	dryMax = 3
)

var _ connector.Pacing = (*Source)(nil)

// pace is how far a split has come in event time, as it was told.
type pace struct {
	known  bool
	at     int64   // ms
	record int64   // of the split, which lies before it
	speed  float64 // ms by record, of late
}

// told notes that the split is at a time with so many records.
func (p *pace) told(record, at int64) {
	if n := record - p.record; p.known && n > 0 {
		if speed := float64(at-p.at) / float64(n); p.speed == 0 {
			p.speed = speed
		} else {
			p.speed += (speed - p.speed) / 4
		}
	}
	p.known, p.record, p.at = true, record, at
}

// after is the time that the split has presumably come to with so many records; the least
// there is, if nothing is known of it.
func (p *pace) after(record int64) float64 {
	if !p.known {
		return math.Inf(-1)
	}
	return float64(p.at) + p.speed*float64(max(record-p.record, 0))
}

// Reached implements connector.Pacing.
func (s *Source) Reached(split string, record, at int64) {
	s.mu.Lock()
	if p := s.byName[split]; p != nil {
		p.pace.told(record, at)
	}
	s.mu.Unlock()
	signal(s.news)
}

// Waits implements connector.Pacing.
func (s *Source) Waits(split string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.byName[split]
	return p != nil && !p.ended && p.held > 0
}

// choose says whose turn it is, and whether nobody else waits for one. Nil means that there
// is nothing to hand out, or that it is better to wait for records of a split that is
// behind: they are there, and are being fetched.
func (s *Source) choose() (next *split, alone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reading != nil {
		return s.reading, false // there is one buffer for what is decompressed
	}
	awaited := math.Inf(1)
	alone = true
	for _, p := range s.splits {
		switch {
		case p.ended || p.paused:
		case p.held == 0:
			if p.isDue() && p.fresh {
				return nil, false // else the first answer to come would be read far ahead
			} else if p.isDue() {
				awaited = min(awaited, p.pace.after(p.at.Record))
			}
		case next == nil:
			next = p
		default:
			alone = false
			if s.goesBefore(p, next) {
				next = p
			}
		}
	}
	switch {
	case next == nil:
		return nil, false
	case awaited < next.pace.after(next.at.Record) && s.turn-next.turn <= turnsMax:
		return nil, false
	}
	s.turn++
	next.turn = s.turn
	return next, alone && math.IsInf(awaited, 1)
}

func (s *Source) goesBefore(p, q *split) bool {
	if a, b := s.turn-p.turn > turnsMax, s.turn-q.turn > turnsMax; a || b {
		return p.turn < q.turn
	}
	if a, b := p.pace.after(p.at.Record), q.pace.after(q.at.Record); a != b {
		return a < b
	}
	return p.turn < q.turn
}

// isDue says of a split that its log has more than was fetched.
func (p *split) isDue() bool {
	end := p.high.Load()
	if p.end >= 0 {
		end = min(end, p.end)
	}
	return p.dry < dryMax && p.leader >= 0 && p.fetch < end
}
