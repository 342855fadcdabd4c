package main

import "time"

// clickTime is a moment in ms, written as RFC 3339.
type clickTime int64

func (t clickTime) append(b []byte) []byte {
	return time.UnixMilli(int64(t)).UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
}
