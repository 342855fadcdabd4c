package sim

import (
	"bytes"
	"io"

	"github.com/wasmstream/wasmstream/host/checkpoint"
)

// watchedStore is the store of a process; the world sees what becomes durable.
type watchedStore struct {
	checkpoint.Store
	life *life
}

var putPlaces = map[checkpoint.Kind]place{
	checkpoint.KindDelta: putState, checkpoint.KindBase: putState, checkpoint.KindMerged: putMerged,
	checkpoint.KindManifest: putManifest, checkpoint.KindCommitted: putNote,
}

// Put implements checkpoint.Store.
func (s *watchedStore) Put(name string, write func(io.Writer) error) error {
	l := s.life
	parsed, _ := checkpoint.ParseName(name)
	l.reach(putPlaces[parsed.Kind])
	var copied bytes.Buffer
	err := s.Store.Put(name, func(w io.Writer) error {
		copied.Reset()
		return write(io.MultiWriter(w, &copied))
	})
	w := l.world
	w.trace.say("put %s: %d bytes, error %v", name, copied.Len(), err)
	if err != nil {
		return err
	}
	switch parsed.Kind {
	case checkpoint.KindManifest:
		m, err := checkpoint.ReadManifest(name, copied.Bytes())
		if err != nil {
			w.find("a manifest was put that cannot be read: %v", err)
			break
		}
		w.manifestPut(m)
		w.counts.checkpoints++
	case checkpoint.KindCommitted:
		w.noted[parsed.Epoch] = true
	}
	return nil
}

// Delete implements checkpoint.Store.
func (s *watchedStore) Delete(name string) error {
	s.life.reach(deleting)
	return s.Store.Delete(name)
}
