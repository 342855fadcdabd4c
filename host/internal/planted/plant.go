package planted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Tree is the engine's sources, and where the patched files go.
type Tree struct {
	Root string // absolute
	Temp string
}

// Plant returns the overlay, for Go, with a bug in it.
func (t Tree) Plant(b *Bug) (overlay string, err error) {
	files, err := b.Apply(t.Root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range files {
		patched := filepath.Join(t.Temp, b.Name, path)
		if err := os.MkdirAll(filepath.Dir(patched), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(patched, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(t.Root, path)] = patched
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(t.Temp, b.Name, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o644)
}

// Build says why the packages that a bug changes do not build with it.
func (t Tree) Build(ctx context.Context, b *Bug) error {
	overlay, err := t.Plant(b)
	if err != nil {
		return err
	}
	var packages []string
	for _, e := range b.edits {
		packages = append(packages, "./"+filepath.ToSlash(filepath.Dir(e.path)))
	}
	slices.Sort(packages)
	out, err := t.run(ctx, overlay, append([]string{"build"}, slices.Compact(packages)...)...)
	if err != nil {
		return fmt.Errorf("%s does not build: %w\n%s", b.Name, err, out)
	}
	return nil
}

// Caught says why a bug is not caught by its test; nil if it is. It returns how long the test took, with the bug.
func (t Tree) Caught(ctx context.Context, b *Bug) (time.Duration, error) {
	overlay, err := t.Plant(b)
	if err != nil {
		return 0, err
	}
	name, _, _ := strings.Cut(b.Test, "/")
	sound, err := t.test(ctx, b, "")
	if err != nil || !strings.Contains(sound, "--- PASS: "+name+" ") {
		return 0, fmt.Errorf("%s: without the bug %s does not pass (%v)\n%s", b.Name, b.Test, err, sound)
	}
	out, err := t.test(ctx, b, overlay)
	seconds := regexp.MustCompile(`--- FAIL: ` + regexp.QuoteMeta(name) + ` \((.*?)\)`).FindStringSubmatch(out)
	switch {
	case err == nil:
		return 0, fmt.Errorf("%s: %s does not catch it: %s", b.Name, b.Test, b.What)
	case seconds == nil:
		return 0, fmt.Errorf("%s: it is not the test %s that fails (%w)\n%s", b.Name, b.Test, err, out)
	default:
		return time.ParseDuration(seconds[1])
	}
}

// test runs the bug's test, with the overlay if there is one.
func (t Tree) test(ctx context.Context, b *Bug, overlay string) (string, error) {
	parts := strings.Split(b.Test, "/")
	for i := range parts {
		parts[i] = "^" + parts[i] + "$"
	}
	return t.run(ctx, overlay, "test", "-v", "-timeout", "10m", "-run", strings.Join(parts, "/"), b.Package)
}

// run runs the go command in the tree. The overlay goes by the environment, so that tests that build the engine have
// it too.
func (t Tree) run(ctx context.Context, overlay string, arguments ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", arguments...)
	c.Dir = t.Root
	c.Env = os.Environ()
	if overlay != "" {
		c.Env = append(c.Env, strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	out, err := c.CombinedOutput()
	return string(out), err
}

// Exists says whether the bug's package has its test.
func (t Tree) Exists(b *Bug) error {
	paths, err := filepath.Glob(filepath.Join(t.Root, b.Package, "*_test.go"))
	name, _, _ := strings.Cut(b.Test, "/")
	for _, path := range paths {
		text, readErr := os.ReadFile(path)
		err = errors.Join(err, readErr)
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T) {") {
			return err
		}
	}
	return errors.Join(err, fmt.Errorf("%s: %s has no test %s", b.Name, b.Package, name))
}
