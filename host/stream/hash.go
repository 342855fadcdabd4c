package stream

import (
	"encoding/binary"
	"math/bits"
)

// Hash is the hash of a row, BinaryRowData.hashCode: murmur3 with seed 42 over
// the row's 4-byte words, the header among them.
func (r Row) Hash() uint32 {
	h := uint32(42)
	n := len(r)
	b := r
	for len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		h = murmurMix(h, uint32(w))
		h = murmurMix(h, uint32(w>>32))
		b = b[8:]
	}
	return murmurFinish(h, uint32(n))
}

func murmurMix(h, k uint32) uint32 {
	k *= 0xcc9e2d51
	k = bits.RotateLeft32(k, 15)
	k *= 0x1b873593
	h ^= k
	h = bits.RotateLeft32(h, 13)
	return h*5 + 0xe6546b64
}

func murmurFinish(h, length uint32) uint32 {
	h ^= length
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

// KeyGroup is the unit in which keyed state is distributed and stored.
type KeyGroup uint16

// MaxParallelismLimit is the largest number of key groups, as in Flink.
const MaxParallelismLimit = 1 << 15

// KeyGroupOf is the key group of a key's hash among maxParallelism of them:
// KeyGroupRangeAssignment.computeKeyGroupForKeyHash.
func KeyGroupOf(hash uint32, maxParallelism int) KeyGroup {
	h := int32(murmurFinish(murmurMix(0, hash), 4))
	switch {
	case h >= 0:
	case h == -1<<31:
		h = 0
	default:
		h = -h
	}
	return KeyGroup(uint32(h) % uint32(maxParallelism))
}

// SubtaskOf is the subtask that owns a key group:
// KeyGroupRangeAssignment.computeOperatorIndexForKeyGroup.
func SubtaskOf(group KeyGroup, maxParallelism, parallelism int) int {
	return int(group) * parallelism / maxParallelism
}
