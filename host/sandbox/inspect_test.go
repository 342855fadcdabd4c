package sandbox

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/wasmstream/wasmstream/abi"
)

func TestInspectShowsAModule(t *testing.T) {
	b := guestThat(nil, nil, abi.ImportLog, "proc_exit")
	b.pages, b.table = []uint32{2, 9}, []uint32{5, 5}
	b.custom = append(b.custom, customContent{"producers", "x"})
	info, err := Inspect(b.bytes(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if info.MemoryPagesMin != 2 || info.MemoryPagesMax != 9 || info.TableElements != 5 || info.Functions != 3 || info.Bytes != len(b.bytes()) {
		t.Errorf("sizes: %+v", info)
	}
	if want := (Import{"wasmstream", "log", "(i32, i32, i32) -> ()"}); info.Imports[0] != want || len(info.Imports) != 2 {
		t.Errorf("imports: %v", info.Imports)
	}
	if want := (Export{"wasmstream_call", "function", "(i32, i32, i32) -> (i64)"}); info.Exports[2] != want {
		t.Errorf("exports: %v", info.Exports)
	}
	if want := (Export{"memory", "memory", ""}); info.Exports[3] != want {
		t.Errorf("exports: %v", info.Exports)
	}
	if len(info.Custom) != 2 || info.Custom[1].Name != "producers" || info.Custom[1].Bytes != 1 {
		t.Errorf("custom sections: %v", info.Custom)
	}
	if info.Manifest.GetFunctions()[0].GetName() != "count" || info.ABIVersions[0] != "0" {
		t.Errorf("manifest: %v, versions %v", info.Manifest, info.ABIVersions)
	}
}

// raw is a module of sections given as bytes.
func raw(sections ...[]byte) []byte {
	return append(append([]byte(nil), wasmHeader...), bytes.Join(sections, nil)...)
}

func edited(edit func(*builder)) []byte {
	b := goodModule()
	edit(&b)
	return b.bytes()
}

var refusals = []struct {
	name   string
	wasm   []byte
	kind   Refusal
	reason string // a part of it
}{
	{"empty", nil, RefusedNotWasm, "begins with nothing"},
	{"text", []byte("#!/bin/sh\n"), RefusedNotWasm, `23 21 2f 62 69 6e 2f 73 ("#!/bin/s")`},
	{"short", wasmHeader[:6], RefusedTruncated, "header"},
	{"component", []byte("\x00asm\x0d\x00\x01\x00"), RefusedNotWasm, "this is a component"},
	{"too large", append(goodModule().bytes(), make([]byte, 16<<20)...), RefusedTooLarge, "the limit is 16777216"},
	{"no sections", raw(), RefusedABI, "does not export wasmstream_abi_0"},
	{"section past the end", raw([]byte{1, 100, 0}), RefusedTruncated, "section 1 claims 100 bytes, and 1 remain"},
	{"unknown section", raw([]byte{14, 0}), RefusedMalformed, "section 14 is unknown"},
	{"out of order", raw(section(3, uleb(0)), section(1, uleb(0))), RefusedMalformed, "out of order"},
	{"twice", raw(section(1, uleb(0)), section(1, uleb(0))), RefusedMalformed, "there twice"},
	{"rest in section", raw(section(1, []byte{0, 0})), RefusedMalformed, "1 bytes more"},
	{"long number", raw([]byte{1, 0x80, 0x80, 0x80, 0x80, 0x80, 0}), RefusedMalformed, "more than 32 bits"},
	{"big number", raw([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x1f}), RefusedMalformed, "more than 32 bits"},
	{"tag", edited(func(b *builder) { b.extra = map[byte][]byte{sectionTag: {0}} }), RefusedFeature, "exceptions"},
	{"vector type", raw(section(1, []byte{1, 0x60, 1, 0x7b, 0})), RefusedFeature, "SIMD"},
	{"reference type", raw(section(1, []byte{1, 0x60, 0, 1, 0x6f})), RefusedFeature, "reference"},
	{"struct type", raw(section(1, []byte{1, 0x5f, 0, 0})), RefusedFeature, "form 0x5f"},
	{"missing type", raw(section(1, uleb(0)), section(3, []byte{1, 0})), RefusedMalformed, "type 0 is used, and there are 0"},

	{"unknown import", edited(func(b *builder) { b.imports = []buildImport{{"wasmstream", "lag", signature{"iii", ""}}} }),
		RefusedImport, `"wasmstream"."lag", which this host does not give; the nearest that it gives is wasmstream.log`},
	{"import of a module with a slip", edited(func(b *builder) {
		b.imports = []buildImport{{"wasi_snapshot_preveiw1", "fd_write", signature{"", ""}}}
	}), RefusedImport, "the nearest that it gives is wasi_snapshot_preview1.fd_write"},
	{"import of sockets", edited(func(b *builder) { b.imports = []buildImport{{moduleWASI, "sock_accept", signature{"iii", "i"}}} }),
		RefusedImport, "no files, sockets"},
	{"import of env", edited(func(b *builder) { b.imports = []buildImport{{"env", "__indirect", signature{"", ""}}} }),
		RefusedImport, "allowed are wasmstream.log"},
	{"import signature", edited(func(b *builder) { b.imports = []buildImport{{"wasmstream", "log", signature{"iiI", ""}}} }),
		RefusedImport, "as (i32, i32, i64) -> (); its signature is (i32, i32, i32) -> ()"},
	{"imported memory", raw(section(2, code(1, text("env"), text("memory"), 2, 0, 1))), RefusedImport, `imports memory "env"."memory"`},

	{"no memory", edited(func(b *builder) { b.pages, b.exports = nil, nil }), RefusedExport, "it has no memory"},
	{"memory not exported", edited(func(b *builder) { b.exports[0].name = "mem" }), RefusedExport, `export it as "memory" (the nearest that it exports is "mem"`},
	{"memory is a function", edited(func(b *builder) { b.exports[0].kind = 0 }), RefusedExport, "as a function"},
	{"no in", edited(func(b *builder) { b.funcs[1].export = "wasmstream_inn" }), RefusedExport,
		`does not export the function wasmstream_in (i32) -> (i32) (the nearest that it exports is "wasmstream_inn"`},
	{"no call", edited(func(b *builder) { b.funcs = b.funcs[:2] }), RefusedExport, "does not export the function wasmstream_call"},
	{"signature of call", edited(func(b *builder) { b.funcs[2].signature.results = "i" }), RefusedExport, "(i32, i32, i32) -> (i64)"},
	{"call is a memory", edited(func(b *builder) {
		b.funcs[2].export = ""
		b.exports = append(b.exports, buildExport{abi.ExportCall, 2, 0})
	}), RefusedExport, "as a memory"},
	{"signature of describe", edited(func(b *builder) { b.funcs = append(b.funcs, buildFunc{export: abi.ExportDescribe}) }),
		RefusedExport, "wasmstream_describe as () -> ()"},
	{"no marker", edited(func(b *builder) { b.funcs[0].export = "wasmstream_abi" }), RefusedABI, "nearest that it exports is"},
	{"other version", edited(func(b *builder) { b.funcs[0].export = "wasmstream_abi_7" }), RefusedABI, `speaks version "7" of the ABI, and this host takes version 0`},
	{"start", edited(func(b *builder) { b.extra = map[byte][]byte{sectionStart: {0}} }), RefusedStart, "_initialize"},

	{"no manifest", edited(func(b *builder) { b.custom = nil }), RefusedManifest, "run `wasmstream module pack`"},
	{"two manifests", edited(func(b *builder) { b.custom = append(b.custom, b.custom[0]) }), RefusedManifest, "two sections"},
	{"broken manifest", edited(func(b *builder) { b.custom[0].content = "\xff\xff" }), RefusedManifest, "broken"},
	{"large manifest", edited(func(b *builder) { b.custom[0].content = strings.Repeat("x", abi.ManifestBytesMax+1) }), RefusedManifest, "limit"},

	{"memory over limit", edited(func(b *builder) { b.pages = []uint32{1025} }), RefusedMemory, "1025 pages of memory (65600 KiB); the limit is 1024"},
	{"two memories", edited(func(b *builder) { b.extra = map[byte][]byte{sectionMemory: {2, 0, 1, 0, 1}} }), RefusedMemory, "2 memories"},
	{"memory of 64 bits", edited(func(b *builder) { b.extra = map[byte][]byte{sectionMemory: {1, 4, 1}} }), RefusedFeature, "64-bit"},
	{"shared memory", edited(func(b *builder) { b.extra = map[byte][]byte{sectionMemory: {1, 3, 1, 2}} }), RefusedFeature, "shared"},
	{"memory limits crossed", edited(func(b *builder) { b.pages = []uint32{2, 1} }), RefusedMalformed, "under its least"},
	{"memory past 4 GiB", edited(func(b *builder) { b.pages = []uint32{1, 65537} }), RefusedMalformed, "65537 pages"},
	{"table over limit", edited(func(b *builder) { b.table = []uint32{16385} }), RefusedTable, "16385 entries; the limit is 16384"},
	{"two tables", edited(func(b *builder) { b.extra = map[byte][]byte{sectionTable: {2, 0x70, 0, 1, 0x70, 0, 1}} }), RefusedTable, "2 tables"},
	{"table of references", edited(func(b *builder) { b.extra = map[byte][]byte{sectionTable: {1, 0x6f, 0, 1}} }), RefusedFeature, "only functions"},
	{"table with initializer", edited(func(b *builder) { b.extra = map[byte][]byte{sectionTable: {1, 0x40, 0, 0x70, 0, 1, 0xd0, 0x70, 0x0b}} }), RefusedFeature, "0x40"},
	{"elements for table 1", edited(func(b *builder) {
		b.table, b.extra = []uint32{1}, map[byte][]byte{sectionElement: code(1, 2, 1, i32(0), opEnd, 0, 0)}
	}), RefusedTable, "table 1"},

	{"elements without a place", edited(func(b *builder) {
		b.table, b.extra = []uint32{1}, map[byte][]byte{sectionElement: {1, 1, 0, 1, 0}}
	}), RefusedFeature, "not for a place in the table"},

	{"global of 128 bits", edited(func(b *builder) { b.extra = map[byte][]byte{sectionGlobal: {1, 0x7b, 0, 0x0b}} }), RefusedFeature, "SIMD"},
	{"arithmetic in a constant", edited(func(b *builder) {
		b.extra = map[byte][]byte{sectionGlobal: code(1, 0x7f, 0, i32(1), i32(1), 0x6a, opEnd)}
	}),
		RefusedFeature, "0x6a"},
	{"locals", edited(func(b *builder) { b.funcs[0].locals = 50_001 }), RefusedLimit, "50001 locals"},
	{"functions", edited(func(b *builder) { b.funcs = append(b.funcs, make([]buildFunc, 10_000)...) }), RefusedLimit, "types"},
	{"code without end", edited(func(b *builder) {
		b.extra = map[byte][]byte{sectionCode: {3, 3, 0, 1, 1, 2, 0, 0x0b, 2, 0, 0x0b}}
	}), RefusedMalformed, "end"},
	{"fewer bodies", edited(func(b *builder) { b.extra = map[byte][]byte{sectionCode: {1, 2, 0, 0x0b}} }), RefusedMalformed, "has the code of 1"},
	{"data count", edited(func(b *builder) { b.extra = map[byte][]byte{sectionDataCount: {1}} }), RefusedMalformed, "announces 1 data segments"},
	{"names past the end", edited(func(b *builder) { b.custom = append(b.custom, customContent{"name", "\x01\x05\xff\xff\xff\xff\x0f"}) }),
		RefusedTruncated, "names"},
	{"long name", edited(func(b *builder) {
		b.custom = append(b.custom, names(map[uint32]string{0: strings.Repeat("x", 65_537)}))
	}),
		RefusedLimit, "the name of a function or local takes 65537 bytes; the limit is 65536"},
	{"killer: empty functions", manifestOf(strings.Repeat("\x2a\x00", 100_000)), RefusedManifest, "100000 functions"},
	{"killer: empty fields", manifestOf("\x2a\xc4\x9a\x0c\x1a\xc0\x9a\x0c" + strings.Repeat("\x0a\x00", 100_000)), RefusedManifest, "100002 parts"},
	{"killer: wrong functions", manifestOf(strings.Repeat("\x2a\x03\x12\x01a", 30)), RefusedManifest, "more is not looked at"},
	{"names twice", edited(func(b *builder) { b.custom = append(b.custom, customContent{"name", ""}, customContent{"name", ""}) }), RefusedMalformed, "two sections"},
	{"name not UTF-8", edited(func(b *builder) { b.exports[0].name = "\xff" }), RefusedMalformed, "not UTF-8"},

	// What broke the engine in trials: counts that are believed before they are read.
	{"killer: imports", raw([]byte{2, 5, 0xff, 0xff, 0xff, 0xff, 0x0f}), RefusedTruncated, "4294967295 imports"},
	{"killer: functions", raw([]byte{3, 5, 0xff, 0xff, 0xff, 0xff, 0x0f}), RefusedTruncated, "4294967295 functions"},
	{"killer: code", raw([]byte{10, 5, 0xff, 0xff, 0xff, 0xff, 0x0f}), RefusedTruncated, "4294967295 function bodies"},
	{"killer: data", raw([]byte{11, 5, 0xff, 0xff, 0xff, 0xff, 0x0f}), RefusedTruncated, "4294967295 data segments"},
	{"killer: parameters", raw([]byte{1, 7, 1, 0x60, 0xff, 0xff, 0xff, 0xff, 0x0f}), RefusedTruncated, "4294967295"},
	{"killer: results", raw([]byte{1, 8, 1, 0x60, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}), RefusedTruncated, "4294967295"},
	{"killer: exports", raw([]byte{7, 4, 0x80, 0x80, 0x80, 0x20}), RefusedTruncated, "67108864 exports"},
	{"killer: globals", raw([]byte{6, 5, 0xff, 0xff, 0xff, 0xff, 0x0f}), RefusedTruncated, "4294967295 globals"},
	{"killer: elements", raw([]byte{9, 5, 0xff, 0xff, 0xff, 0xff, 0x0f}), RefusedTruncated, "4294967295 element segments"},
	{"killer: tables", raw([]byte{4, 5, 0xff, 0xff, 0xff, 0xff, 0x0f}), RefusedTruncated, "4294967295 tables"},
	{"killer: locals", raw([]byte{1, 4, 1, 0x60, 0, 0}, []byte{3, 2, 1, 0}, []byte{10, 10, 1, 8, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7f, 0x0b}),
		RefusedLimit, "4294967295 locals"},
	{"killer: huge table", edited(func(b *builder) { b.table = []uint32{1 << 27} }), RefusedTable, "134217728 entries"},
	{"killer: twenty tables", raw(section(4, append([]byte{20}, bytes.Repeat([]byte{0x70, 0, 0x80, 0x80, 0x80, 0x40}, 20)...))), RefusedTable, "20 tables"},
	{"killer: data segment", edited(func(b *builder) { b.extra = map[byte][]byte{sectionData: {1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f}} }),
		RefusedTruncated, "4294967295 bytes"},
	{"long name of an import", edited(func(b *builder) {
		b.imports = []buildImport{{"env", strings.Repeat("x", 100_000), signature{"", ""}}}
	}), RefusedImport, `xxx"…, which`},
	{"signature of hundreds", edited(func(b *builder) { b.funcs[1].signature.params = strings.Repeat("i", 500) }), RefusedExport, "(500) -> (1)"},
	{"killer: name", raw([]byte{0, 5, 0xff, 0xff, 0xff, 0xff, 0x0f}), RefusedTruncated, "4294967295 bytes"},
}

// manifestOf is a good module, but for what its manifest holds.
func manifestOf(content string) []byte {
	return edited(func(b *builder) { b.custom[0] = customContent{abi.ManifestSection, content} })
}

func TestInspectRefuses(t *testing.T) {
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			_, err := inspectCheaply(t, c.wasm)
			var refused *RefusedError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if refused.Kind != c.kind || !strings.Contains(refused.Reason, c.reason) {
				t.Errorf("got %s: %s\nwant %s: … %s …", refused.Kind, refused.Reason, c.kind, c.reason)
			}
			if refused.Offset < -1 || refused.Offset > len(c.wasm) {
				t.Errorf("offset %d in a module of %d bytes", refused.Offset, len(c.wasm))
			}
			if _, err := newEngine(t, Options{}).Load(context.Background(), "guest", c.wasm); !errors.As(err, &refused) || refused.Module != "guest" {
				t.Errorf("Load: got %v", err)
			}
		})
	}
}

