package checkpoint

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
)

// Memory is a Store whose objects end with the process. Scenarios use it; so do tests.
type Memory struct {
	mu      sync.Mutex
	objects map[string][]byte // never changed once they are in
}

// NewMemory makes an empty store.
func NewMemory() *Memory { return &Memory{objects: map[string][]byte{}} }

// Put implements Store.
func (m *Memory) Put(name string, write func(io.Writer) error) error {
	if err := CheckName(name); err != nil {
		return m.failed("write", name, err)
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[name] = b.Bytes()
	return nil
}

// Get implements Store.
func (m *Memory) Get(name string) (Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.objects[name]
	if !ok {
		return nil, m.failed("open", name, fs.ErrNotExist)
	}
	return memoryObject{bytes.NewReader(b)}, nil
}

// List implements Store.
func (m *Memory) List() ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.objects)), nil
}

// Delete implements Store.
func (m *Memory) Delete(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, name)
	return nil
}

// Close implements Store. The objects stay, for a store in memory has no one else to be opened by.
func (m *Memory) Close() error { return nil }

func (m *Memory) failed(do, name string, err error) error {
	return &Failed{Store: "in memory", Do: do, Name: name, Err: err}
}

type memoryObject struct{ *bytes.Reader }

func (memoryObject) Close() error { return nil }
