package state

import "math/bits"

// arena holds byte strings of few different lengths without giving the garbage
// collector anything to look at. Freed places are used again for strings of the
// same class; memory is never handed back.
type arena struct {
	chunks [][]byte
	free   [64][]place
	used   int   // bytes of the last chunk
	live   int64 // bytes of the places that are not free
}

// place is where a string lies: the chunk's number and the offset in it.
type place uint64

const arenaChunkBytes = 64 << 10

// class is the size class of n bytes, and the bytes that a place of it has:
// multiples of 8 up to 256, powers of two beyond.
func class(n int) (index, size int) {
	if n <= 256 {
		index = (n + 7) / 8
		return index, index * 8
	}
	b := bits.Len(uint(n - 1))
	return 32 + b - 8, 1 << b
}

// Room is how many bytes of memory a value of variable width takes that has n.
func Room(n int) int {
	_, size := class(max(n, 1))
	return size
}

// put copies b into the arena.
func (a *arena) put(b []byte) place {
	p := a.reserve(len(b))
	copy(a.at(p, len(b)), b)
	return p
}

// reserve finds a place for n bytes, whatever stands there.
func (a *arena) reserve(n int) place {
	index, size := class(n)
	a.live += int64(size)
	if free := a.free[index]; len(free) > 0 {
		p := free[len(free)-1]
		a.free[index] = free[:len(free)-1]
		return p
	}
	if len(a.chunks) == 0 || a.used+size > len(a.chunks[len(a.chunks)-1]) {
		a.chunks = append(a.chunks, make([]byte, max(size, arenaChunkBytes)))
		a.used = 0
	}
	p := place(uint64(len(a.chunks)-1)<<32 | uint64(a.used))
	a.used += size
	return p
}

// at is the string of n bytes at p.
func (a *arena) at(p place, n int) []byte {
	from := int(uint32(p))
	return a.chunks[p>>32][from : from+n : from+n]
}

// drop gives the place of a string of n bytes back.
func (a *arena) drop(p place, n int) {
	index, size := class(n)
	a.live -= int64(size)
	a.free[index] = append(a.free[index], p)
}
