package window_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

// TestStart has case C29 of Flink's TimeWindowTest and its neighbours: the start
// is floored at negative times (FLINK-26334), offsets may be negative
// (FLINK-11326).
func TestStart(t *testing.T) {
	day := int64(24 * 60 * 60 * 1000)
	for _, c := range []struct{ size, offset, at, start int64 }{
		{7, 0, -8, -14}, {7, 0, -7, -7}, {7, 0, -1, -7}, {7, 0, 6, 0},
		{7, 3, -10, -11}, {7, 3, 2, -4}, {7, 3, 3, 3},
		{7, -2, -12, -16}, {7, -2, -3, -9}, {7, -2, 4, -2}, {7, -2, 12, 12},
		{day, -8 * 60 * 60 * 1000, 1470902048450, 1470844800000},
	} {
		core := window.New(window.Options{Assigner: window.Assigner{Kind: window.Tumbling, Size: c.size, Offset: c.offset}})
		effects, err := core.OnElement(nil, stream.EventTime(c.at), stream.MinTime)
		if err != nil {
			t.Fatal(err)
		}
		if want := (window.Window{Start: c.start, End: c.start + c.size}); effects[0].Window != want {
			t.Errorf("size %d, offset %d, time %d: %v, want %v", c.size, c.offset, c.at, effects[0].Window, want)
		}
	}
}

// TestOnElement states the rules of WindowOperator.processElement for tumbling
// windows with the default trigger.
func TestOnElement(t *testing.T) {
	w := window.Window{Start: 0, End: 10}
	app, fire := window.Effect{Kind: window.Append, Window: w}, window.Effect{Kind: window.Fire, Window: w}
	timer := func(at int64) window.Effect { return window.Effect{Kind: window.SetTimer, Window: w, Time: at} }
	late := window.Effect{Kind: window.Late}
	for name, c := range map[string]struct {
		lateness  int64
		at        stream.EventTime
		watermark stream.EventTime
		want      []window.Effect
	}{
		"in time":                         {0, 5, stream.MinTime, []window.Effect{app, timer(9), timer(9)}},
		"one millisecond before its end":  {0, 5, 8, []window.Effect{app, timer(9), timer(9)}},
		"late without lateness":           {0, 9, 9, []window.Effect{late}},
		"late within lateness fires":      {5, 0, 9, []window.Effect{app, fire, timer(14)}},
		"last moment of lateness":         {5, 0, 13, []window.Effect{app, fire, timer(14)}},
		"too late":                        {5, 9, 14, []window.Effect{late}},
		"lateness reaches beyond the end": {math.MaxInt64, 5, 8, []window.Effect{app, timer(9)}},
	} {
		t.Run(name, func(t *testing.T) {
			core := window.New(window.Options{Assigner: window.Assigner{Kind: window.Tumbling, Size: 10}, AllowedLateness: c.lateness})
			got, err := core.OnElement(nil, c.at, c.watermark)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoTimestamp(t *testing.T) {
	core := window.New(window.Options{Assigner: window.Assigner{Kind: window.Tumbling, Size: 10}})
	_, err := core.OnElement(nil, stream.MinTime, stream.MinTime)
	if !errors.Is(err, window.ErrNoTimestamp) {
		t.Fatalf("error %v", err)
	}
}

func TestOnTimer(t *testing.T) {
	w := window.Window{Start: 0, End: 10}
	fire, clean := window.Effect{Kind: window.Fire, Window: w}, window.Effect{Kind: window.Clean, Window: w}
	for _, c := range []struct {
		lateness, at int64
		want         []window.Effect
	}{
		{0, 9, []window.Effect{fire, clean}},
		{5, 9, []window.Effect{fire}},
		{5, 14, []window.Effect{clean}},
		{5, 12, nil},
	} {
		core := window.New(window.Options{Assigner: window.Assigner{Kind: window.Tumbling, Size: 10}, AllowedLateness: c.lateness})
		if diff := cmp.Diff(c.want, core.OnTimer(nil, w, c.at)); diff != "" {
			t.Errorf("lateness %d, timer at %d: %s", c.lateness, c.at, diff)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		options window.Options
		word    string
	}{
		{window.Options{Assigner: window.Assigner{Kind: window.Tumbling}}, "size"},
		{window.Options{Assigner: window.Assigner{Kind: window.Tumbling, Size: -1}}, "size"},
		{window.Options{Assigner: window.Assigner{Kind: window.Tumbling, Size: 10, Offset: 10}}, "offset"},
		{window.Options{Assigner: window.Assigner{Kind: window.Tumbling, Size: 10, Offset: -10}}, "offset"},
		{window.Options{Assigner: window.Assigner{Kind: window.Tumbling, Size: 10}, AllowedLateness: -1}, "lateness"},
	} {
		if err := c.options.Validate(); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%+v: %v does not say %q", c.options, err, c.word)
		}
	}
}
