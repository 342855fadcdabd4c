package runtime

import "testing"

// TestFaultRate: more than the share of the last 10,000 records, and at least 100.
func TestFaultRate(t *testing.T) {
	for _, c := range []struct {
		name   string
		share  float64
		first  int // records without faults before
		every  int // then each so many-th fails
		failed int // at which fault it is too many; 0: never within 100,000 records
	}{
		{"all, from the start", 0.1, 0, 1, 100},
		{"all, after many sound ones", 0.1, 50_000, 1, 1001},
		{"one of 10", 0.1, 0, 10, 0},
		{"one of 9", 0.1, 0, 9, 100},
		{"one of 9, after many", 0.1, 50_000, 9, 1001},
		{"one of 11", 0.1, 0, 11, 0},
		{"all, and all may", 1, 0, 1, 0},
		{"none may, and few do", 0, 0, 1000, 0},
	} {
		r := faultRate{share: c.share}
		r.seen(c.first)
		faults, failed := 0, 0
		for i := 1; i <= 100_000 && failed == 0; i++ {
			r.seen(1)
			if i%c.every != 0 {
				continue
			}
			if faults++; r.fault(1) {
				failed = faults
			}
		}
		// What is older than the last records is forgotten in buckets of 100.
		if failed < c.failed || failed > c.failed+c.failed/100 {
			t.Errorf("%s: too many at fault %d, want %d", c.name, failed, c.failed)
		}
	}
}

// TestFaultRateOfCalls: a record in 50 that fails in all of its 40 windows is one fault in
// 50 calls, and where all faults are let pass more of them than records are, too.
func TestFaultRateOfCalls(t *testing.T) {
	r, all := faultRate{share: 0.1}, faultRate{share: 1}
	for record := range 20_000 {
		r.seen(1)
		all.seen(1)
		for range 40 {
			if record%50 == 49 {
				r.asked(int64(record) * 40)
				if r.fault(1) {
					t.Fatalf("too many at record %d", record)
				}
			}
			if all.fault(1) {
				t.Fatalf("too many at record %d, and all may fail", record)
			}
		}
	}
}

// TestFaultRateForgets: faults that are long ago do not count, whatever steps records
// are counted in.
func TestFaultRateForgets(t *testing.T) {
	for _, step := range []int{1, 7, 100, 2048, 30_000} {
		r := faultRate{share: 0.1}
		for range 5000 / min(step, 5000) {
			r.seen(step)
		}
		for range 400 {
			r.fault(1)
		}
		for range 12_000/step + 2 {
			r.seen(step)
		}
		if r.faults != 0 {
			t.Errorf("in steps of %d: %d faults are left", step, r.faults)
		}
	}
}
