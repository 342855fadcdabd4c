package kill

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExpectedFunctions: worked out by hand.
func TestExpectedFunctions(t *testing.T) {
	in := []Move{
		{Key: 1, Time: 100, Value: 9, User: 2, Amount: 51},
		{Key: 1, Time: 300, Value: 2, User: 0, Amount: 101},
		{Key: 2, Time: 300, Value: 1, User: 1, Amount: 52},
		{Key: 1, Time: 5600, Value: 9, User: 2, Amount: 151}, // the watermark is 599
		{Key: 1, Time: 5701, Value: 1},                       // and now 700: of key 2 nothing came for 400 ms, and of key 1 something did
		{Key: 1, Time: 5700, Value: 1, Amount: -1},
		{Key: 1, Time: 5700, Value: 17, User: 4, Amount: 201},
		{Key: 1, Time: 5800, Value: 0},
	}
	sums, amounts := Tallies(in)
	for name, c := range map[string]struct{ want, got told }{
		"ledger": {told{
			// 9 and 2 are 2 modulo 7, 1 is 1, 17 is 3, 0 is 0; modulo 8 there are 1 (9, 9, 1, 1, 17), 2 and 0.
			1: {`{"k":"k1","what":0,"at":4,"n":39}`, `{"k":"k1","what":1,"at":0,"n":1}`, `{"k":"k1","what":1,"at":1,"n":5}`, `{"k":"k1","what":1,"at":2,"n":1}`, `{"k":"k1","what":2,"at":7,"n":39}`},
			2: {`{"k":"k2","what":0,"at":1,"n":1}`, `{"k":"k2","what":1,"at":1,"n":1}`, `{"k":"k2","what":2,"at":1,"n":1}`},
		}, Ledger(in)},
		"ticks":   {told{1: {`{"bidder":1,"records":7,"times":6}`}, 2: {`{"bidder":2,"records":1,"times":1}`}}, Ticks(in)},
		"idles":   {told{1: {`{"bidder":1,"n":7}`}, 2: {`{"bidder":2,"n":1}`}}, Idles(in)},
		"rates":   {told{1: {`{"k":"k1","what":3,"at":7,"n":11}`}, 2: {`{"k":"k2","what":3,"at":1,"n":0}`}}, Rates(in, in[:2])},
		"sums":    {told{1: {`{"user":"u0","n":101}`, `{"user":"u2","n":202}`, `{"user":"u4","n":201}`}}, sums},
		"amounts": {told{1: {`{"n":51}`, `{"n":101}`, `{"n":151}`, `{"n":201}`}}, amounts},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// A key that is silent while the watermark goes on is told before it comes again: 5401 lets it be 400.
	again := []Move{{Key: 1, Time: 0}, {Key: 2, Time: 5400}, {Key: 1, Time: 5300}, {Key: 2, Time: 5401}, {Key: 1, Time: 5400}}
	if diff := cmp.Diff(told{1: {`{"bidder":1,"n":3}`}, 2: {`{"bidder":2,"n":2}`}}, Idles(again)); diff != "" {
		t.Errorf("before it is silent for so long (-want +got):\n%s", diff)
	}
	again[2] = Move{Key: 2, Time: 5401}
	if diff := cmp.Diff(told{1: {`{"bidder":1,"n":1}`, `{"bidder":1,"n":1}`}, 2: {`{"bidder":2,"n":3}`}}, Idles(again)); diff != "" {
		t.Errorf("when it was silent (-want +got):\n%s", diff)
	}
}

// TestOutputsAreChecked: what is lost, comes twice or in another order is noticed.
func TestOutputsAreChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	want := told{1: {`{"k":"k1","n":1}`, `{"k":"k1","n":2}`}, 2: {`{"k":"k2","n":1}`}}
	for _, c := range []struct {
		text           string
		sound, ordered bool
	}{
		{"{\"k\":\"k1\",\"n\":1}\n{\"k\":\"k2\",\"n\":1}\n{\"k\":\"k1\",\"n\":2}\n", true, true},
		{"{\"k\":\"k1\",\"n\":2}\n{\"k\":\"k2\",\"n\":1}\n{\"k\":\"k1\",\"n\":1}\n", true, false},
		{"{\"k\":\"k1\",\"n\":1}\n{\"k\":\"k1\",\"n\":2}\n", false, false},
		{"{\"k\":\"k1\",\"n\":1}\n{\"k\":\"k2\",\"n\":1}\n{\"k\":\"k1\",\"n\":2}\n{\"k\":\"k1\",\"n\":2}\n", false, false},
		{"", false, false},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := (outputFile{"o", want, nil}).check(path); (err == nil) != c.sound {
			t.Errorf("%q as a set: %v", c.text, err)
		}
		if err := (outputFile{"o", want, fieldOf("k", `"k`)}).check(path); (err == nil) != c.ordered {
			t.Errorf("%q in order: %v", c.text, err)
		}
	}
}
