package conformance_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/internal/needs"
)

// The host on the JVM plays all vectors on the same modules, and finds one that is wrong.
func TestJVM(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a Java program")
	}
	needs.Tool(t, "java", "mvn")
	out := t.TempDir()
	build := exec.Command("mvn", "-q", "-B", "package", "-Dout="+out)
	build.Dir = "../../flink/abi-host"
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	files, err := filepath.Glob("../../abi/next/vectors/*.json")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	play := func(files ...string) (string, error) {
		path := filepath.Join(out, "abi-host.jar") + string(os.PathListSeparator) + filepath.Join(out, "lib", "*")
		said, err := exec.Command("java", append([]string{"-cp", path, "org.wasmstream.abi.Vectors", wasmDir}, files...)...).CombinedOutput()
		return string(said), err
	}
	said, err := play(files...)
	if err != nil || !strings.HasSuffix(said, " vectors, 0 failed\n") {
		t.Errorf("%v\n%.4000s", err, said)
	}
	text, err := os.ReadFile("../../abi/next/vectors/delays.json")
	if err != nil {
		t.Fatal(err)
	}
	const max7 = "0700000000000000" // a maximum of 7, at the end of a result
	altered := bytes.Replace(text, []byte(max7+"\""), []byte("0800000000000000\""), 1)
	path := filepath.Join(out, "altered.json")
	if err := os.WriteFile(path, altered, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err = play(path)
	if err == nil || !strings.Contains(said, "FAILED  delays-go: one flight: frame 1: got ") || strings.HasSuffix(said, ", 0 failed\n") {
		t.Errorf("with an altered result: %v\n%.4000s", err, said)
	}
}
