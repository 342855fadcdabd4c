package abi

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
)

func sums() *Manifest {
	fields := func(names ...string) *Schema {
		s := &Schema{}
		for _, n := range names {
			s.Fields = append(s.Fields, &Field{Name: n, Type: "BIGINT"})
		}
		return s
	}
	return &Manifest{AbiVersion: Version, Sdk: "none", Language: "none", Functions: []*Function{{
		Name: "sums", Role: RoleAggregate, Input: fields("v"), Accumulator: fields("n", "s"), Output: fields("n", "s"),
	}}}
}

func TestValidate(t *testing.T) {
	if err := sums().Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(m *Manifest, f *Function)
		want   string
	}{
		{"version", func(m *Manifest, _ *Function) { m.AbiVersion = 9 }, "ABI version 9, this host speaks 0"},
		{"no functions", func(m *Manifest, _ *Function) { m.Functions = nil }, "no functions"},
		{"too many functions", func(m *Manifest, f *Function) {
			for range FunctionsMax {
				m.Functions = append(m.Functions, f)
			}
		}, "the limit is 1024"},
		{"function twice", func(m *Manifest, f *Function) { m.Functions = append(m.Functions, f) }, `function "sums": "sums" is there twice`},
		{"no name", func(_ *Manifest, f *Function) { f.Name = "" }, "function 0: has no name"},
		{"odd name", func(_ *Manifest, f *Function) { f.Name = "a.b" }, `"a.b" is not a name`},
		{"long name", func(_ *Manifest, f *Function) { f.Name = strings.Repeat("x", 256) }, "256 bytes"},
		{"role with a slip", func(_ *Manifest, f *Function) { f.Role = "agregate" }, `role "agregate" is unknown; did you mean "aggregate"?`},
		{"role unlike any", func(_ *Manifest, f *Function) { f.Role = "xyz" }, "there are map, filter"},
		{"percent in a name", func(_ *Manifest, f *Function) { f.Name = "a%d" }, `"a%d" is not a name`},
		{"no input", func(_ *Manifest, f *Function) { f.Input = nil }, "needs its input's fields"},
		{"any accumulator", func(_ *Manifest, f *Function) { f.Accumulator = &Schema{Any: true} }, "not any"},
		{"no output", func(_ *Manifest, f *Function) { f.Output = &Schema{} }, "needs its output's fields"},
		{"any and fields", func(_ *Manifest, f *Function) { f.Input.Any = true }, "input: both any and fields"},
		{"field twice", func(_ *Manifest, f *Function) { f.Output.Fields[1].Name = "n" }, `output: field "n" is there twice`},
		{"field without type", func(_ *Manifest, f *Function) { f.Output.Fields[1].Type = "" }, `output: field "s" has no type`},
		{"output called failed", func(_ *Manifest, f *Function) { f.NamedOutputs = []*NamedOutput{{Name: "failed"}} }, `"failed" is there twice`},
		{"parameter twice", func(_ *Manifest, f *Function) {
			f.Parameters = []*Parameter{{Name: "p", Type: "INT"}, {Name: "p", Type: "INT"}}
		}, `parameter "p" is there twice`},
		{"parameter without type", func(_ *Manifest, f *Function) { f.Parameters = []*Parameter{{Name: "p"}} }, `parameter "p" has no type`},
		{"state of no kind", func(_ *Manifest, f *Function) { f.States = []*State{{Name: "s", Kind: "heap"}} }, `state "s": kind "heap" is unknown; there are value, list, map`},
		{"state with a slip", func(_ *Manifest, f *Function) { f.States = []*State{{Name: "s", Kind: "valeu"}} }, `state "s": kind "valeu" is unknown; did you mean "value"?`},
		{"scope with a slip", func(_ *Manifest, f *Function) { f.States = []*State{{Name: "s", Kind: "map", Scope: "broad"}} }, `state "s": scope "broad" is unknown; there are key, window, broadcast`},
		{"update with a slip", func(_ *Manifest, f *Function) { f.States = []*State{{Name: "s", Kind: "map", TtlUpdate: "writes"}} }, `state "s": ttlUpdate "writes" is unknown; did you mean "write"?`},
		{"broadcast that forgets", func(_ *Manifest, f *Function) {
			f.States = []*State{{Name: "s", Kind: "map", Scope: ScopeBroadcast, Ttl: "1h", Key: f.Input, Value: f.Input}}
		}, `state "s": broadcast state has no ttl`},
		{"map without key", func(_ *Manifest, f *Function) { f.States = []*State{{Name: "s", Kind: "map", Value: f.Input}} }, "has a key"},
	} {
		m := sums()
		c.change(m, m.Functions[0])
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
	// All that is wrong is said at once.
	m := sums()
	m.AbiVersion, m.Functions[0].Name, m.Functions[0].Output = 9, "", nil
	if err := m.Validate(); strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("want three problems in %v", err)
	}
}

