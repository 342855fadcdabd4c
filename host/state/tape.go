package state

import (
	"encoding/binary"

	"github.com/wasmstream/wasmstream/host/stream"
)

// tape is a queue of records. It lies in chunks, so that it grows without moving
// what is there, and keeps them: in steady state it allocates nothing.
type tape struct {
	chunks [][]byte // their lengths are what is written
	last   int      // chunk that is being written
	chunk  int      // chunk that is read next, and how far into it
	at     int
}

const tapeChunkBytes = 64 << 10

// A record on a tape is u16 key group, u32 lengths of key and value, key, value.
// A deletion has no value.
const tapeHeaderBytes = 10

var _ Putter = (*tape)(nil)

// Add implements Putter.
func (t *tape) Add(group stream.KeyGroup, key, value []byte) {
	size := tapeHeaderBytes + len(key) + len(value)
	if len(t.chunks) == 0 {
		t.chunks = append(t.chunks, make([]byte, 0, max(size, tapeChunkBytes)))
	}
	for len(t.chunks[t.last])+size > cap(t.chunks[t.last]) {
		if t.last++; t.last == len(t.chunks) {
			t.chunks = append(t.chunks, make([]byte, 0, max(size, tapeChunkBytes)))
		}
	}
	b := t.chunks[t.last]
	b = binary.LittleEndian.AppendUint16(b, uint16(group))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(key)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(value)))
	t.chunks[t.last] = append(append(b, key...), value...)
}

// Delete implements Putter.
func (t *tape) Delete(group stream.KeyGroup, key []byte) { t.Add(group, key, nil) }

// pass hands the first record on; there must be one.
func (t *tape) pass(to Putter) (bytes int) {
	for t.at == len(t.chunks[t.chunk]) {
		t.chunk, t.at = t.chunk+1, 0
	}
	b := t.chunks[t.chunk][t.at:]
	group := stream.KeyGroup(binary.LittleEndian.Uint16(b))
	k, v := int(binary.LittleEndian.Uint32(b[2:])), int(binary.LittleEndian.Uint32(b[6:]))
	key, value := b[tapeHeaderBytes:][:k], b[tapeHeaderBytes+k:][:v]
	if v == 0 {
		to.Delete(group, key)
	} else {
		to.Add(group, key, value)
	}
	if t.at += tapeHeaderBytes + k + v; t.chunk == t.last && t.at == len(t.chunks[t.chunk]) {
		t.reset()
	}
	return k + v
}

// isEmpty: a tape that was read to its end has been reset.
func (t *tape) isEmpty() bool { return len(t.chunks) == 0 || len(t.chunks[0]) == 0 && t.last == 0 }

// reset forgets what is there and keeps the chunks.
func (t *tape) reset() {
	for i := range t.chunks[:min(t.last+1, len(t.chunks))] {
		t.chunks[i] = t.chunks[i][:0]
	}
	t.last, t.chunk, t.at = 0, 0, 0
}
