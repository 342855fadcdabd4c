// Command days assigns records to the calendar days of a zone of Europe, where clocks go forward at one o'clock Greenwich
// on the last Sunday of March, and back on that of October.
package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

const (
	hour = 3_600_000 // milliseconds
	day  = 24 * hour
)

const hoursParameter ws.BigInt = 0

// winter is how far local time is ahead of Greenwich in winter.
var winter int64

func init() {
	ws.Register(&ws.Assigner{
		Name: "days", Doc: "calendar days of a zone of Europe, with summer time",
		Parameters: []ws.Parameter{{Column: hoursParameter.As("hours"), Default: "1", Doc: "ahead of Greenwich in winter"}},
		Open:       func(o *ws.Opening) { winter = hour * hoursParameter.Get(o.Parameters) },
		Assign: func(o *ws.Op, _ ws.Row) {
			date := floor(o.Time()+ahead(o.Time()), day)
			o.Assign(midnight(date), midnight(date+1))
		},
	})
}

func main() { ws.Main() }

// floor divides and rounds down, before 1970 too.
func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// ahead is how far local time is ahead of Greenwich at a time.
func ahead(time int64) int64 {
	year := yearOf(floor(time, day))
	if time >= lastSunday(year, 3)*day+hour && time < lastSunday(year, 10)*day+hour {
		return winter + hour
	}
	return winter
}

// midnight is the time at which a local date begins. At midnight nobody changes the clock.
func midnight(date int64) int64 {
	guess := date*day - winter
	return date*day - ahead(guess-hour/2)
}

// lastSunday is the last Sunday of a month of 31 days, as a number of days since 1970, which began with a Thursday.
func lastSunday(year, month int64) int64 {
	last := daysBefore(year, month) + 30
	return last - (last + 4 - 7*floor(last+4, 7))
}

// daysBefore is how many days there are between 1970 and the first of a month, March or a later one, in the Gregorian
// calendar: years are taken to begin in March.
func daysBefore(year, month int64) int64 {
	return 365*year + floor(year, 4) - floor(year, 100) + floor(year, 400) + (153*(month-3)+2)/5 - 719468
}

// yearOf is the year of a date.
func yearOf(date int64) int64 {
	year := 1970 + floor(date, 366)
	for daysBefore(year+1, 3)-31-28-leap(year+1) <= date {
		year++
	}
	return year
}

// leap is 1 for a leap year.
func leap(year int64) int64 {
	if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 1
	}
	return 0
}
