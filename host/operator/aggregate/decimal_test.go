package aggregate

import (
	"bufio"
	"fmt"
	"math/big"
	"os"
	"testing"
)

func (a int128) big() *big.Int {
	v := new(big.Int).Lsh(big.NewInt(a.hi), 64)
	return v.Add(v, new(big.Int).SetUint64(a.lo))
}

func int128Of(v *big.Int) int128 {
	m := new(big.Int).Abs(v)
	a := int128{lo: new(big.Int).And(m, new(big.Int).SetUint64(1<<64-1)).Uint64(), hi: m.Rsh(m, 64).Int64()}
	if v.Sign() < 0 {
		return a.negated()
	}
	return a
}

// TestAverageAsFlink: what Flink's own division gives (testdata/Averages.java).
func TestAverageAsFlink(t *testing.T) {
	file, err := os.Open("testdata/averages.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := 0
	for s := bufio.NewScanner(file); s.Scan(); lines++ {
		var scale int
		var sum, n, want string
		if _, err := fmt.Sscan(s.Text(), &scale, &sum, &n, &want); err != nil {
			t.Fatalf("%q: %v", s.Text(), err)
		}
		v, ok := new(big.Int).SetString(sum, 10)
		d, ok2 := new(big.Int).SetString(n, 10)
		if !ok || !ok2 {
			t.Fatalf("%q", s.Text())
		}
		got := "NULL"
		if q, ok := average(int128Of(v), d.Uint64(), averageScale(scale)-scale); ok {
			got = q.big().String()
		}
		if got != want {
			t.Errorf("%s / %s, scale %d: got %s, want %s", sum, n, scale, got, want)
		}
	}
	if lines < 400 {
		t.Errorf("only %d lines", lines)
	}
}
