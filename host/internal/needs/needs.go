// Package needs lets tests say which programs they cannot do without. A test
// whose program is absent is skipped, loudly; where everything was installed,
// as on the build machines, such a skip is a failure.
package needs

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// RequireVariable is the environment variable that makes an absent program a
// failure when it is 1.
const RequireVariable = "WASMSTREAM_REQUIRE_TOOLS"

// Tool skips the test unless all the programs are on the PATH; it fails the
// test instead if RequireVariable is set.
func Tool(t testing.TB, programs ...string) {
	t.Helper()
	var absent []string
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			absent = append(absent, p)
		}
	}
	if len(absent) == 0 {
		return
	}
	names := strings.Join(absent, ", ")
	if os.Getenv(RequireVariable) == "1" {
		t.Fatalf("not on the PATH: %s; %s=1 makes that a failure", names, RequireVariable)
	}
	warn(t.Name(), names)
	t.Skipf("SKIPPED: not on the PATH: %s", names)
}

// warn speaks past `go test`, which hides what a skipped test says. A test
// binary's own output is hidden too when its package passes, hence the terminal.
func warn(test, names string) {
	terminal, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		terminal = os.Stderr
	} else {
		defer terminal.Close()
	}
	_, _ = terminal.WriteString("NOT RUN: " + test + ": not on the PATH: " + names + "\n")
}
