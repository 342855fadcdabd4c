package sim

import (
	"fmt"
	"strings"

	"github.com/wasmstream/wasmstream/host/connector"
)

// outFile is the outside of a sink that hands over the length of a file: what is visible is its beginning, up to what was
// committed last.
type outFile struct {
	world   *world
	name    string
	data    []byte
	synced  int
	visible int
	final   bool
}

// crash loses what was not synced, or a part of it, and may tear the rest.
func (f *outFile) crash(power bool) {
	if !power || f.synced == len(f.data) {
		return
	}
	r := f.world.rand
	keep := f.synced + r.IntN(len(f.data)-f.synced+1)
	f.data = f.data[:keep]
	if keep > f.synced && r.IntN(2) == 0 {
		f.data[f.synced+r.IntN(keep-f.synced)] ^= 0x20
	}
	f.synced = keep
}

// lines are those that are visible.
func (f *outFile) lines() []string {
	text := strings.TrimSuffix(string(f.data[:f.visible]), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// read reads a hand-over: the length of the file, and whether it is final.
func (f *outFile) read(handover []byte) (length int, final bool) {
	if len(handover) == 0 {
		return 0, false
	}
	if n, err := fmt.Sscan(string(handover), &length, &final); n != 2 {
		f.world.find("sink %s: a hand-over that it never gave out: %q (%v)", f.name, handover, err)
	}
	if length > f.synced {
		f.world.find("sink %s: the checkpoint counts %d bytes, and %d are durable", f.name, length, f.synced)
		return f.synced, final
	}
	return length, final
}

// show makes the file visible up to a length.
func (f *outFile) show(length int, final bool) {
	if length > f.visible {
		f.world.trace.say("sink %s: %d bytes are committed", f.name, length)
	}
	f.visible = max(f.visible, length)
	f.final = f.final || final
}

// fileSink is a process's part of it.
type fileSink struct {
	file  *outFile
	life  *life
	order protocol
}

// Recover implements connector.Sink.
func (s *fileSink) Recover(handover []byte) error {
	if err := s.life.enter(sinkRecover, s.file.name); err != nil {
		return err
	}
	s.order.recover(s.life, s.file.name, handover)
	s.file.show(s.file.read(handover))
	return s.life.leave(sinkRecovered, s.life.weather.sinks)
}

// Open implements connector.Sink.
func (s *fileSink) Open(handover []byte) error {
	f := s.file
	if err := s.life.enter(sinkOpen, f.name); err != nil {
		return err
	}
	s.order.open(s.life, f.name, handover)
	length, _ := f.read(handover)
	if length < f.visible {
		if !f.world.repeats {
			f.world.find("sink %s: it is cut back to %d bytes, and %d are committed", f.name, length, f.visible)
		}
		f.visible = length
	}
	f.data = f.data[:length]
	f.synced = length
	return s.life.leave(sinkOpened, s.life.weather.sinks)
}

// Write implements connector.Sink.
func (s *fileSink) Write(r *connector.Records) error {
	if err := s.life.enter(sinkWrite, s.file.name); err != nil {
		return err
	}
	s.order.write(s.file.world, s.file.name)
	s.file.data = append(s.file.data, r.Data...)
	return nil
}

// Handover implements connector.Sink.
func (s *fileSink) Handover(final bool) ([]byte, error) {
	f := s.file
	if err := s.life.enter(sinkHandover, f.name); err != nil {
		return nil, err
	}
	f.synced = len(f.data)
	handover := fmt.Append(nil, len(f.data), final)
	s.order.handOver(f.world, f.name, handover, final)
	return handover, s.life.leave(sinkHandedOver, s.life.weather.sinks)
}

// Commit implements connector.Sink.
func (s *fileSink) Commit() error {
	if err := s.life.enter(sinkCommit, s.file.name); err != nil {
		return err
	}
	s.order.commit(s.life, s.file.name)
	s.file.show(s.file.read(s.order.last))
	return s.life.leave(sinkCommitted, s.life.weather.sinks)
}

// Interrupt implements connector.Sink. No call here waits for anybody.
func (s *fileSink) Interrupt() {}

// Close implements connector.Sink.
func (s *fileSink) Close() error {
	s.order.close()
	return nil
}

// Abort implements connector.Sink.
func (s *fileSink) Abort() error {
	s.order.abort(s.file.world, s.file.name)
	return nil
}
