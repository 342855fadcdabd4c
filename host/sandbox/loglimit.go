package sandbox

import (
	"fmt"
	"sync"

	"github.com/wasmstream/wasmstream/abi"
)

// LogLimit bounds what a function logs in a minute, however many calls and instances it
// has: an endless log fills a disk. It goes by the clock, since that is what disks are
// filled in; lines are no result, so nothing that counts depends on it.
type LogLimit struct {
	lines int64
	now   func() int64
	log   func(level int, message string)

	mutex   sync.Mutex
	began   int64 // when the present minute did, ms
	logged  int64 // in it
	dropped int64
}

const minuteMillis = 60_000

// NewLogLimit passes so many lines a minute on to log, by a clock in milliseconds.
func NewLogLimit(lines int64, now func() int64, log func(level int, message string)) *LogLimit {
	return &LogLimit{lines: lines, now: now, log: log, began: now()}
}

// Log passes a line on, or counts it as dropped; that the first one is is told at once,
// and how many were when the minute is over. Any goroutine may call it.
func (l *LogLimit) Log(level int, message string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if now := l.now(); now-l.began >= minuteMillis || now < l.began {
		l.tell()
		l.began, l.logged = now, 0
	}
	if l.logged++; l.logged <= l.lines {
		l.log(level, message)
		return
	}
	if l.dropped++; l.dropped == 1 {
		l.log(abi.LogWarn, fmt.Sprintf("further lines of this minute are dropped: the function may log %d; limits: {log: …} of the step or the job raises it", l.lines))
	}
}

// tell says how many lines were dropped.
func (l *LogLimit) tell() {
	if l.dropped > 0 {
		l.log(abi.LogWarn, fmt.Sprintf("%d lines of the function were dropped", l.dropped))
		l.dropped = 0
	}
}

// Close tells what was dropped last.
func (l *LogLimit) Close() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.tell()
}