// TestInspectTakesWhatIsLater: a module may speak a later version, too, and within a version say more than this host
// knows. What it needs and this host has not, it says by an import, a role or the version.
func TestInspectTakesWhatIsLater(t *testing.T) {
	unknown := protowire.AppendTag(nil, 1000, protowire.BytesType) // a field that no message has
	unknown = protowire.AppendString(unknown, "later")
	var known abi.Manifest
	if err := proto.Unmarshal(testManifest(), &known); err != nil {
		t.Fatal(err)
	}
	known.ProtoReflect().SetUnknown(unknown)
	f := known.GetFunctions()[0]
	for _, m := range []proto.Message{f, f.GetInput(), f.GetInput().GetFields()[0]} {
		m.ProtoReflect().SetUnknown(unknown)
	}
	manifest, err := proto.Marshal(&known)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(manifest, unknown) {
		t.Fatal("the manifest has no unknown fields")
	}
	later := func(b *builder) {
		b.custom[0].content = string(manifest)
		b.funcs = append(b.funcs, buildFunc{export: markerPrefix + "1"}, buildFunc{export: "wasmstream_later"})
	}
	m, err := newEngine(t, Options{}).Load(context.Background(), "later", edited(later))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Manifest().GetFunctions(); len(got) != 1 || got[0].GetName() != "count" {
		t.Errorf("functions %v", got)
	}
	known.AbiVersion = abi.Version + 1
	if manifest, err = proto.Marshal(&known); err != nil {
		t.Fatal(err)
	}
	_, err = Inspect(edited(later), Options{})
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Kind != RefusedManifest || !strings.Contains(refused.Reason, "ABI version 1, this host speaks 0") {
		t.Errorf("a manifest of a later version only: %v", err)
	}
}

