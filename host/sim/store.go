package sim

import (
	"bytes"
	"io"

	"github.com/wasmstream/wasmstream/host/checkpoint"
)

// watchedStore is the store of a process; the world sees what becomes durable.
type watchedStore struct {
	checkpoint.Store
	life    *life
	merging bool // files were opened: what is put next is made of them
}

var putPlaces = map[checkpoint.Kind]place{
	checkpoint.KindDelta: putState, checkpoint.KindBase: putState, checkpoint.KindMerged: putState,
	checkpoint.KindManifest: putManifest, checkpoint.KindCommitted: putNote,
}

// Get implements checkpoint.Store.
func (s *watchedStore) Get(name string) (checkpoint.Object, error) {
	if n, ok := checkpoint.ParseName(name); ok && n.Kind.IsFile() {
		s.merging = true
	}
	return s.Store.Get(name)
}

// Put implements checkpoint.Store.
func (s *watchedStore) Put(name string, write func(io.Writer) error) error {
	l := s.life
	parsed, _ := checkpoint.ParseName(name)
	at := putPlaces[parsed.Kind]
	if at == putState && s.merging {
		s.merging, at = false, putMerged
	}
	l.reach(at)
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
