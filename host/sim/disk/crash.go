package disk

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
)

// Kill ends the process. What it wrote is there.
func (d *Disk) Kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
}

// Crash ends the process and cuts the power (promise A).
func (d *Disk) Crash() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
	for _, path := range slices.Sorted(maps.Keys(d.dirs)) { // in an order, for the seed's sake
		d.loseNames(d.dirs[path])
	}
	seen := map[*inode]bool{}
	for _, path := range slices.Sorted(maps.Keys(d.dirs)) {
		f := d.dirs[path]
		for _, name := range slices.Sorted(maps.Keys(f.now)) {
			if file := f.now[name]; !seen[file] {
				seen[file] = true
				d.loseBytes(file)
			}
		}
	}
}

func (d *Disk) end() {
	d.process++
	d.stopped, d.dyingAt = false, 0
	clear(d.locks)
}

// loseNames decides which changes have come to the medium.
func (d *Disk) loseNames(f *dir) {
	names := maps.Clone(f.durable)
	journal := d.rand.IntN(2) == 0
	for _, c := range f.changes {
		switch done := d.rand.IntN(3) > 0; {
		case done:
			c.apply(names)
		case journal:
			f.settle(names)
			return
		}
	}
	f.settle(names)
}

func (f *dir) settle(names map[string]*inode) {
	f.now, f.durable, f.changes = names, maps.Clone(names), nil
}

// sectorBytes is what a disk writes as a whole.
const sectorBytes = 512

// loseBytes decides which of the bytes that were not synced have come to the medium.
func (d *Disk) loseBytes(file *inode) {
	if unsynced := len(file.data) - file.synced; unsynced > 0 {
		keep := file.synced + d.rand.IntN(unsynced+1)
		data := slices.Clone(file.data[:keep])
		for at := file.synced; at < keep; at += sectorBytes - at%sectorBytes {
			if d.rand.IntN(4) == 0 { // the file has grown, but this sector was not written
				end := min(keep, at+sectorBytes-at%sectorBytes)
				for i := at; i < end; i++ {
					data[i] = byte(d.rand.Uint32())
				}
			}
		}
		file.data = data
	}
	file.synced, file.broken = len(file.data), false
}

// Bytes returns what a file has, without counting as an operation.
func (d *Disk) Bytes(path string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, name, err := d.folderOf(path)
	if err != nil || f.now[name] == nil {
		return nil, &fs.PathError{Op: "bytes", Path: path, Err: fs.ErrNotExist}
	}
	return slices.Clone(f.now[name].data), nil
}

// Rot makes a file have other bytes, durably, as a medium does that goes bad; nil bytes remove it. It does not count as
// an operation.
func (d *Disk) Rot(path string, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, name, err := d.folderOf(path)
	if err != nil || f.now[name] == nil {
		return &fs.PathError{Op: "rot", Path: path, Err: fs.ErrNotExist}
	}
	if data == nil {
		delete(f.now, name)
		delete(f.durable, name)
		return nil
	}
	f.now[name].data, f.now[name].synced = slices.Clone(data), len(data)
	return nil
}

// Files returns the names of the files in a folder, sorted, without counting as an operation.
func (d *Disk) Files(path string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.dirs[filepath.Clean(path)]
	if f == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(f.now))
}