// Features that show only in code are refused by the scanner, what has wrong types by
// the engine's validation.
func TestLoadRefusesCode(t *testing.T) {
	for _, c := range []struct {
		name string
		kind Refusal
		body []byte
	}{
		{"SIMD", RefusedFeature, []byte{0xfd, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, opDrop}},
		{"a null", RefusedFeature, []byte{0xd0, 0x70, 0x41, 1, 0xfc, 0x0f, 0, opDrop}},
		{"growing a table", RefusedFeature, []byte{0x41, 1, 0x41, 1, 0xfc, 0x0f, 0, opDrop}},
		{"threads", RefusedFeature, []byte{0xfe, 0x03, 0}},
		{"exceptions", RefusedFeature, []byte{0x06, void, opEnd}},
		{"tail calls", RefusedFeature, []byte{0x12, 0}},
		{"wrong types", RefusedInvalid, []byte{0x41, 1, 0x42, 1, opI32Add, opDrop}},
		{"a refill", RefusedInvalid, []byte{0x42, 1, opGlobalSet, 0}},
		{"unknown instruction", RefusedMalformed, []byte{0xff}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := goodModule()
			b.table = []uint32{1}
			b.funcs = append(b.funcs, buildFunc{body: c.body})
			_, err := newEngine(t, Options{}).Load(context.Background(), "guest", b.bytes())
			var refused *RefusedError
			if !errors.As(err, &refused) || refused.Kind != c.kind {
				t.Fatalf("got %v, want a refusal as %s", err, c.kind)
			}
		})
	}
}

