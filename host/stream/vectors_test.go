package stream

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/internal/needs"
)

const vectorsDir = "../../testdata/rows"

// vector is a line of testdata/rows/vectors.jsonl; its README tells the fields.
type vector struct {
	By         string
	Schema     string
	Kind       string
	Values     []any
	Row        string
	Hash       int32
	Group128   KeyGroup
	Group32768 KeyGroup

	line   int
	schema *Schema
	values []any
	bytes  []byte
}

func readVectors(t testing.TB) []vector {
	t.Helper()
	file, err := os.Open(filepath.Join(vectorsDir, "vectors.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var vectors []vector
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		v := vector{line: len(vectors) + 1}
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("line %d: %v", v.line, err)
		}
		if err := v.resolve(); err != nil {
			t.Fatalf("line %d: %v", v.line, err)
		}
		vectors = append(vectors, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return vectors
}

func (v *vector) resolve() error {
	row, err := ParseType(v.Schema)
	if err != nil {
		return err
	}
	if v.schema, err = NewSchema(row.Fields...); err != nil {
		return err
	}
	if v.bytes, err = hex.DecodeString(v.Row); err != nil {
		return err
	}
	values, err := fromList(row, v.Values)
	if err != nil {
		return err
	}
	v.values = values.([]any)
	return nil
}

// Flink's classes and this package must agree on every byte, hash and key group
// (invariants R and K).
func TestVectors(t *testing.T) {
	vectors := readVectors(t)
	if len(vectors) < 500 {
		t.Fatalf("%d vectors only", len(vectors))
	}
	for _, v := range vectors {
		kind, ok := ParseChangeKind(v.Kind)
		if !ok {
			t.Fatalf("line %d: kind %q", v.line, v.Kind)
		}
		if v.By == "writer" {
			if got := rowBytes(v.schema, kind, v.values); !bytes.Equal(got, v.bytes) {
				t.Errorf("line %d: %s %s\n got %x\nwant %x", v.line, v.schema, render(v.values), got, v.bytes)
			}
		}
		row := Row(v.bytes)
		if got := rowValues(v.schema, row); render(got) != render(v.values) {
			t.Errorf("line %d: read %s, want %s", v.line, render(got), render(v.values))
		}
		if err := CheckRow(v.schema, row); err != nil {
			t.Errorf("line %d: %v", v.line, err)
		}
		if row.Change() != kind {
			t.Errorf("line %d: kind %s, want %s", v.line, row.Change(), kind)
		}
		if got := row.Hash(); got != uint32(v.Hash) {
			t.Errorf("line %d: hash %d, want %d", v.line, int32(got), v.Hash)
		}
		if a, b := KeyGroupOf(row.Hash(), 128), KeyGroupOf(row.Hash(), 1<<15); a != v.Group128 || b != v.Group32768 {
			t.Errorf("line %d: key groups %d and %d, want %d and %d", v.line, a, b, v.Group128, v.Group32768)
		}
		if got := (Type{Kind: RowType, Fields: v.schema.Fields()}).String(); got != v.Schema {
			t.Errorf("line %d: schema %s, want %s", v.line, got, v.Schema)
		}
	}
}

// The committed vectors are what the generator writes.
func TestVectorsAreCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a Java program")
	}
	needs.Tool(t, "bash", "java", "mvn")
	file := filepath.Join(t.TempDir(), "vectors.jsonl")
	if out, err := exec.Command("bash", filepath.Join(vectorsDir, "..", "generate"), "rows", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(vectorsDir, "vectors.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("testdata/generate gives other vectors:\n%s", cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")))
	}
}
