package runtime_test

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/stream"
)

// smallGuest has room for small frames only: what it says at once, or after it
// has done the work.
type smallGuest struct {
	runtime.Guest
	frameMax, answerMax int
	calls               int
}

func (g *smallGuest) In(size int) ([]byte, uint32, error) {
	if size > g.frameMax {
		return nil, 0, &sandbox.TooLargeError{Module: "small", Bytes: size, Reason: "this guest is small"}
	}
	return g.Guest.In(size)
}

func (g *smallGuest) Call(function, pointer uint32, length int) ([]byte, error) {
	g.calls++
	effects, err := g.Guest.Call(function, pointer, length)
	if err == nil && len(effects) > g.answerMax {
		return nil, &sandbox.TooLargeError{Module: "small", Effects: true, Bytes: len(effects), Reason: "this guest is small"}
	}
	return effects, err
}

// TestFramesAreHalved: a guest that has little room puts out the same lines.
func TestFramesAreHalved(t *testing.T) {
	for _, small := range []*smallGuest{
		{frameMax: 400, answerMax: 1 << 20}, {frameMax: 1 << 20, answerMax: 200}, {frameMax: 1000, answerMax: 100},
	} {
		sinks := map[string]*memorySink{}
		c := config(t, sinks)
		whole := c.Guest
		c.Guest = func(f *job.Function) (runtime.Guest, error) {
			var err error
			small.Guest, err = whole(f)
			return small, err
		}
		run(t, hourlyPlan(t, "c", 1), c)
		checkHourly(t, sinks)
		if small.calls < 1000 {
			t.Errorf("only %d calls: the limits did not bite", small.calls)
		}
	}
}

// TestMisbehavingGuests: each wrong is told apart, fails the job and harms
// nothing else.
func TestMisbehavingGuests(t *testing.T) {
	for variant, want := range map[string]struct {
		kind abi.FaultKind
		text string
	}{
		"trap":            {abi.FaultTrap, "unreachable"},
		"fail":            {abi.FaultFailed, "no such luck"},
		"in-end":          {abi.FaultBadPointer, "beyond memory"},
		"effects-pointer": {abi.FaultBadEffects, "beyond memory"},
		"effects-length":  {abi.FaultBadEffects, "beyond memory"},
		"effects-overlap": {abi.FaultBadEffects, "overlap"},
		"effects-kind":    {abi.FaultBadEffect, "999"},
		"effects-op":      {abi.FaultBadOp, "op"},
		"two-results":     {abi.FaultBadAnswer, "twice"},
		"no-result":       {abi.FaultBadAnswer, "was not answered"},
		"emit-for-add":    {abi.FaultBadEffect, "may not be answered by emit"},
		"slot-kind":       {abi.FaultBadRow, "its change kind is -D, 3"},
		"in-zero":         {0, "no room"},
		"full":            {0, "one op alone is too large"},
	} {
		t.Run(variant, func(t *testing.T) {
			err := runMisbehaving(t, variant)
			if err == nil {
				t.Fatal("the job succeeded")
			}
			if got := faultKind(err); got != want.kind || !strings.Contains(err.Error(), want.text) {
				t.Errorf("fault %s, want %s with %q: %v", got, want.kind, want.text, err)
			}
			if !strings.Contains(err.Error(), "step hourly") {
				t.Errorf("the error does not name the step: %v", err)
			}
		})
	}
}

// spoilingGuest answers what its guest does, with each row spoilt.
type spoilingGuest struct {
	runtime.Guest
	spoil func(row []byte) []byte
}

func (g *spoilingGuest) Call(function, pointer uint32, length int) ([]byte, error) {
	effects, err := g.Guest.Call(function, pointer, length)
	var spoilt []byte
	answers := abi.ReadEffects(effects, length)
	for e, ok := answers.Next(); ok; e, ok = answers.Next() {
		row := g.spoil(append([]byte(nil), e.Payload...))
		for _, v := range []uint32{uint32(e.Kind), e.Op, uint32(len(row)), e.Aux} {
			spoilt = binary.LittleEndian.AppendUint32(spoilt, v)
		}
		spoilt = append(spoilt, row...)
	}
	return spoilt, errors.Join(err, answers.Err())
}

// TestRowsThatGuestsMayNotAnswer: a row of another kind or with unused bytes would
// go on through the job and differ from an equal one.
func TestRowsThatGuestsMayNotAnswer(t *testing.T) {
	for want, spoil := range map[string]func([]byte) []byte{
		"":                        func(row []byte) []byte { return row },
		"its change kind is -D":   func(row []byte) []byte { row[0] = byte(stream.Delete); return row },
		"its values take":         func(row []byte) []byte { return append(row, make([]byte, 8)...) },
		"there is no change kind": func(row []byte) []byte { row[0] = 4; return row },
	} {
		c := config(t, map[string]*memorySink{})
		whole := c.Guest
		c.Guest = func(f *job.Function) (runtime.Guest, error) {
			g, err := whole(f)
			return &spoilingGuest{g, spoil}, err
		}
		j, err := runtime.New(hourlyPlan(t, "c", 1), c)
		if err != nil {
			t.Fatal(err)
		}
		err = j.Run(t.Context())
		if want == "" {
			if err != nil {
				t.Error(err)
			}
		} else if faultKind(err) != abi.FaultBadRow || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want a bad row that says %q", err, want)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}

func runMisbehaving(t *testing.T, variant string) error {
	t.Helper()
	path := "../../testdata/wasm/misbehaving-" + variant + ".wasm"
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	plan := hourlyPlan(t, "c", 1)
	plan.Modules[0].Path = path
	plan.Steps[0].Window.Function.Module.Path = path
	c := config(t, map[string]*memorySink{})
	c.Limits.BatchRows = 64 // frames of less than 1000 ops: effects-op names one far behind
	j, err := runtime.New(plan, c)
	if err != nil {
		return err
	}
	defer j.Close()
	return j.Run(t.Context())
}

// faultKind is the kind of a guest's fault, whoever found it; 0 if it is none.
func faultKind(err error) abi.FaultKind {
	var inGuest *sandbox.Fault
	var inAnswer *abi.Fault
	switch {
	case errors.As(err, &inGuest):
		return inGuest.Kind
	case errors.As(err, &inAnswer):
		return inAnswer.Kind
	}
	return 0
}