// Numbers are taken in every length that the format allows, and in no other.
func TestReaderNumbers(t *testing.T) {
	for _, c := range []struct {
		bytes  []byte
		bits   uint
		signed bool
		ok     bool
	}{
		{sleb(-1), 32, true, true}, {sleb(math.MinInt32), 32, true, true}, {sleb(math.MaxInt32), 32, true, true},
		{sleb(math.MinInt32 - 1), 32, true, false}, {sleb(math.MaxInt32 + 1), 32, true, false},
		{sleb(math.MinInt64), 64, true, true}, {sleb(math.MaxInt64), 64, true, true},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0x7f}, 32, true, true}, {[]byte{0xff, 0xff, 0xff, 0xff, 0x4f}, 32, true, false},
		{[]byte{0x80, 0x80, 0x80, 0x80, 0}, 32, false, true}, {[]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0}, 32, false, false},
		{uleb(maxU32), 32, false, true}, {uleb(maxU32 + 1), 32, false, false}, {[]byte{0x80}, 32, false, false}, {nil, 32, false, false},
		{append(bytes.Repeat([]byte{0xff}, 9), 1), 64, true, false}, {append(bytes.Repeat([]byte{0xff}, 9), 0x7f), 64, true, true},
	} {
		r := reader{data: c.bytes, end: len(c.bytes)}
		if r.leb("a number", c.bits, c.signed); (r.err == nil) != c.ok {
			t.Errorf("% x in %d bits, signed %v: %v", c.bytes, c.bits, c.signed, r.err)
		}
	}
}

