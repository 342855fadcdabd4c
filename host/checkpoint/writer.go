package checkpoint

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/wasmstream/wasmstream/host/stream"
)

// A file of records, a delta or a base alike, little-endian:
//
//	file    fileMagic, the sections of key groups in ascending order with nothing between them, index, trailer
//	section blocks
//	block   u32 length of the content, u32 checksum of that length and the content; content: whole records, by key
//	index   for each section: uvarint group, length, records, and how many of those are of deleted keys,
//	        u32 checksum of the checksums of its blocks
//	trailer u32 length of the index, u32 checksum of the index and that length, endMagic
//
// Checksums are CRC-32C: the standard library computes it by the processor's own instruction (17 GB/s here; a hash of 64
// bits would be one more library), and in a block it finds every error of up to three bits and every burst of 32.
// The last one stands for the whole file (invariant B).
const (
	fileMagic = "wsrecs1\n"
	endMagic  = "wsrecsE\n"
)

const (
	blockBytes    = 64 << 10 // a block is closed when it has this much
	blockHeader   = 8
	trailerBytes  = 16
	indexBytesMax = stream.MaxParallelismLimit * (3 + 3*binary.MaxVarintLen64 + 4)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// FileSummary is what a manifest says of a file, and a little more.
type FileSummary struct {
	Bytes    int64
	Checksum uint32 // covers every byte, by way of the index
	Entries  int64  // records
	Deleted  int64  // those of them that say that a key has no value any more
	Groups   Groups // from the first group with records to the last
}

// fileWriter writes a file, group by group, each record by record in the order of keys.
type fileWriter struct {
	w       io.Writer
	yield   func()
	block   []byte // the one being filled, with room for its header in front
	index   []byte
	section section
	summary FileSummary
	err     error // sticky
}

func newFileWriter(w io.Writer, yield func()) *fileWriter {
	f := &fileWriter{w: w, yield: yield, block: make([]byte, blockHeader, blockHeader+blockBytes+4096)}
	f.write([]byte(fileMagic))
	return f
}

func (f *fileWriter) write(b []byte) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
		f.summary.Bytes += int64(len(b))
	}
}

// begin begins a group's section.
func (f *fileWriter) begin(group stream.KeyGroup) {
	f.section = section{group: group, offset: f.summary.Bytes}
}

// record adds a record as it stands in the file.
func (f *fileWriter) record(whole []byte, deleted bool) error {
	f.block = append(f.block, whole...)
	return f.added(deleted)
}

// entry adds a key with its value.
func (f *fileWriter) entry(key, value []byte) error {
	if value == nil {
		f.block = appendDeleted(f.block, key)
	} else {
		f.block = appendRecord(f.block, key, value)
	}
	return f.added(value == nil)
}

func (f *fileWriter) added(deleted bool) error {
	f.section.entries++
	if deleted {
		f.section.deleted++
	}
	if len(f.block) >= blockHeader+blockBytes {
		f.flush()
	}
	return f.err
}

// flush writes the block.
func (f *fileWriter) flush() {
	content := f.block[blockHeader:]
	if len(content) == 0 {
		return
	}
	binary.LittleEndian.PutUint32(f.block, uint32(len(content)))
	sum := crc32.Update(crc32.Checksum(f.block[:4], castagnoli), castagnoli, content)
	binary.LittleEndian.PutUint32(f.block[4:], sum)
	f.section.sum = crc32.Update(f.section.sum, castagnoli, f.block[4:8])
	f.write(f.block)
	f.block = f.block[:blockHeader]
	f.yield()
}

// end ends a group's section; one without records leaves no trace.
func (f *fileWriter) end() error {
	f.flush()
	s := &f.section
	if s.entries == 0 {
		return f.err
	}
	s.length = f.summary.Bytes - s.offset
	f.index = binary.AppendUvarint(f.index, uint64(s.group))
	f.index = binary.AppendUvarint(f.index, uint64(s.length))
	f.index = binary.AppendUvarint(f.index, uint64(s.entries))
	f.index = binary.AppendUvarint(f.index, uint64(s.deleted))
	f.index = binary.LittleEndian.AppendUint32(f.index, s.sum)
	f.summary.add(s)
	return f.err
}

func (f *FileSummary) add(s *section) {
	if f.Entries == 0 {
		f.Groups.From = s.group
	}
	f.Groups.To = s.group + 1
	f.Entries += s.entries
	f.Deleted += s.deleted
}

// finish writes what ends the file.
func (f *fileWriter) finish() (FileSummary, error) {
	end := binary.LittleEndian.AppendUint32(f.index, uint32(len(f.index)))
	f.summary.Checksum = crc32.Checksum(end, castagnoli)
	end = binary.LittleEndian.AppendUint32(end, f.summary.Checksum)
	f.write(append(end, endMagic...))
	return f.summary, f.err
}
