package scenario_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// reference is what the machine and Flink's rules make of a history, written without a
// look at the engine: plain maps, one record after the other.
type reference struct {
	keys   map[string]*keyState
	shared map[int64]int64
	wm     int64
	clock  int64
	ttl    int64 // 0: none
	onRead bool
	wants  []string // of the present action
}

// stamped is a value with the time when its life began.
type stamped struct{ value, since int64 }

type element struct {
	position int64
	stamped
}

type keyState struct {
	value  *stamped
	text   *stamped // its length
	m      map[int64]stamped
	list   []element
	timers [2]map[int64]bool // by domain
}

func newReference(ttl int64, onRead bool) *reference {
	return &reference{keys: map[string]*keyState{}, shared: map[int64]int64{}, wm: math.MinInt64, ttl: ttl, onRead: onRead}
}

func (r *reference) key(k string) *keyState {
	if r.keys[k] == nil {
		r.keys[k] = &keyState{m: map[int64]stamped{}, timers: [2]map[int64]bool{{}, {}}}
	}
	return r.keys[k]
}

func (r *reference) isOver(s stamped) bool { return r.ttl > 0 && r.clock-s.since >= r.ttl }

// seen is what a read sees, nil if it is over.
func (r *reference) seen(s *stamped) *int64 {
	if s == nil || r.isOver(*s) {
		return nil
	}
	return &s.value
}

func (r *reference) read(s *stamped) *int64 {
	v := r.seen(s)
	if v != nil && r.onRead {
		s.since = r.clock
	}
	return v
}

func (r *reference) want(k, what string, n, x *int64, at string) {
	fields := []string{}
	if k != "" {
		fields = append(fields, fmt.Sprintf("%q:%q", "k", k))
	}
	fields = append(fields, fmt.Sprintf("%q:%q", "what", what))
	if n != nil {
		fields = append(fields, fmt.Sprintf("%q:%d", "n", *n))
	}
	if x != nil {
		fields = append(fields, fmt.Sprintf("%q:%d", "x", *x))
	}
	r.wants = append(r.wants, "want out {"+strings.Join(fields, ",")+"}"+at)
}

func pointer(v int64) *int64 { return &v }

func orZero(v *int64) int64 {
	if v == nil {
		return 0
	}
	return *v
}

// record performs what a record says.
func (r *reference) record(k, what string, n, x int64, at string) {
	s := r.key(k)
	now := func(v int64) *stamped { return &stamped{v, r.clock} }
	switch what {
	case "bad":
	case "set":
		s.value = now(n)
	case "clear":
		s.value = nil
	case "add":
		s.value = now(orZero(r.seen(s.value)) + n)
	case "get":
		r.want(k, "get", r.read(s.value), nil, at)
	case "peek":
		r.want(k, "get", r.seen(s.value), nil, at)
	case "write":
		s.text = now(24 + int64(len(fmt.Sprint(n)))) // rounded up below
		s.text.value = 16 + (int64(len("a text that is long ")+len(fmt.Sprint(n)))+7)/8*8
	case "read":
		r.want(k, "read", pointer(orZero(r.read(s.text))), nil, at)
	case "event timer":
		s.timers[0][n] = true
	case "clock timer":
		s.timers[1][n] = true
	case "no event timer":
		delete(s.timers[0], n)
	case "no clock timer":
		delete(s.timers[1], n)
	case "put":
		s.m[n] = *now(x)
	case "look":
		r.look(k, s, n, at)
	case "del":
		delete(s.m, n)
	case "del all":
		clear(s.m)
	case "scan":
		r.scan(k, s, n, x != 0, at)
	case "push":
		r.push(s, n)
	case "list":
		r.list(k, s, at)
	case "empty":
		s.list = nil
	case "shared":
		if v, ok := r.shared[n]; ok {
			r.want(k, "shared", &n, &v, at)
		} else {
			r.want(k, "shared", &n, nil, at)
		}
	default:
		panic(what)
	}
}

func (r *reference) look(k string, s *keyState, n int64, at string) {
	e, ok := s.m[n]
	if !ok || r.isOver(e) {
		r.want(k, "look", &n, nil, at)
		return
	}
	r.want(k, "look", &n, r.read(&e), at)
	s.m[n] = e
}

// before orders numbers as their rows' bytes are ordered.
func before(a, b int64) int {
	var x, y [8]byte
	binary.LittleEndian.PutUint64(x[:], uint64(a))
	binary.LittleEndian.PutUint64(y[:], uint64(b))
	return slices.Compare(x[:], y[:])
}

func (r *reference) scan(k string, s *keyState, n int64, after bool, at string) {
	for _, key := range slices.SortedFunc(maps.Keys(s.m), before) {
		e := s.m[key]
		if after && before(key, n) <= 0 || r.isOver(e) {
			continue
		}
		r.want(k, "scan", &key, r.read(&e), at)
		s.m[key] = e
	}
}

func (r *reference) push(s *keyState, n int64) {
	last := int64(0)
	alive := false
	for _, e := range s.list {
		alive = alive || !r.isOver(e.stamped)
		last = e.position
	}
	if !alive {
		s.list, last = nil, 0
	}
	s.list = append(s.list, element{last + 1, stamped{n, r.clock}})
}

func (r *reference) list(k string, s *keyState, at string) {
	var kept []element
	for _, e := range s.list {
		if r.isOver(e.stamped) {
			continue
		}
		v := *r.read(&e.stamped)
		r.want(k, "list", pointer(e.position), &v, at)
		kept = append(kept, e)
	}
	s.list = kept
}

// broadcast performs what a broadcast record says.
func (r *reference) broadcast(what string, n, x int64) {
	switch what {
	case "share":
		r.shared[n] = x
	case "unshare":
		delete(r.shared, n)
	case "add shared":
		for _, s := range r.keys {
			if s.value != nil || s.text != nil || len(s.m) > 0 || len(s.list) > 0 {
				s.value = &stamped{value: orZero(r.seen(s.value)) + r.shared[n]}
			}
		}
	}
}

// fire fires the timers of a domain that are due, key by key: keys do not see each
// other.
func (r *reference) fire(domain int, upTo int64) {
	for _, k := range slices.Sorted(maps.Keys(r.keys)) {
		s := r.keys[k]
		for len(s.timers[domain]) > 0 {
			at := slices.Min(slices.Collect(maps.Keys(s.timers[domain])))
			if at > upTo {
				break
			}
			delete(s.timers[domain], at)
			name, stamp := "event", fmt.Sprintf(" @%d", at)
			if domain == 1 {
				name, stamp = "clock", ""
			}
			v := orZero(r.read(s.value))
			r.want(k, name, &at, &v, stamp)
			if v > 0 {
				s.value = &stamped{v - 1, r.clock}
				s.timers[domain][at+3] = true
				delete(s.timers[domain], at+1)
			}
		}
	}
}

func (r *reference) watermark(t int64) {
	if t > r.wm {
		r.wm = t
		r.fire(0, t)
	}
}

func (r *reference) moveClock(t int64) {
	r.clock = t
	r.fire(1, t)
}
