package stream

import (
	"encoding/binary"
	"fmt"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// javaHash is java.lang.String.hashCode.
func javaHash(text string) (h uint32) {
	for _, unit := range utf16.Encode([]rune(text)) {
		h = 31*h + uint32(unit)
	}
	return h
}

// Computed by Flink's KeyGroupRangeAssignment for Java objects (C43).
func TestKeyGroupTable(t *testing.T) {
	minusOne := int32(-1)
	hashes := map[string]uint32{"int 0": 0, "int 1": 1, "int 2": 2, "int 42": 42, "int -1": uint32(minusOne), "long -1": 0}
	want := map[string]KeyGroup{"int 0": 94, "int 1": 86, "int 2": 127, "int 42": 29, "int -1": 80, "long -1": 94}
	for text, group := range map[string]KeyGroup{"a": 81, "key1": 41, "key2": 27, "flink": 98, "user-123": 68, "": 94} {
		hashes[text], want[text] = javaHash(text), group
	}
	// The one hash whose murmur is the least int, which has no absolute value.
	hashes["least"], want["least"] = 2205091669, 0
	for key, hash := range hashes {
		if got := KeyGroupOf(hash, 128); got != want[key] {
			t.Errorf("%s: key group %d, want %d", key, got, want[key])
		}
	}
}

// Subtask i owns the key groups from ceil(i*max/p) to ((i+1)*max-1)/p, as in
// KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex.
func TestSubtaskRanges(t *testing.T) {
	for _, c := range []struct{ group, want int }{{0, 0}, {42, 0}, {43, 1}, {85, 1}, {86, 2}, {127, 2}} {
		if got := SubtaskOf(KeyGroup(c.group), 128, 3); got != c.want {
			t.Errorf("key group %d of 128 at parallelism 3: subtask %d, want %d", c.group, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, MaxParallelismLimit).Draw(t, "maximal parallelism")
		p := rapid.IntRange(1, most).Draw(t, "parallelism")
		next := 0
		for i := range p {
			first, last := (i*most+p-1)/p, ((i+1)*most-1)/p
			if first != next || last < first {
				t.Fatalf("subtask %d has %d to %d after %d", i, first, last, next-1)
			}
			next = last + 1
			if a, b := SubtaskOf(KeyGroup(first), most, p), SubtaskOf(KeyGroup(last), most, p); a != i || b != i {
				t.Fatalf("key groups %d and %d belong to %d and %d, not %d", first, last, a, b, i)
			}
		}
		if next != most {
			t.Fatalf("%d of %d key groups have a subtask", next, most)
		}
	})
}

// A key group is within its range for every hash, the extremes too.
func TestKeyGroupRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hash, most := rapid.Uint32().Draw(t, "hash"), rapid.IntRange(1, MaxParallelismLimit).Draw(t, "maximal parallelism")
		if g := KeyGroupOf(hash, most); int(g) >= most {
			t.Fatalf("key group %d of %d", g, most)
		}
	})
}

// slowHash is murmur3 of 32 bits as its author describes it, over 4-byte words.
func slowHash(b []byte, seed uint32) uint32 {
	h := seed
	for i := 0; i < len(b); i += 4 {
		k := binary.LittleEndian.Uint32(b[i:]) * 0xcc9e2d51
		k = (k<<15 | k>>17) * 0x1b873593
		h ^= k
		h = (h<<13|h>>19)*5 + 0xe6546b64
	}
	h ^= uint32(len(b))
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

func TestHashOfAnyLength(t *testing.T) {
	if got := murmurMix(murmurMix(hashSeed, 0), 0); got != hashAfterZeroes {
		t.Fatalf("hashAfterZeroes is %#x", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.Uint64(), 1, 40).Draw(t, "words")
		var row Row
		for _, w := range words {
			row = binary.LittleEndian.AppendUint64(row, w)
		}
		if got, want := row.Hash(), slowHash(row, 42); got != want {
			t.Fatalf("%#x, want %#x", got, want)
		}
	})
}

func BenchmarkHash(b *testing.B) {
	for _, n := range []int{16, 24, 32, 64, 256} {
		rows := make([]Row, 64)
		for i := range rows {
			rows[i] = make(Row, n)
			binary.LittleEndian.PutUint64(rows[i][8:], uint64(i)*0x9e3779b97f4a7c15)
		}
		b.Run(fmt.Sprint(n, "_bytes"), func(b *testing.B) {
			var sum uint32
			for i := range b.N {
				sum += rows[i&63].Hash()
			}
			sink = sum
		})
	}
}

var sink uint32
