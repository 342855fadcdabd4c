package abi

import "testing"

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		OpAdd.String(): "add", OpKind(99).String(): "unknown(99)", OpKind(0).String(): "unknown(0)",
		EffectSetSlot.String(): "set-slot", EffectKind(1 << 31).String(): "unknown(2147483648)", FaultTooLarge.String(): "too-large",
		(&Fault{Kind: FaultTrap, Op: 3, Detail: "x"}).Error():  "guest fault trap at op 3: x",
		(&Fault{Kind: FaultTrap, Op: -1, Detail: "x"}).Error(): "guest fault trap: x",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if EffectKind(0).Known() || EffectKind(1<<31).Known() || !EffectEmit.Known() {
		t.Error("Known")
	}
}

func TestNearest(t *testing.T) {
	for word, want := range map[string]string{"agregate": "aggregate", "Map": "map", "triger": "trigger", "flatmap": "flat-map", "": "", "window": ""} {
		if got := nearest(word, Roles); got != want {
			t.Errorf("nearest to %q: got %q, want %q", word, got, want)
		}
	}
}
