package disk

import (
	"errors"
	"io"
	"io/fs"
)

// handle is an open file: a folder.File or a checkpoint.Object.
type handle struct {
	disk    *Disk
	process int
	path    string
	inode   *inode
	size    int64
	closed  bool
}

// Write implements folder.File.
func (h *handle) Write(b []byte) (int, error) {
	d := h.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.closed {
		return 0, fs.ErrClosed
	}
	err := d.begin(h.process, Write, h.path, len(b))
	if err == nil && d.capacity > 0 && d.usage()+int64(len(b)) > d.capacity {
		err = &fs.PathError{Op: string(Write), Path: h.path, Err: d.full}
	}
	n := len(b)
	if err != nil && !errors.As(err, new(Done)) {
		if n = 0; len(b) > 0 && !errors.Is(err, ErrGone) {
			n = d.rand.IntN(len(b)) // a part, never all
		}
	}
	h.inode.data = append(h.inode.data, b[:n]...)
	return n, err
}

// usage is how many bytes there are.
func (d *Disk) usage() int64 {
	var sum int64
	for _, f := range d.dirs {
		for _, file := range f.now {
			sum += int64(len(file.data))
		}
	}
	return sum
}

// Sync implements folder.File.
func (h *handle) Sync() error {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if h.closed {
		return fs.ErrClosed
	}
	err := h.disk.doLocked(h.process, Sync, h.path, func() error {
		if !h.inode.broken {
			h.inode.synced = len(h.inode.data)
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrGone) && !errors.As(err, new(Done)) {
		h.inode.broken = true
	}
	return err
}

// ReadAt implements checkpoint.Object.
func (h *handle) ReadAt(b []byte, at int64) (int, error) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if h.closed {
		return 0, fs.ErrClosed
	}
	if err := h.disk.begin(h.process, Read, h.path, len(b)); err != nil {
		return 0, err
	}
	if at >= int64(len(h.inode.data)) {
		return 0, io.EOF
	}
	n := copy(b, h.inode.data[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Size implements checkpoint.Object.
func (h *handle) Size() int64 { return h.size }

// Close implements folder.File and checkpoint.Object.
func (h *handle) Close() error {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if h.closed {
		return fs.ErrClosed
	}
	return h.disk.doLocked(h.process, Close, h.path, func() error {
		h.closed = true
		return nil
	})
}
