package stream

import (
	"encoding/binary"
	"math/bits"
)

// Hash is the hash of a row, BinaryRowData.hashCode: murmur3 with seed 42 over
// the row's 4-byte words, the header among them.
func (r Row) Hash() uint32 {
	h := uint32(hashSeed)
	i := 0
	// Most keys are +I without a NULL among up to 56 columns: their first 8
	// bytes are zero. Each word waits for the one before, so skipping two of
	// the four or six words of a short key is what makes it faster.
	if len(r) >= 8 && binary.LittleEndian.Uint64(r) == 0 {
		h, i = hashAfterZeroes, 8
	}
	for ; i+8 <= len(r); i += 8 {
		w := binary.LittleEndian.Uint64(r[i : i+8])
		h = murmurMix(h, uint32(w))
		h = murmurMix(h, uint32(w>>32))
	}
	return murmurFinish(h, uint32(len(r)))
}

const (
	hashSeed        = 42
	hashAfterZeroes = 0x11737b65 // murmurMix(murmurMix(hashSeed, 0), 0)
)

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
	if maxParallelism&(maxParallelism-1) == 0 {
		return KeyGroup(uint32(h) & uint32(maxParallelism-1)) // a division would cost more than the hash
	}
	return KeyGroup(uint32(h) % uint32(maxParallelism))
}

// SubtaskOf is the subtask that owns a key group:
// KeyGroupRangeAssignment.computeOperatorIndexForKeyGroup.
func SubtaskOf(group KeyGroup, maxParallelism, parallelism int) int {
	return int(group) * parallelism / maxParallelism
}
