package process

import (
	"encoding/binary"
	"math"
)

// TTL is how long a value lives, by processing time: Flink's StateTtlConfig. What has
// one begins with a stamp, when its time to live began.
type TTL struct {
	Millis int64 // 0: for ever
	// OnRead: a read begins it anew, too (OnReadAndWrite). Once: what is over is seen by
	// one read if it is still there (ReturnExpiredIfNotCleanedUp).
	OnRead, Once bool
}

const stampBytes = 8

// stampBytes is what a value is longer by.
func (t *TTL) stampBytes() int {
	if t.Millis == 0 {
		return 0
	}
	return stampBytes
}

// isOver tells whether what began at a time is over. The sum saturates, so the largest
// time to live is for ever.
func (t *TTL) isOver(began, now int64) bool {
	end := began + t.Millis
	if began > 0 && end < began {
		end = math.MaxInt64
	}
	return end <= now
}

func stampOf(value []byte) int64 { return int64(binary.LittleEndian.Uint64(value)) }

func putStamp(value []byte, now int64) { binary.LittleEndian.PutUint64(value, uint64(now)) }

func appendStamp(b []byte, now int64) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(now))
}
