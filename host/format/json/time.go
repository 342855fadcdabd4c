package json

// Time by the proleptic Gregorian calendar, read and written without the time
// package, whose general parser takes ten times as long.

const (
	dayMillis = 86_400_000
	// The first and the last millisecond that a string can say.
	minMillis = -719528 * dayMillis
	maxMillis = 2932897*dayMillis - 1
)

// dayCache remembers the last date that was read: records mostly come in the
// order of time.
type dayCache struct {
	date   uint64 // the bytes "2001-02-"
	day    uint16 // the bytes "16"
	millis int64
}

// timestamp reads the one shape that timestamps mostly have, in quotes at i:
// "2001-02-16T17:55:00.000Z". The end is 0 if what stands there is anything
// else.
func (c *dayCache) timestamp(rec []byte, i int) (ms int64, end int) {
	if len(rec)-i < 26 {
		return 0, 0
	}
	b := rec[i : i+26]
	const (
		colons    = 0x0000ff0000ff0000 // of the word "16T17:55", T and colon
		timeShape = '0' | '0'<<8 | 'T'<<16 | '0'<<24 | '0'<<32 | ':'<<40 | '0'<<48 | '0'<<56
		ends      = 0xff000000ff0000ff // of the word ":00.000Z", all that is no digit
		fracShape = ':' | '0'<<8 | '0'<<16 | '.'<<24 | '0'<<32 | '0'<<40 | '0'<<48 | 'Z'<<56
	)
	date, rest := word(b, 1), word(b, 9)
	t, u := rest^timeShape, word(b, 17)^fracShape
	if b[0] != '"' || b[25] != '"' || nonDigits(t)|t&colons|nonDigits(u)|u&ends != 0 {
		return 0, 0
	}
	if date != c.date || uint16(rest) != c.day {
		days, reason := parseDate(b[1:11])
		if reason != "" {
			return 0, 0
		}
		c.date, c.day, c.millis = date, uint16(rest), int64(days)*dayMillis
	}
	p, q := pairs(t), pairs(u)
	hour, minute, second := p>>24&0xff, p>>48&0xff, q>>8&0xff
	if hour > 23 || minute > 59 || second > 59 {
		return 0, 0
	}
	frac := q>>32&0xff*10 + u>>48&0xff
	return c.millis + int64((hour*60+minute)*60_000+second*1000+frac), i + 26
}

// Why a string is no time.
const (
	reasonDateShape = "it must look like 2001-02-16"
	reasonTimeShape = "it must look like 2001-02-16T17:55:00.000Z"
	reasonNoDay     = "there is no such day"
	reasonNoTime    = "there is no such time of day"
	reasonLeap      = "leap seconds are not supported"
	reasonZone      = "it needs a zone, Z or an offset such as +01:00"
	reasonOffset    = "there is no such offset"
	reasonYear      = "it is outside the years 0000 to 9999 in UTC"
	reasonFraction  = "it has more than 9 digits of fraction"
)

// two reads two digits; more than 99 if they are not.
func two(b []byte) int {
	tens, units := b[0]-'0', b[1]-'0'
	if tens > 9 || units > 9 {
		return 100
	}
	return int(tens)*10 + int(units)
}

var monthDays = [13]uint8{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// parseDate is the day of a date such as 2001-02-16, counted from 1970-01-01.
func parseDate(text []byte) (days int, reason string) {
	if len(text) != 10 || text[4] != '-' || text[7] != '-' {
		return 0, reasonDateShape
	}
	century, years, month, day := two(text), two(text[2:]), two(text[5:]), two(text[8:])
	if century > 99 || years > 99 || month > 99 || day > 99 {
		return 0, reasonDateShape
	}
	year := century*100 + years
	if month < 1 || month > 12 || day < 1 {
		return 0, reasonNoDay
	}
	last := int(monthDays[month])
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		last = 29
	}
	if day > last {
		return 0, reasonNoDay
	}
	return dayNumber(year, month, day), ""
}

// dayNumber counts years from March, so that the leap day is a year's last, and
// cycles of 400 years, which all have 146,097 days.
func dayNumber(year, month, day int) int {
	if month <= 2 {
		year, month = year-1, month+12
	}
	cycle := floorDiv(year, 400)
	year -= cycle * 400
	return cycle*146097 + year*365 + year/4 - year/100 + (153*(month-3)+2)/5 + day - 1 - 719468
}

