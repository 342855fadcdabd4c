package window

import (
	"cmp"
	"slices"
)

// orderAsFlink sorts sessions that merge, given by start, as Flink finds them in
// its hash set of windows. The first one's contents window is kept and the
// contents of the others are added to it in turn, so what evictors and functions
// see of merged sessions comes in Flink's order, by which results can differ.
func orderAsFlink(sources []InSet) {
	if len(sources) < 2 {
		return
	}
	buckets := uint32(16)
	for members := len(sources) + 1; members > int(buckets)/4*3; {
		buckets *= 2
	}
	slices.SortStableFunc(sources, func(x, y InSet) int {
		return cmp.Compare(hash(x.Window)&(buckets-1), hash(y.Window)&(buckets-1))
	})
}

// hash is Java's spread of TimeWindow.hashCode: the bits of start + end, mixed.
func hash(w Window) uint32 {
	x := uint64(w.Start + w.End)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	h := uint32(x ^ x>>31)
	return h ^ h>>16
}
