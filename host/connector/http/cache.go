package http

import (
	"container/list"
	"encoding/binary"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
)

// cache keeps answers by request; the one that was not used for longest goes first.
type cache struct {
	ttl      time.Duration
	bytesMax int64
	bytes    int64
	order    list.List // of *kept, the one that was used last in front
	byKey    map[string]*list.Element
}

type kept struct {
	key    string
	answer *connector.Answer
	until  time.Time
}

// keptBytes is about what an answer takes beside its own bytes.
const keptBytes = 256

func newCache(ttl time.Duration, bytesMax int64) cache {
	return cache{ttl: ttl, bytesMax: bytesMax, byKey: map[string]*list.Element{}}
}

func (k *kept) bytes() int64 {
	return keptBytes + int64(len(k.key)+len(k.answer.Headers)+len(k.answer.Body))
}

// get finds an answer that is not too old.
func (c *cache) get(key string, now time.Time) *connector.Answer {
	e := c.byKey[key]
	if e == nil {
		return nil
	}
	k := e.Value.(*kept)
	if !now.Before(k.until) {
		c.drop(e)
		return nil
	}
	c.order.MoveToFront(e)
	return k.answer
}

// put keeps an answer, if it is not larger than the whole cache.
func (c *cache) put(key string, answer *connector.Answer, now time.Time) {
	k := &kept{key, answer, now.Add(c.ttl)}
	if e := c.byKey[key]; e != nil {
		c.drop(e)
	}
	if k.bytes() > c.bytesMax {
		return
	}
	c.byKey[key] = c.order.PushFront(k)
	c.bytes += k.bytes()
	for c.bytes > c.bytesMax {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	k := e.Value.(*kept)
	c.order.Remove(e)
	delete(c.byKey, k.key)
	c.bytes -= k.bytes()
}

// keyOf is a request's parts, each with its length, so that no two requests have one.
func keyOf(r *connector.Request) string {
	var key []byte
	for _, part := range []string{r.Method, r.URL, r.Headers, string(r.Body)} {
		key = binary.AppendUvarint(key, uint64(len(part)))
		key = append(key, part...)
	}
	return string(key)
}
