package checkpoint

import "encoding/binary"

// A record is a key, by its length, and then 0 if the key has no value any more, or one more than the value's length and
// the value.

func appendRecord(b, key, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(key)))
	b = append(b, key...)
	b = binary.AppendUvarint(b, uint64(len(value))+1)
	return append(b, value...)
}

func appendDeleted(b, key []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(key)))
	b = append(b, key...)
	return append(b, 0)
}

// nextRecord takes a record off the front of b. The value is nil for a key without one, and never nil otherwise.
func nextRecord(b []byte) (key, value, rest []byte, ok bool) {
	key, b, ok = nextBytes(b, 0)
	if !ok || len(b) == 0 {
		return nil, nil, nil, false
	}
	if b[0] == 0 {
		return key, nil, b[1:], true
	}
	value, b, ok = nextBytes(b, 1)
	return key, value, b, ok
}

// nextBytes takes bytes off the front of b that come behind their length plus more.
func nextBytes(b []byte, more uint64) (v, rest []byte, ok bool) {
	var n uint64
	size := 1
	if len(b) > 0 && b[0] < 0x80 {
		n = uint64(b[0])
	} else if n, size = binary.Uvarint(b); size <= 0 {
		return nil, nil, false
	}
	if n -= more; n > uint64(len(b)-size) {
		return nil, nil, false
	}
	end := size + int(n)
	return b[size:end:end], b[end:], true
}