func TestOptionsValidateNamesEveryBadField(t *testing.T) {
	options := Options{MemoryPagesMax: 65536, ModuleBytesMax: -1, CacheBytesMin: -1, FunctionsMax: -1, TableElementsMax: maxU32, FrameBytesMax: -1,
		EffectsBytesMax: -1, LogLinesMax: -1, MessageBytesMax: -1, WaitsMax: -1, FuelPerCall: -1, FuelPerOp: -1, FuelPerStart: -1, StackBytesMax: -1}
	_, err := NewEngine(context.Background(), options)
	for _, field := range []string{"MemoryPagesMax", "ModuleBytesMax", "CacheBytesMin", "FunctionsMax", "TableElementsMax", "FrameBytesMax",
		"EffectsBytesMax", "LogLinesMax", "MessageBytesMax", "WaitsMax", "FuelPerCall", "FuelPerOp", "FuelPerStart", "StackBytesMax"} {
		if err == nil || !strings.Contains(err.Error(), field+" is") {
			t.Errorf("%s is not named in: %v", field, err)
		}
	}
	if _, err := Inspect(nil, options); err == nil {
		t.Error("Inspect took bad options")
	}
	if err := (Options{}).Validate(); err != nil {
		t.Error(err)
	}
}

// inspectCheaply inspects a module, which may cost memory by its length, and little
// time. Other goroutines of the process cost some, too: it is too much if it is at each
// of several attempts.
func inspectCheaply(t testing.TB, wasm []byte) (Info, error) {
	t.Helper()
	const attempts, slackBytes = 5, 16 << 10 // the slack is an error's words
	for attempt := 1; ; attempt++ {
		before, start := allocated(), processorTime(t)
		info, err := Inspect(wasm, Options{})
		bytes, took := allocated()-before, processorTime(t)-start
		if bytes <= uint64(raceSlack*(16*len(wasm)+slackBytes)) && took <= time.Second {
			return info, err
		}
		if attempt == attempts {
			t.Fatalf("a module of %d bytes takes %d and %s: %.200x", len(wasm), bytes, took, wasm)
		}
	}
}