// dateOf is the date of a day number.
func dateOf(days int) (year, month, day int) {
	days += 719468
	cycle := floorDiv(days, 146097)
	days -= cycle * 146097
	year = (days - days/1460 + days/36524 - days/146096) / 365
	days -= year*365 + year/4 - year/100
	month = (5*days + 2) / 153
	day = days - (153*month+2)/5 + 1
	year += cycle * 400
	if month += 3; month > 12 {
		year, month = year+1, month-12
	}
	return year, month, day
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// parseTimestamp reads any timestamp that the package accepts: milliseconds
// since the epoch and the nanoseconds within the millisecond.
func parseTimestamp(text []byte, needsZone bool) (ms int64, nanos int32, reason string) {
	if len(text) < 19 || text[10]|0x20 != 't' && text[10] != ' ' || text[13] != ':' || text[16] != ':' {
		return 0, 0, reasonTimeShape
	}
	days, reason := parseDate(text[:10])
	if reason == reasonDateShape {
		reason = reasonTimeShape
	}
	if reason != "" {
		return 0, 0, reason
	}
	hour, minute, second := two(text[11:]), two(text[14:]), two(text[17:])
	switch {
	case hour > 99 || minute > 99 || second > 99:
		return 0, 0, reasonTimeShape
	case second == 60:
		return 0, 0, reasonLeap
	case hour > 23 || minute > 59 || second > 59:
		return 0, 0, reasonNoTime
	}
	fraction, zone, reason := parseFraction(text[19:])
	if reason != "" {
		return 0, 0, reason
	}
	offset, reason := parseZone(zone, needsZone)
	if reason != "" {
		return 0, 0, reason
	}
	ms = int64(days)*dayMillis + int64((hour*60+minute-offset)*60+second)*1000 + int64(fraction/1_000_000)
	if ms < minMillis || ms > maxMillis {
		return 0, 0, reasonYear
	}
	return ms, int32(fraction % 1_000_000), ""
}

// parseFraction reads what follows the seconds: nanoseconds, and the rest.
func parseFraction(text []byte) (nanos int, rest []byte, reason string) {
	if len(text) == 0 || text[0] != '.' {
		return 0, text, ""
	}
	end := digits(text, 1)
	if end == 1 {
		return 0, nil, reasonTimeShape
	}
	if end > 10 {
		return 0, nil, reasonFraction
	}
	for i := 1; i < 10; i++ {
		nanos *= 10
		if i < end {
			nanos += int(text[i] - '0')
		}
	}
	return nanos, text[end:], ""
}

// parseZone reads an offset from UTC in minutes.
func parseZone(text []byte, needed bool) (minutes int, reason string) {
	if len(text) == 0 {
		if needed {
			return 0, reasonZone
		}
		return 0, ""
	}
	if len(text) == 1 && text[0]|0x20 == 'z' {
		return 0, ""
	}
	if len(text) != 6 || text[0] != '+' && text[0] != '-' || text[3] != ':' {
		return 0, reasonTimeShape
	}
	hours, minutes := two(text[1:]), two(text[4:])
	if hours > 99 || minutes > 99 {
		return 0, reasonTimeShape
	}
	if hours > 23 || minutes > 59 {
		return 0, reasonOffset
	}
	minutes += hours * 60
	if text[0] == '-' {
		minutes = -minutes
	}
	return minutes, ""
}

// cutTimestamp cuts a time to so many digits of fraction, toward the past.
func cutTimestamp(ms int64, nanos int32, precision int) (int64, int32) {
	if precision <= 3 {
		return cutMillis(ms, precision), 0
	}
	return ms, nanos - nanos%int32(tens[9-precision])
}

// cutMillis cuts whole milliseconds likewise. Within a second of the least
// int64 there is no earlier one, and the value stays.
func cutMillis(ms int64, precision int) int64 {
	if precision >= 3 {
		return ms
	}
	unit := int64(tens[3-precision])
	rest := ms % unit
	if rest < 0 {
		rest += unit
	}
	if cut := ms - rest; cut <= ms {
		return cut
	}
	return ms
}
