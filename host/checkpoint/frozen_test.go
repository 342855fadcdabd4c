package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/stream"
)

// TestFileBytes writes a small file by hand, as writer.go describes it.
func TestFileBytes(t *testing.T) {
	le := binary.LittleEndian
	sum := func(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }
	block := func(content string) (b []byte, checksum []byte) {
		b = append(le.AppendUint32(nil, uint32(len(content))), content...)
		checksum = le.AppendUint32(nil, sum(b))
		return append(append(b[:4:4], checksum...), content...), checksum
	}
	three, threeSum := block("\x01a\x03xy" + "\x01b\x00" + "\x02ba\x01") // a: xy, b: deleted, ba: empty
	nine, nineSum := block("\x00\x02z")                                  // the empty key: z
	index := append([]byte{3, byte(len(three)), 3, 1}, le.AppendUint32(nil, sum(threeSum))...)
	index = append(append(index, 0x80, 0x02, byte(len(nine)), 1, 0), le.AppendUint32(nil, sum(nineSum))...) // group 256
	want := append(append([]byte("wsrecs1\n"), three...), nine...)
	trailer := le.AppendUint32(nil, uint32(len(index)))
	trailer = le.AppendUint32(trailer, sum(append(bytes.Clone(index), trailer...)))
	want = append(append(append(want, index...), trailer...), "wsrecsE\n"...)

	var d checkpoint.Delta
	d.Add(256, nil, []byte("z"))
	d.Add(3, []byte("ba"), nil)
	d.Delete(3, []byte("b"))
	d.Add(3, []byte("a"), []byte("xy"))
	got, _ := write(t, &d)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

var freeze = flag.Bool("freeze", false, "write the objects of the newest format into testdata, if they are not there")

// frozenState is what the frozen checkpoint has. It does not change, nor do its bytes.
var frozenState = contents{
	0:   {"key a": []byte("new"), "key b": []byte("base"), "key d": {}},
	127: {"\x00\xff": bytes.Repeat([]byte("long "), 30_000)},
}

func frozenObjects(t *testing.T) map[string][]byte {
	var base, delta checkpoint.Delta
	base.Add(0, []byte("key a"), []byte("old"))
	base.Add(0, []byte("key b"), []byte("base"))
	base.Add(0, []byte("key c"), []byte("goes"))
	base.Add(127, []byte("\x00\xff"), bytes.Repeat([]byte("long "), 30_000))
	delta.Add(0, []byte("key a"), []byte("new"))
	delta.Delete(0, []byte("key c"))
	delta.Add(0, []byte("key d"), nil)
	objects := map[string][]byte{}
	m := &checkpoint.Manifest{
		Job: "frozen", History: 1, Epoch: 7, TakenAt: 1_700_000_000_000, MaxParallelism: 128,
		Sources: []checkpoint.Source{{Name: "in", Splits: []checkpoint.Split{
			{Name: "0", Position: connector.Position{Offset: 1234, Record: 56}, MaxTime: stream.MinTime},
		}}},
		Sinks:   []checkpoint.Sink{{Name: "out", Connector: "file out.ndjson", Handover: []byte("7")}},
		Modules: []checkpoint.Module{{Name: "m", Digest: "sha256:00"}},
	}
	step := checkpoint.Step{Name: "count", Layout: "key STRING"}
	for _, f := range []struct {
		d     *checkpoint.Delta
		kind  checkpoint.Kind
		epoch int64
	}{{&base, checkpoint.KindBase, 5}, {&delta, checkpoint.KindDelta, 7}} {
		b, summary := write(t, f.d)
		name := checkpoint.FileName(1, 7, "count", 0, f.kind)
		objects[name] = b
		step.Files = append(step.Files, checkpoint.Ref(name, summary, f.epoch, checkpoint.Groups{From: 0, To: 128}))
	}
	m.Steps = []checkpoint.Step{step}
	objects[checkpoint.ManifestName(1, 7)] = bytesOf(t, m)
	objects[checkpoint.CommittedName(1, 7)] = []byte("committed\n")
	return objects
}

// TestFrozenCheckpoint reads a checkpoint that an earlier version has written. When the format changes, its folder stays
// and the new format gets another: make it with -freeze.
func TestFrozenCheckpoint(t *testing.T) {
	const newest = "testdata/format1"
	objects := frozenObjects(t)
	if *freeze {
		freezeObjects(t, newest, objects)
	}
	folders, err := filepath.Glob("testdata/format*")
	if err != nil || len(folders) != checkpoint.FormatVersion {
		t.Errorf("there are %q, for %d formats; error %v", folders, checkpoint.FormatVersion, err)
	}
	for _, dir := range folders {
		store := checkpoint.NewMemory()
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if err := putBytes(store, f.Name(), b); err != nil {
				t.Fatal(err)
			}
			if dir == newest && !bytes.Equal(b, objects[f.Name()]) {
				t.Errorf("%s: this version writes other bytes, which is another format", f.Name())
			}
		}
		checkFrozen(t, store)
	}
}

func checkFrozen(t *testing.T, store checkpoint.Store) {
	r, err := checkpoint.Recover(store)
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Manifest; m == nil || m.Job != "frozen" || m.Sources[0].Splits[0].Offset != 1234 || string(m.Sinks[0].Handover) != "7" || !r.Committed {
		t.Fatalf("%+v", r)
	}
	if at := r.Manifest.Sources[0].Positions()[0]; at.Split != "0" || at.Identity != "" {
		t.Errorf("the position is %+v; an identity was not kept then", at)
	}
	opened, err := checkpoint.OpenRefs(store, r.Manifest.Step("count").Files)
	if err != nil {
		t.Fatal(err)
	}
	got := contents{}
	for g := range stream.KeyGroup(128) {
		err := checkpoint.Load(opened, checkpoint.Groups{From: g, To: g + 1}, func(key, value []byte) error {
			got.put(g, string(key), bytes.Clone(value))
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	same(t, "frozen", frozenState, got)
	if err := checkpoint.CloseAll(opened); err != nil {
		t.Error(err)
	}
}

// freezeObjects never changes what is there.
func freezeObjects(t *testing.T, dir string, objects map[string][]byte) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, b := range objects {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(f, bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
