package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"

	"github.com/wasmstream/wasmstream/host/stream"
)

// File reads a file of records. What is read is checked first (invariants B, C). It may be read by several goroutines at
// once.
type File struct {
	name     string
	object   Object
	sections []section // ascending by group
	summary  FileSummary
	only     Groups // of others it is as if they were not there
}

// section is the part of a file that has a group's records.
type section struct {
	group            stream.KeyGroup
	offset, length   int64
	entries, deleted int64
	sum              uint32
}

// OpenFile reads the index of a file. The name is for errors. The object is the file's from then on, if it returns nil.
func OpenFile(name string, object Object) (*File, error) {
	f := &File{name: name, object: object, only: AllGroups}
	index, err := f.readIndex()
	if err != nil {
		return nil, err
	}
	if err := f.parseIndex(index); err != nil {
		return nil, err
	}
	return f, nil
}

// readIndex reads the file's both ends.
func (f *File) readIndex() ([]byte, error) {
	size := f.object.Size()
	least := int64(len(fileMagic) + trailerBytes)
	if size < least {
		return nil, f.damaged("", "it has %d bytes, and the smallest file has %d", size, least)
	}
	var head [len(fileMagic)]byte
	var tail [trailerBytes]byte
	if err := f.readAt(head[:], 0); err != nil {
		return nil, err
	}
	if err := f.readAt(tail[:], size-trailerBytes); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	switch {
	case string(head[:]) != fileMagic:
		return nil, f.damaged("the first bytes", "they are %q, not %q", head[:], fileMagic)
	case string(tail[8:]) != endMagic:
		return nil, f.damaged("the last bytes", "they are %q, not %q: it was cut, or lengthened", tail[8:], endMagic)
	case length > min(size-least, indexBytesMax):
		return nil, f.damaged("the index", "it would have %d bytes", length)
	}
	index := make([]byte, length+4)
	if err := f.readAt(index, size-trailerBytes-length); err != nil {
		return nil, err
	}
	f.summary.Bytes = size
	f.summary.Checksum = crc32.Checksum(index, castagnoli)
	if f.summary.Checksum != binary.LittleEndian.Uint32(tail[4:]) {
		return nil, f.damaged("the index", "its checksum is wrong")
	}
	return index[:length], nil
}

// parseIndex finds the sections. Together they are all that is between the file's first bytes and the index.
func (f *File) parseIndex(index []byte) error {
	at := int64(len(fileMagic))
	end := f.summary.Bytes - trailerBytes - int64(len(index))
	next := -1 // the least group that may come
	for in := (numbers{b: index}); len(in.b) > 0; {
		group := in.uvarint()
		s := section{offset: at, length: in.uvarint(), entries: in.uvarint(), deleted: in.uvarint(), sum: in.u32()}
		bad := in.bad || group < int64(next) || group >= stream.MaxParallelismLimit ||
			s.length <= blockHeader || s.length > end-at ||
			s.entries == 0 || s.entries > s.length/2 || s.deleted > s.entries
		if bad {
			return f.damaged("the index", "its entry %d makes no sense", len(f.sections)+1)
		}
		s.group = stream.KeyGroup(group)
		f.sections = append(f.sections, s)
		f.summary.add(&s)
		next = int(group) + 1
		at += s.length
	}
	if at != end {
		return f.damaged("the index", "it tells of %d of %d bytes of records", at-int64(len(fileMagic)), end-int64(len(fileMagic)))
	}
	return nil
}

func (f *File) damaged(part, format string, args ...any) error {
	return &Damaged{Object: f.name, Part: part, Reason: fmt.Sprintf(format, args...)}
}

// readAt fills b. That the object ends too early is damage; other errors are the store's.
func (f *File) readAt(b []byte, at int64) error {
	n, err := f.object.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return f.damaged("", "it ends in the middle of what is read at byte %d", at)
	}
	return err
}

// Name is the name it was opened by.
func (f *File) Name() string { return f.name }

// Summary is what its writer returned.
func (f *File) Summary() FileSummary { return f.summary }

// Groups are the key groups of which it has records, ascending.
func (f *File) Groups() []stream.KeyGroup {
	var groups []stream.KeyGroup
	for i := range f.sections {
		if g := f.sections[i].group; f.only.Has(g) {
			groups = append(groups, g)
		}
	}
	return groups
}

// section returns a group's section; nil if there is none.
func (f *File) section(group stream.KeyGroup) *section {
	i, ok := slices.BinarySearchFunc(f.sections, group, func(s section, g stream.KeyGroup) int { return int(s.group) - int(g) })
	if !ok || !f.only.Has(group) {
		return nil
	}
	return &f.sections[i]
}

// Each calls visit for the records of a group in the order of their keys. The value of a key that was deleted is nil. Key
// and value are good until visit returns.
func (f *File) Each(group stream.KeyGroup, visit func(key, value []byte) error) error {
	c := cursor{file: f}
	c.open(group)
	for {
		ok, err := c.next()
		if !ok {
			return err
		}
		if err := visit(c.key, c.value); err != nil {
			return err
		}
	}
}

// Verify reads the whole file and checks it; it calls yield, if that is not nil, after each block.
func (f *File) Verify(yield func()) error {
	c := cursor{file: f}
	for i := range f.sections {
		c.openSection(&f.sections[i])
		for {
			ok, err := c.nextBlock()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if yield != nil {
				yield()
			}
		}
	}
	return nil
}

// Close closes the object.
func (f *File) Close() error { return f.object.Close() }

// OpenRef opens the file that a manifest names, and makes sure that it is that one. It shows only the groups that the
// manifest names it for.
func OpenRef(store Store, ref FileRef) (*File, error) {
	object, err := store.Get(ref.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Damaged{Object: ref.Name, Reason: "it is not there"}
	}
	if err != nil {
		return nil, err
	}
	f, err := openRef(object, ref)
	if err != nil {
		return nil, errors.Join(err, object.Close())
	}
	return f, nil
}

func openRef(object Object, ref FileRef) (*File, error) {
	if size := object.Size(); size != ref.Bytes {
		return nil, &Damaged{Object: ref.Name, Reason: fmt.Sprintf("it has %d bytes, and the manifest says %d", size, ref.Bytes)}
	}
	f, err := OpenFile(ref.Name, object)
	if err != nil {
		return nil, err
	}
	if f.summary.Checksum != ref.Checksum {
		return nil, f.damaged("the index", "it is sound, but not the one that the manifest was made with")
	}
	f.only = ref.Groups
	return f, nil
}

// OpenRefs opens several, in their order; if one fails, none.
func OpenRefs(store Store, refs []FileRef) ([]*File, error) {
	var files []*File
	for _, ref := range refs {
		f, err := OpenRef(store, ref)
		if err != nil {
			return nil, errors.Join(err, CloseAll(files))
		}
		files = append(files, f)
	}
	return files, nil
}

// CloseAll closes files.
func CloseAll(files []*File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// numbers takes numbers off the front of bytes of strangers; bad is sticky, and what is taken then is zero.
type numbers struct {
	b   []byte
	bad bool
}

// uvarint is never negative.
func (n *numbers) uvarint() int64 {
	v, size := binary.Uvarint(n.b)
	if size <= 0 || int64(v) < 0 {
		n.b, n.bad = nil, true
		return 0
	}
	n.b = n.b[size:]
	return int64(v)
}

func (n *numbers) u32() uint32 {
	if len(n.b) < 4 {
		n.b, n.bad = nil, true
		return 0
	}
	v := binary.LittleEndian.Uint32(n.b)
	n.b = n.b[4:]
	return v
}