const emptyModule = wasmMagic + "\x01\x04\x01\x60\x00\x00" + "\x00\x05\x04note"

func TestPack(t *testing.T) {
	once, err := Pack([]byte(emptyModule), sums())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(once, []byte(emptyModule)) {
		t.Error("what was there before has moved")
	}
	got, err := FindManifest(once)
	if err != nil || !proto.Equal(got, sums()) {
		t.Errorf("got %v, %v", got, err)
	}
	other := sums()
	other.Language = "another"
	twice, err := Pack(once, other)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := FindManifest(twice); err != nil || got.Language != "another" {
		t.Errorf("got %v, %v", got, err)
	}
	if again, err := Pack(twice, sums()); err != nil || !bytes.Equal(again, once) {
		t.Errorf("packing anew is not as packing at once: %v", err)
	}
}

func TestPackRefuses(t *testing.T) {
	for _, c := range []struct{ name, wasm, want string }{
		{"nothing", "", "not a WebAssembly module"},
		{"component", "\x00asm\x0d\x00\x01\x00", "not a WebAssembly module"},
		{"id only", wasmMagic + "\x00", "section at byte 8 ends beyond"},
		{"cut", emptyModule[:len(emptyModule)-1], "section at byte 14 ends beyond"},
		{"size of 2^35", wasmMagic + "\x01\xff\xff\xff\xff\x7f", "section at byte 8 ends beyond"},
		{"size without end", wasmMagic + "\x01\x80\x80\x80\x80\x80\x80", "section at byte 8 ends beyond"},
		{"name beyond its section", wasmMagic + "\x00\x02\x05a", "name of the custom section at byte 8"},
	} {
		if _, err := Pack([]byte(c.wasm), sums()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
	if _, err := Pack([]byte(emptyModule), &Manifest{}); err == nil || !strings.Contains(err.Error(), "no functions") {
		t.Errorf("a manifest that is not valid was packed: %v", err)
	}
	if _, err := FindManifest([]byte(emptyModule)); err != ErrNoManifest {
		t.Errorf("got %v", err)
	}
}

func TestParseManifestLimits(t *testing.T) {
	if _, err := ParseManifest(make([]byte, ManifestBytesMax+1)); err == nil || !strings.Contains(err.Error(), "the limit is") {
		t.Errorf("got %v", err)
	}
	for name, section := range map[string]string{
		"functions": strings.Repeat("\x2a\x0b\x0a\x01f\x12\x06filter", FunctionsMax+1), "empty functions": strings.Repeat("\x2a\x00", 100),
		"empty fields": "\x2a\xcb\x01\x1a\xc8\x01" + strings.Repeat("\x0a\x00", 100),
	} {
		if _, err := ParseManifest([]byte(section)); err == nil || !strings.Contains(err.Error(), "the limits are 1024 and") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	m, err := ParseManifest([]byte(strings.Repeat("\x2a\x0b\x0a\x01f\x12\x06filter", FunctionsMax)))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Validate(); err == nil || len(err.Error()) > 2000 {
		t.Errorf("what is wrong with it is not told in few words: %.5000v", err)
	}
	if _, err := ParseManifestJSON([]byte(`{"functoins": []}`)); err == nil || !strings.Contains(err.Error(), "functoins") {
		t.Errorf("got %v", err)
	}
}

// FuzzManifest holds promise A for modules and manifests: an error or a manifest that can be validated and packed again.
func FuzzManifest(f *testing.F) {
	content, err := proto.Marshal(sums())
	if err != nil {
		f.Fatal(err)
	}
	packed, err := Pack([]byte(emptyModule), sums())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add(packed)
	f.Add([]byte(emptyModule))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := ParseManifest(b); err == nil && m.Validate() == nil {
			again, err := Pack([]byte(emptyModule), m)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := FindManifest(again); err != nil || !proto.Equal(got, m) {
				t.Fatalf("not the same when packed: %v", err)
			}
		}
		if m, err := FindManifest(b); err == nil {
			_ = m.Validate()
		}
	})
}

// TestManifestOfThePage: the manifest that README.md shows is one.
func TestManifestOfThePage(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```json\n")
	text, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("README.md shows no manifest")
	}
	m, err := ParseManifestJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
}