// allocated returns the bytes that were ever allocated, exactly: the runtime's
// cheaper counters lag behind.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// richModule has every kind of section that a module may have.
func richModule() []byte {
	b := guestThat(nil, code(i32(0), opCallIndirect, 5, 0, effectsAt(effectsPointer, 8)), abi.ImportLog, "fd_write")
	b.table, b.elements, b.globals = []uint32{4, 4}, []uint32{2, 3}, 3
	b.data = map[uint32]string{64: "hello"}
	b.funcs = append(b.funcs, buildFunc{locals: 3})
	b.custom = append(b.custom, customContent{"name", "\x00\x02\x01m\x01\x04\x01\x02\x01f\x02\x06\x01\x02\x01\x00\x01x"})
	b.extra = map[byte][]byte{sectionDataCount: {1}}
	return b.bytes()
}

func FuzzInspect(f *testing.F) {
	for _, c := range refusals {
		if len(c.wasm) < 4096 {
			f.Add(c.wasm)
		}
	}
	f.Add(richModule())
	f.Fuzz(func(t *testing.T, wasm []byte) {
		info, err := inspectCheaply(t, wasm)
		if err == nil && info.Manifest == nil {
			t.Fatal("taken without a manifest")
		}
	})
}

var mutants = flag.Int("mutants", 10_000, "modules that TestMutatedModules makes")

