package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/wasmstream/wasmstream/host/stream"
)

// grouped writes a number with its thousands set apart.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// shownBytes writes a size with three digits or so.
func shownBytes(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, at := float64(n), -1
	for value >= unit && at < len(byteUnits)-1 {
		value, at = value/unit, at+1
	}
	decimals := 0
	if value < 10 {
		decimals = 1
	}
	return fmt.Sprintf("%.*f %s", decimals, value, byteUnits[at])
}

var byteUnits = [...]string{"kB", "MB", "GB", "TB", "PB", "EB"}

// shownTime writes an event time for people, in UTC.
func shownTime(t stream.EventTime) string {
	switch t {
	case stream.MinTime:
		return "none yet"
	case stream.MaxTime:
		return "end"
	}
	return time.UnixMilli(int64(t)).UTC().Format("2006-01-02 15:04:05")
}

// shownDuration writes how long something took.
func shownDuration(seconds float64) string {
	switch {
	case seconds < 1:
		return fmt.Sprintf("%.0f ms", seconds*1000)
	case seconds < 10:
		return fmt.Sprintf("%.2f s", seconds)
	case seconds < 60:
		return fmt.Sprintf("%.1f s", seconds)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}
