package scenario

import (
	"math"
	"testing"
)

// TestJavaFloats has what Java 19 and later print; older ones print some numbers
// with a digit too many (JDK-4511638).
func TestJavaFloats(t *testing.T) {
	for _, c := range []struct {
		v    float64
		bits int
		want string
	}{
		{0, 64, "0.0"}, {math.Copysign(0, -1), 64, "-0.0"}, {9, 64, "9.0"}, {-7.75, 64, "-7.75"},
		{1e7, 64, "1.0E7"}, {9999999, 64, "9999999.0"}, {123456789.5, 64, "1.234567895E8"},
		{1e-3, 64, "0.001"}, {0.00099, 64, "9.9E-4"}, {-1e-5, 64, "-1.0E-5"},
		{math.MaxFloat64, 64, "1.7976931348623157E308"},
		{float64(float32(0.1)), 32, "0.1"}, {float64(float32(3e10)), 32, "3.0E10"},
	} {
		if got := string(appendJavaFloat(nil, c.v, c.bits)); got != c.want {
			t.Errorf("%v: got %s, want %s", c.v, got, c.want)
		}
	}
}

func TestSpellFloats(t *testing.T) {
	const object = `{"a\",1":1,"b":[1,{"c":2}],"c":2,"d":"3,\\","e":-1e+20,"f":null}`
	const want = `{"a\",1":1.0,"b":[1,{"c":2}],"c":2,"d":"3,\\","e":-1.0E20,"f":null}`
	if got := string(spellFloats(nil, []byte(object), []int{64, 64, 0, 64, 64, 64})); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
