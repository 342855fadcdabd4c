package window

import (
	"slices"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/stream"
)

// asked is a core whose trigger is a function.
func asked(a Assigner, purging bool) *Core {
	t := &Trigger{Kind: FunctionTrigger, Merges: true}
	if purging {
		t = &Trigger{Kind: Purging, Nested: t}
	}
	o := Options{Assigner: a, Trigger: t, AllowedLateness: 5}
	if err := o.Validate(); err != nil {
		panic(err) // the test is wrong
	}
	return New(o)
}

// kindsOf are the kinds of effects, and the questions among them.
func kindsOf(list []Effect) (kinds []EffectKind, questions []Question) {
	for _, e := range list {
		kinds = append(kinds, e.Kind)
		if e.Kind == Ask {
			questions = append(questions, e.Question)
		}
	}
	return kinds, questions
}

// TestAskAboutRecord: the question stands where Flink calls the trigger, between the
// record and the cleanup timer.
func TestAskAboutRecord(t *testing.T) {
	for _, purging := range []bool{false, true} {
		c := asked(Assigner{Kind: FunctionWindows}, purging)
		if !c.Asks() || !c.IsAssigned() || c.Merges() || c.NeedsTrigger() {
			t.Fatal("the core does not say what it is")
		}
		f := Facts{Now: Now{Watermark: stream.MinTime}}
		w := Window{0, 10}
		list, took, err := c.OnElement(nil, w, Element{Time: 3}, &f)
		kinds, questions := kindsOf(list)
		if err != nil || !took || !slices.Equal(kinds, []EffectKind{Append, Ask, SetTimer}) || !slices.Equal(questions, []Question{AboutRecord}) {
			t.Fatalf("%v %v %v", list, took, err)
		}
		if list[1].Purges != purging || list[1].Window != w || list[1].Contents != w || list[2].Time != 14 {
			t.Errorf("%+v", list)
		}
	}
}

// TestAskAboutTimer: a timer that is not the cleanup's is a question and no more; behind
// the cleanup's the states are cleared.
func TestAskAboutTimer(t *testing.T) {
	c := asked(Assigner{Kind: Tumbling, Size: 10}, false)
	f, w := Facts{}, Window{0, 10}
	list := c.OnTimer(nil, w, ProcDomain, 9, &f)
	if kinds, questions := kindsOf(list); !slices.Equal(kinds, []EffectKind{Ask}) || !slices.Equal(questions, []Question{AboutTimer}) || list[0].Domain != ProcDomain || list[0].Time != 9 {
		t.Errorf("%+v", list)
	}
	list = c.OnTimer(nil, w, EventDomain, 14, &f)
	if kinds, questions := kindsOf(list); !slices.Equal(kinds, []EffectKind{Ask, Clear, Ask}) || !slices.Equal(questions, []Question{AboutTimer, AboutEnd}) {
		t.Errorf("%+v", list)
	}
}

// TestAskAboutMerge: the windows that are merged are named before the question about
// what comes of them, and each is over behind it.
func TestAskAboutMerge(t *testing.T) {
	c := asked(Assigner{Kind: FunctionWindows, Merging: true}, false)
	f := Facts{Now: Now{Watermark: stream.MinTime}}
	for _, w := range []Window{{0, 10}, {20, 30}} {
		if _, _, err := c.OnElement(nil, w, Element{Time: stream.EventTime(w.Start)}, &f); err != nil {
			t.Fatal(err)
		}
	}
	list, _, err := c.OnElement(nil, Window{10, 20}, Element{Time: 10}, &f)
	if err != nil {
		t.Fatal(err)
	}
	kinds, questions := kindsOf(list)
	want := []EffectKind{Unite, Unite, Ask, Ask, DeleteTimer, Absorb, Ask, DeleteTimer, Absorb, Merge, Append, Ask, SetTimer, KeepSet}
	if !slices.Equal(kinds, want) || !slices.Equal(questions, []Question{AboutMerge, AboutEnd, AboutEnd, AboutRecord}) {
		t.Fatalf("%v\n%+v", kinds, list)
	}
	whole := Window{0, 30}
	if list[0].Window != whole || list[1].Window != whole || list[2].Window != whole || list[0].From == list[1].From {
		t.Errorf("%+v", list[:3])
	}
	if len(f.Set) != 1 || f.Set[0].Window != whole {
		t.Errorf("%+v", f.Set)
	}
	// A timer of a window that is no more asks nothing.
	if list := c.OnTimer(nil, Window{0, 10}, EventDomain, 9, &f); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// TestFunctionsThatDoNotGoTogether are refused.
func TestFunctionsThatDoNotGoTogether(t *testing.T) {
	function := &Trigger{Kind: FunctionTrigger}
	for want, o := range map[string]Options{
		"which the trigger's function cannot": {Assigner: Assigner{Kind: Session, Gap: 1}, Trigger: function},
		"can be told to merge":                {Assigner: Assigner{Kind: Tumbling, Size: 1, Merging: true}},
		"cannot have a function within":       {Assigner: Assigner{Kind: Tumbling, Size: 1}, Trigger: &Trigger{Kind: Timeout, Interval: 1, Nested: &Trigger{Kind: Purging, Nested: function}}},
		"a delta trigger cannot":              {Assigner: Assigner{Kind: FunctionWindows, Merging: true}, Trigger: &Trigger{Kind: Delta}},
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
