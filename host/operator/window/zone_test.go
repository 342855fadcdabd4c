package window_test

import (
	"math"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"github.com/wasmstream/wasmstream/host/operator/window"
)

var berlin = zone("Europe/Berlin")

func zone(name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return z
}

func daysIn(z *time.Location) window.Assigner {
	a := tumbling(day)
	a.Zone = z
	return a
}

func millisAt(t *testing.T, text string) int64 {
	m, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return m.UnixMilli()
}

// TestDays has days of all lengths.
func TestDays(t *testing.T) {
	for _, c := range []struct{ zone, at, start, end string }{
		{"Europe/Berlin", "2026-01-15T12:00:00Z", "2026-01-14T23:00:00Z", "2026-01-15T23:00:00Z"},
		{"Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"}, // 23 h
		{"Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"}, // 25 h
		{"Europe/Berlin", "2026-10-25T23:00:00Z", "2026-10-25T23:00:00Z", "2026-10-26T23:00:00Z"},
		// Midnight is skipped: the day begins at 01:00.
		{"America/Sao_Paulo", "2018-11-04T03:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04T02:59:59Z", "2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z"},
		// At midnight the clock goes back to 23:00 of the day before.
		{"America/Sao_Paulo", "2018-02-18T02:30:00Z", "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z"},
		// At 01:00 it goes back to midnight, which comes twice.
		{"America/Havana", "2026-11-01T05:30:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},
		// At 00:01 it goes back to 23:01: the day has begun already.
		{"America/St_Johns", "2010-11-07T02:45:00Z", "2010-11-07T02:30:00Z", "2010-11-08T03:30:00Z"},
		// 30 December does not exist.
		{"Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
	} {
		got := assign(t, daysIn(zone(c.zone)), millisAt(t, c.at))
		want := window.Window{Start: millisAt(t, c.start), End: millisAt(t, c.end)}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s %s: %v, want %v", c.zone, c.at, got, want)
		}
	}
}

// TestDaysTile checks that each moment is in as many windows as it should be,
// that they follow one another without a gap, and that without summer time they
// are those without a zone.
func TestDaysTile(t *testing.T) {
	zones := []string{"Europe/Berlin", "America/Sao_Paulo", "America/St_Johns", "Pacific/Apia", "Africa/Casablanca", "Australia/Lord_Howe", "Asia/Tehran"}
	rapid.Check(t, func(t *rapid.T) {
		a := daysIn(zone(rapid.SampledFrom(zones).Draw(t, "zone")))
		a.Offset = rapid.SampledFrom([]int64{0, 6 * hour, -hour, 90 * 60 * 1000}).Draw(t, "offset")
		at := rapid.Int64Range(0, 1_800_000_000_000).Draw(t, "time")
		w := assign(t, a, at)
		if len(w) != 1 || at < w[0].Start || at >= w[0].End {
			t.Fatalf("%d: %v", at, w)
		}
		next := assign(t, a, w[0].End)
		last := assign(t, a, w[0].End-1)
		if next[0].Start != w[0].End || last[0] != w[0] {
			t.Fatalf("%v follows %v, at whose end is %v", next, w, last)
		}
		a.Kind, a.Slide, a.Size = window.Sliding, day, 3*day
		slid := assign(t, a, at)
		for i, s := range slid {
			if at < s.Start || at >= s.End || i > 0 && s.Start > slid[i-1].Start {
				t.Fatalf("%d: %v", at, slid)
			}
		}
		if slid[0].Start != w[0].Start || slid[len(slid)-1].End != w[0].End {
			t.Fatalf("%d: three days %v, one day %v", at, slid, w)
		}
	})
	weeks := window.Assigner{Kind: window.Sliding, Size: 7 * day, Slide: 2 * day, Offset: day, Zone: time.UTC}
	plain := weeks
	plain.Zone = nil
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64Range(-1<<45, 1<<45).Draw(t, "time")
		got, want := assign(t, weeks, at), assign(t, plain, at)
		if len(got) != len(want) {
			t.Fatalf("%d: %v, want %v", at, got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%d: %v, want %v", at, got, want)
			}
		}
	})
}

// TestDaysAtTheLimits says only that an answer comes.
func TestDaysAtTheLimits(t *testing.T) {
	for _, at := range []int64{math.MinInt64 + 1, math.MaxInt64, -4_000_000_000_000_000_000, 4_000_000_000_000_000_000, 1<<53 - 1, 1 - 1<<53} {
		assign(t, daysIn(berlin), at)
	}
}
