package state

// timerQueue orders timers by time. Those of one time lie together in a bucket,
// last in first out: many keys share the ends of their windows, and so a timer
// costs no search in a heap, only the first of its time does. Order depends on
// nothing but the calls, so that a run can be repeated.
type timerQueue struct {
	heap    []timeOf // 4-ary
	buckets []bucket
	table   []uint32 // open addressing by time: bucket + 1; 0 is free; len is a power of two
	chunks  []chunk
	freeB   uint32 // first free bucket + 1, linked by top; 0: none
	freeC   uint32 // first free chunk + 1, linked by next
	recent  uint32 // bucket that was asked for last
	len     int    // timers
	stale   int    // at most so many of them are not in the set
}

// timeOf is a bucket in the heap.
type timeOf struct {
	at     int64
	bucket uint32
}

// bucket is the timers of one time.
type bucket struct {
	at     int64
	n      uint32   // 0: it is free
	top    uint32   // its first chunk + 1
	extras timerSet // of Memory.many
}

// chunk is a part of a bucket. All but the first are full.
type chunk struct {
	next uint32
	refs [chunkRefs]Ref
}

const (
	chunkRefs    = 3
	timeSlotsMin = 64
)

func (q *timerQueue) push(at int64, r Ref) {
	b := q.bucketOf(at)
	i := b.n % chunkRefs
	if i == 0 {
		c := q.freeC
		if c == 0 {
			q.chunks = append(q.chunks, chunk{})
			c = uint32(len(q.chunks))
		} else {
			q.freeC = q.chunks[c-1].next
		}
		q.chunks[c-1].next, b.top = b.top, c
	}
	q.chunks[b.top-1].refs[i] = r
	b.n++
	q.len++
}

// next is the earliest time; there must be one.
func (q *timerQueue) next() int64 { return q.heap[0].at }

// top is a timer of the earliest time, the one that pop takes out.
func (q *timerQueue) top() Ref {
	b := &q.buckets[q.heap[0].bucket]
	return q.chunks[b.top-1].refs[(b.n-1)%chunkRefs]
}

// pop takes a timer of the earliest time out.
func (q *timerQueue) pop() {
	b := &q.buckets[q.heap[0].bucket]
	q.len--
	b.n--
	c := b.top
	if b.n%chunkRefs == 0 {
		b.top = q.chunks[c-1].next
		q.chunks[c-1].next, q.freeC = q.freeC, c
	}
	if b.n == 0 {
		i := q.heap[0].bucket
		q.popHeap()
		q.unlink(b.at)
		b.top, q.freeB = q.freeB, i+1
	}
}

// reset forgets everything and keeps the memory.
func (q *timerQueue) reset() {
	clear(q.table)
	*q = timerQueue{heap: q.heap[:0], buckets: q.buckets[:0], table: q.table, chunks: q.chunks[:0]}
}

// known is the bucket of a time, nil if there is none.
func (q *timerQueue) known(at int64) *bucket {
	if int(q.recent) < len(q.buckets) {
		if b := &q.buckets[q.recent]; b.at == at && b.n > 0 {
			return b
		}
	}
	if len(q.table) == 0 {
		return nil
	}
	b := q.table[q.find(at)]
	if b == 0 {
		return nil
	}
	q.recent = b - 1
	return &q.buckets[q.recent]
}

// bucketOf finds the bucket of a time or makes it.
func (q *timerQueue) bucketOf(at int64) *bucket {
	if b := q.known(at); b != nil {
		return b
	}
	if 2*(len(q.heap)+1) > len(q.table) {
		q.grow()
	}
	i := q.find(at)
	if q.table[i] == 0 {
		q.table[i] = q.newBucket(at) + 1
	}
	q.recent = q.table[i] - 1
	return &q.buckets[q.recent]
}

func (q *timerQueue) newBucket(at int64) uint32 {
	i := q.freeB
	if i == 0 {
		q.buckets = append(q.buckets, bucket{})
		i = uint32(len(q.buckets))
	} else {
		q.freeB = q.buckets[i-1].top
	}
	q.buckets[i-1] = bucket{at: at}
	q.pushHeap(timeOf{at, i - 1})
	return i - 1
}

// home is where the search for a time begins.
func (q *timerQueue) home(at int64) uint32 {
	return uint32(uint64(at)*0x9e3779b97f4a7c15>>32) & uint32(len(q.table)-1)
}

// find is the place of a time in the table, or the free one where it belongs.
func (q *timerQueue) find(at int64) uint32 {
	mask := uint32(len(q.table) - 1)
	i := q.home(at)
	for q.table[i] != 0 && q.buckets[q.table[i]-1].at != at {
		i = (i + 1) & mask
	}
	return i
}

func (q *timerQueue) grow() {
	q.table = make([]uint32, max(2*len(q.table), timeSlotsMin))
	for _, t := range q.heap {
		q.table[q.find(t.at)] = t.bucket + 1
	}
}

// unlink takes a time out of the table, as Memory.unlink does with an entry.
func (q *timerQueue) unlink(at int64) {
	mask := uint32(len(q.table) - 1)
	i := q.find(at)
	for j := (i + 1) & mask; q.table[j] != 0; j = (j + 1) & mask {
		if (j-q.home(q.buckets[q.table[j]-1].at))&mask >= (j-i)&mask {
			q.table[i] = q.table[j]
			i = j
		}
	}
	q.table[i] = 0
}

func (q *timerQueue) pushHeap(t timeOf) {
	q.heap = append(q.heap, t)
	s := q.heap
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 4
		if t.at >= s[up].at {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = t
}

func (q *timerQueue) popHeap() {
	s := q.heap
	last := s[len(s)-1]
	s = s[:len(s)-1]
	q.heap = s
	i := 0
	for {
		child := 4*i + 1
		if child >= len(s) {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, len(s)); c++ {
			if s[c].at < s[least].at {
				least = c
			}
		}
		if s[least].at >= last.at {
			break
		}
		s[i] = s[least]
		i = least
	}
	if len(s) > 0 {
		s[i] = last
	}
}
