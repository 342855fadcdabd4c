package needs

import (
	"fmt"
	"strings"
	"testing"
)

// recorder stands in for a test; only what Tool calls is there.
type recorder struct {
	testing.TB
	failed, skipped string
}

func (r *recorder) Helper()                        {}
func (r *recorder) Name() string                   { return "TestOfSomething" }
func (r *recorder) Fatalf(format string, a ...any) { r.failed = fmt.Sprintf(format, a...) }
func (r *recorder) Skipf(format string, a ...any)  { r.skipped = fmt.Sprintf(format, a...) }

func TestTool(t *testing.T) {
	const absent = "no-such-program-anywhere"
	for _, required := range []string{"", "1"} {
		t.Setenv(RequireVariable, required)
		var r recorder
		if Tool(&r, "go"); r.failed != "" || r.skipped != "" {
			t.Errorf("%q: a program that is there: %q, %q", required, r.failed, r.skipped)
		}
		if required == "1" {
			if Tool(&r, "go", absent); !strings.Contains(r.failed, absent) {
				t.Errorf("a required program that is absent: failed %q, skipped %q", r.failed, r.skipped)
			}
		}
	}
	t.Setenv(RequireVariable, "")
	t.Run("skips", func(t *testing.T) {
		var r recorder
		if Tool(&r, absent); !strings.Contains(r.skipped, absent) || r.failed != "" {
			t.Errorf("an absent program: failed %q, skipped %q", r.failed, r.skipped)
		}
	})
}
