package main

import (
	"io"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	for name, c := range map[string]struct {
		arguments []string
		want      string
	}{
		"no command":      {[]string{"-releases", "4.4"}, "which command"},
		"unknown release": {[]string{"-releases", "4.4,4", "--", "true"}, `no release is called "4"; there are 4.4,4.4-tv1,4.4-tv0,3.9`},
	} {
		t.Run(name, func(t *testing.T) {
			code, err := run(t.Context(), c.arguments, io.Discard)
			if code != 2 || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("exit code %d, %v; want 2 and %q", code, err, c.want)
			}
		})
	}
}

// TestCommand runs a command without any broker.
func TestCommand(t *testing.T) {
	for _, c := range []struct {
		command []string
		want    int
	}{
		{[]string{"go", "version"}, 0},
		{[]string{"go", "no-such-command"}, 2},
		{[]string{"no-such-program-anywhere"}, 1},
	} {
		if code, _ := with(t.Context(), nil, c.command, io.Discard); code != c.want {
			t.Errorf("%q ends with %d, not %d", c.command, code, c.want)
		}
	}
}