// codeModule is a good guest with a function of generated code.
func codeModule() []byte {
	g := &generator{Rand: rand.New(rand.NewPCG(5, 3)), functions: 0}
	b := guestThat(nil, nil)
	b.funcs = append(b.funcs, buildFunc{signature: signature{"ii", "i"}, locals: genLocals - 2 + genCounters, body: bytes.Join(g.function(0), nil)})
	return b.bytes()
}

// Mutated modules are refused or taken, never more; the engine may refuse what the
// scanner took, but must survive it.
func TestMutatedModules(t *testing.T) {
	rounds, engine := *mutants, newEngine(t, Options{})
	if testing.Short() {
		rounds /= 10
	}
	seeds, random, taken, compiled := [][]byte{richModule(), guestBytes(t, "delays-c.wasm"), codeModule()}, rand.New(rand.NewPCG(1, 2)), 0, 0
	for _, seed := range seeds {
		if _, err := engine.Load(context.Background(), "seed", seed); err != nil {
			t.Fatal(err)
		}
	}
	for round := range rounds {
		wasm := mutate(random, seeds[round%len(seeds)])
		if _, err := inspectCheaply(t, wasm); err != nil {
			continue
		}
		taken++
		m, err := engine.Load(context.Background(), "mutant", wasm)
		var refused *RefusedError
		switch {
		case err == nil:
			compiled++
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		case !errors.As(err, &refused):
			t.Fatalf("round %d: %v: %x", round, err, wasm)
		}
	}
	t.Logf("of %d mutants the scanner took %d and the engine %d", rounds, taken, compiled)
}

func mutate(random *rand.Rand, seed []byte) []byte {
	wasm := append([]byte(nil), seed...)
	for range 1 + random.IntN(3) {
		at := 8 + random.IntN(len(wasm)-8)
		switch random.IntN(4) {
		case 0:
			wasm[at] ^= 1 << random.IntN(8)
		case 1:
			wasm[at] = byte(random.Uint32())
		case 2:
			wasm = append(wasm[:at], append([]byte{byte(random.Uint32())}, wasm[at:]...)...)
		default:
			wasm = append(wasm[:at], wasm[min(at+1+random.IntN(4), len(wasm)):]...)
		}
		if len(wasm) < 10 {
			break
		}
	}
	return wasm
}
