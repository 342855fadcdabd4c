package runtime

import "sync/atomic"

// pipe hands values of one producer to one consumer, and the emptied values
// back: values circulate, so nothing is allocated once a job runs. It holds
// pipeDepth values in all.
type pipe[T any] struct {
	full, empty        ring[T]
	producer, consumer *node
}

// pipeDepth bounds a pipe: enough for the producer to fill one while the
// consumer empties another, and few enough to stay in the cache.
const pipeDepth = 4

// newPipe makes a pipe whose values make provides.
func newPipe[T any](make func() T) *pipe[T] {
	p := &pipe[T]{}
	for range pipeDepth {
		p.empty.push(make())
	}
	return p
}

// take gets a value to fill; none if the consumer holds them all.
func (p *pipe[T]) take() (T, bool) { return p.empty.pop() }

// send hands a filled value to the consumer.
func (p *pipe[T]) send(v T) {
	p.full.push(v)
	p.consumer.wake()
}

// receive gets a filled value.
func (p *pipe[T]) receive() (T, bool) { return p.full.pop() }

// giveBack hands an emptied value to the producer.
func (p *pipe[T]) giveBack(v T) {
	p.empty.push(v)
	p.producer.wake()
}

// ring is a queue between one writer and one reader. Values that are taken are
// conserved (see pipe), so it can never be over-full.
type ring[T any] struct {
	_      [64]byte // keeps the two ends in cache lines of their own
	head   atomic.Uint64
	_      [56]byte
	tail   atomic.Uint64
	_      [56]byte
	values [pipeDepth]T
}

func (r *ring[T]) push(v T) {
	tail := r.tail.Load()
	r.values[tail%pipeDepth] = v
	r.tail.Store(tail + 1)
}

func (r *ring[T]) pop() (v T, ok bool) {
	head := r.head.Load()
	if head == r.tail.Load() {
		return v, false
	}
	v = r.values[head%pipeDepth]
	r.head.Store(head + 1)
	return v, true
}
