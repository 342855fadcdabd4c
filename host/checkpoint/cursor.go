package checkpoint

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/wasmstream/wasmstream/host/stream"
)

// readBytes is how much of a section is read at once, two blocks.
const readBytes = 2 * (blockHeader + blockBytes)

// cursor goes through the records of a section. Its memory is used again for the next one.
type cursor struct {
	file    *File
	section *section
	at, end int64  // of what was not read yet
	buf     []byte // read, and from lo on not looked at
	lo      int
	block   []byte // checked, and not looked at
	sum     uint32 // of the checksums of blocks so far
	left    int64  // records that are still to come
	deleted int64

	key, value []byte // the record at hand; value is nil for a deleted key
}

// open goes to the beginning of a group. A file without that group has no records.
func (c *cursor) open(group stream.KeyGroup) {
	c.section = nil
	if s := c.file.section(group); s != nil {
		c.openSection(s)
	}
}

func (c *cursor) openSection(s *section) {
	*c = cursor{
		file: c.file, section: s, at: s.offset, end: s.offset + s.length,
		buf: c.buf[:0], left: s.entries, deleted: s.deleted,
	}
}

// next goes to the next record; it is false at the end and at an error.
func (c *cursor) next() (bool, error) {
	if len(c.block) == 0 {
		if c.section == nil {
			return false, nil
		}
		if ok, err := c.nextBlock(); err != nil || !ok {
			return false, c.ended(err)
		}
	}
	var ok bool
	if c.key, c.value, c.block, ok = nextRecord(c.block); !ok {
		return false, c.damaged("a record goes over the end of its block")
	}
	c.left--
	if c.value == nil {
		c.deleted--
	}
	return true, nil
}

// ended holds what was read against the index.
func (c *cursor) ended(err error) error {
	if err == nil && (c.left != 0 || c.deleted != 0) {
		err = c.damaged("it has %d records, and the index says %d", c.section.entries-c.left, c.section.entries)
	}
	c.section = nil
	return err
}

func (c *cursor) damaged(format string, args ...any) error {
	return c.file.damaged("key group "+groupText(c.section.group), format, args...)
}

// nextBlock goes to the next block and checks it; it is false when there is none and all were the right ones.
func (c *cursor) nextBlock() (bool, error) {
	if c.lo == len(c.buf) && c.at == c.end {
		if c.sum != c.section.sum {
			return false, c.damaged("its blocks are not those of the index")
		}
		return false, nil
	}
	head, err := c.take(blockHeader)
	if err != nil {
		return false, err
	}
	length, want := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:])
	sum := crc32.Checksum(head[:4], castagnoli)
	c.sum = crc32.Update(c.sum, castagnoli, head[4:])
	if length == 0 {
		return false, c.damaged("a block is empty")
	}
	if c.block, err = c.take(int64(length)); err != nil {
		return false, err
	}
	if crc32.Update(sum, castagnoli, c.block) != want {
		c.block = nil
		return false, c.damaged("the checksum of a block is wrong")
	}
	return true, nil
}

// take returns the next n bytes of the section, good until the next take.
func (c *cursor) take(n int64) ([]byte, error) {
	have := int64(len(c.buf) - c.lo)
	if n > have+c.end-c.at {
		return nil, c.damaged("a block goes over its end")
	}
	if n > have {
		if err := c.fill(n); err != nil {
			return nil, err
		}
	}
	b := c.buf[c.lo:][:n]
	c.lo += int(n)
	return b, nil
}

// fill reads until there are n bytes, and more if they come as cheaply.
func (c *cursor) fill(n int64) error {
	have := copy(c.buf[:cap(c.buf)], c.buf[c.lo:])
	size := int(max(n, min(readBytes, int64(have)+c.end-c.at)))
	if size > cap(c.buf) {
		grown := make([]byte, size)
		copy(grown, c.buf[:have])
		c.buf = grown
	}
	c.buf, c.lo = c.buf[:size], 0
	if err := c.file.readAt(c.buf[have:], c.at); err != nil {
		return err
	}
	c.at += int64(size - have)
	return nil
}
