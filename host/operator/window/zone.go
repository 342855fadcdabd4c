package window

import "time"

const (
	hour = 60 * 60 * 1000 // milliseconds
	day  = 24 * hour

	// zoneMillisMax is how far from 1970 zones are looked at (285,000 years): bounds
	// looked up beyond could wrap around.
	zoneMillisMax = 1 << 53
)

// days are the windows of whole days at the clock on the wall of a.Zone. They
// are counted in wall time, where every day has 24 hours, and each bound is then
// looked up: the first moment at which the wall shows it or more. So a day whose
// midnight is skipped begins with its first moment, and one whose midnight comes
// twice with the earlier one. A bound never goes back when wall time goes on.
func (a *Assigner) days(dst []Window, t int64) []Window {
	step := a.Size
	if a.Kind == Sliding {
		step = a.Slide
	}
	wall := floor(wallTime(t, a.Zone), a.Offset, step)
	// The hour that comes twice may belong to the day before at its second time,
	// though the next day has begun; then the wall is behind.
	for moment(wall+step, a.Zone) <= t {
		wall += step
	}
	for ; ; wall -= step {
		end := moment(wall+a.Size, a.Zone)
		if end <= t {
			return dst
		}
		dst = append(dst, Window{Start: moment(wall, a.Zone), End: end})
	}
}

// wallTime is what the clock on the wall shows at moment t, as milliseconds
// since its own 1970.
func wallTime(t int64, zone *time.Location) int64 {
	_, seconds := time.UnixMilli(t).In(zone).Zone()
	return t + int64(seconds)*1000
}

// moment is the first moment at which the clock on the wall shows wall or more.
func moment(wall int64, zone *time.Location) int64 {
	// No zone is a day and two hours away from UTC, so the search begins before.
	for t := wall - day - 2*hour; ; {
		local := time.UnixMilli(t).In(zone)
		_, seconds := local.Zone()
		m := max(t, wall-int64(seconds)*1000)
		_, end := local.ZoneBounds()
		if end.IsZero() || m < end.UnixMilli() {
			return m
		}
		t = end.UnixMilli()
	}
}
