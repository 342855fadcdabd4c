package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/stream"
)

// object is bytes as an object.
type object struct{ *bytes.Reader }

func (object) Close() error { return nil }

func openBytes(t testing.TB, b []byte) *checkpoint.File {
	t.Helper()
	f, err := checkpoint.OpenFile("file", object{bytes.NewReader(b)})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// contents are records by group and key; nil is a deleted key.
type contents map[stream.KeyGroup]map[string][]byte

func (c contents) put(group stream.KeyGroup, key string, value []byte) {
	if c[group] == nil {
		c[group] = map[string][]byte{}
	}
	c[group][key] = value
}

// read reads a whole file, and checks that keys ascend and the groups are those of the summary.
func read(t testing.TB, f *checkpoint.File) contents {
	t.Helper()
	c := contents{}
	for _, g := range f.Groups() {
		last := ""
		first := true
		err := f.Each(g, func(key, value []byte) error {
			if !first && string(key) <= last {
				t.Errorf("group %d: key %q comes after %q", g, key, last)
			}
			first, last = false, string(key)
			c.put(g, string(key), bytes.Clone(value))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// same compares; only when there is a difference is it worth the time to show it.
func same(t testing.TB, what string, want, got contents) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%s: -want +got:\n%s", what, cmp.Diff(want, got))
	}
}

func write(t testing.TB, d *checkpoint.Delta) ([]byte, checkpoint.FileSummary) {
	t.Helper()
	var b bytes.Buffer
	summary, err := d.Write(&b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if summary.Bytes != int64(b.Len()) {
		t.Errorf("the summary has %d bytes, the file %d", summary.Bytes, b.Len())
	}
	return b.Bytes(), summary
}

// fill makes random calls on a delta, and returns what should come out.
func fill(d *checkpoint.Delta, r *rand.Rand, calls, groups, keys int) contents {
	want := contents{}
	for range calls {
		g := stream.KeyGroup(r.IntN(groups))
		key := fmt.Sprintf("key %0*d", r.IntN(3)*8, r.IntN(keys))
		if r.IntN(4) == 0 {
			d.Delete(g, []byte(key))
			want.put(g, key, nil)
			continue
		}
		value := make([]byte, r.IntN(40))
		for i := range value {
			value[i] = byte(r.IntN(256))
		}
		d.Add(g, []byte(key), value)
		want.put(g, key, value)
	}
	return want
}

func TestDeltaRoundTrip(t *testing.T) {
	var d checkpoint.Delta
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		d.Reset() // its memory is used again
		want := fill(&d, r, r.IntN(5000), 1+r.IntN(200), 1+r.IntN(3000))
		b, summary := write(t, &d)
		f := openBytes(t, b)
		same(t, fmt.Sprintf("seed %d", seed), want, read(t, f))
		if f.Summary() != summary {
			t.Errorf("seed %d: the file tells %+v, its writer %+v", seed, f.Summary(), summary)
		}
		if err := f.Verify(nil); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestDeltaLastCallCounts is invariant F in one delta.
func TestDeltaLastCallCounts(t *testing.T) {
	var d checkpoint.Delta
	d.Delete(3, []byte("there again"))
	d.Delete(3, []byte("gone"))
	d.Add(3, []byte("there again"), []byte("new"))
	d.Add(3, []byte("changed"), []byte("one"))
	d.Add(3, []byte("changed"), []byte("two"))
	d.Add(3, nil, nil) // the empty key with an empty value is one like others
	b, summary := write(t, &d)
	want := contents{3: {"there again": []byte("new"), "gone": nil, "changed": []byte("two"), "": {}}}
	if diff := cmp.Diff(want, read(t, openBytes(t, b))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if summary.Entries != 4 || summary.Deleted != 1 || summary.Groups != (checkpoint.Groups{From: 3, To: 4}) {
		t.Errorf("the summary is %+v", summary)
	}
}

// TestDeltaOrderDoesNotShow is the other half of invariant F.
func TestDeltaOrderDoesNotShow(t *testing.T) {
	records := map[string][]byte{}
	for i := range 3000 {
		records[fmt.Sprint(i*i)] = []byte{byte(i)}
	}
	var files [][]byte
	for seed := range uint64(3) {
		keys := slices.Sorted(maps.Keys(records))
		rand.New(rand.NewPCG(seed, 2)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		var d checkpoint.Delta
		for _, k := range keys {
			d.Add(stream.KeyGroup(len(k)), []byte(k), records[k])
		}
		b, _ := write(t, &d)
		files = append(files, b)
	}
	if !bytes.Equal(files[0], files[1]) || !bytes.Equal(files[0], files[2]) {
		t.Error("the order in which records were added shows in the file")
	}
}

func TestDeltaLargeRecords(t *testing.T) {
	want := contents{}
	var d checkpoint.Delta
	for i, size := range []int{0, 65_535, 65_536, 1 << 20, 3 << 20, 1} {
		key := fmt.Sprintf("%d%s", i, bytes.Repeat([]byte("k"), size/3))
		value := bytes.Repeat([]byte{byte(i)}, size)
		d.Add(stream.MaxParallelismLimit-1, []byte(key), value)
		want.put(stream.MaxParallelismLimit-1, key, value)
	}
	b, _ := write(t, &d)
	if !reflect.DeepEqual(want, read(t, openBytes(t, b))) {
		t.Error("the records differ")
	}
}

// TestDeltaReused: chunks that are left from before may be too small for what comes then.
func TestDeltaReused(t *testing.T) {
	var d checkpoint.Delta
	for _, size := range []int{10, 3000, 1, 200_000, 600, 600} {
		d.Reset()
		want := contents{}
		for i := range 5 {
			value := bytes.Repeat([]byte{byte(i)}, size)
			d.Add(1, []byte{7, byte(i)}, value)
			want.put(1, string([]byte{7, byte(i)}), value)
		}
		if d.Len() != 5 || d.Bytes() < int64(5*size) || d.Bytes() > int64(5*size+50) {
			t.Errorf("%d records of %d bytes: Len %d, Bytes %d", 5, size, d.Len(), d.Bytes())
		}
		b, _ := write(t, &d)
		same(t, fmt.Sprintf("records of %d bytes", size), want, read(t, openBytes(t, b)))
	}
}

func TestEmptyFile(t *testing.T) {
	var d checkpoint.Delta
	b, summary := write(t, &d)
	f := openBytes(t, b)
	if len(f.Groups()) != 0 || summary.Entries != 0 || !summary.Groups.Empty() {
		t.Errorf("groups %v, summary %+v", f.Groups(), summary)
	}
	if err := f.Verify(nil); err != nil {
		t.Error(err)
	}
}

// TestDeltaIsSmall: the issue allows 1.5 times the changed bytes, for keys of 16 and values of 8 to 16 bytes, when 1 %
// of a million keys has changed.
func TestDeltaIsSmall(t *testing.T) {
	var d checkpoint.Delta
	r := rand.New(rand.NewPCG(1, 1))
	changed := 0
	for i := range 10_000 {
		key := binary.BigEndian.AppendUint64(make([]byte, 8), r.Uint64())
		value := make([]byte, 8+8*(i%2))
		d.Add(stream.KeyGroup(r.IntN(128)), key, value)
		changed += len(key) + len(value)
	}
	b, _ := write(t, &d)
	if ratio := float64(len(b)) / float64(changed); ratio > 1.15 {
		t.Errorf("%d bytes for %d changed ones, %.2f times as many", len(b), changed, ratio)
	}
}

var errFull = errors.New("no room")

// fullWriter takes so many bytes and then no more.
type fullWriter struct{ left int }

func (w *fullWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWriteErrors(t *testing.T) {
	var d checkpoint.Delta
	fill(&d, rand.New(rand.NewPCG(1, 1)), 3000, 5, 3000)
	b, _ := write(t, &d)
	f := openBytes(t, b)
	for room := 0; room < len(b); room += 997 {
		if _, err := d.Write(&fullWriter{room}, nil); !errors.Is(err, errFull) {
			t.Fatalf("with room for %d bytes of %d, Write returned %v", room, len(b), err)
		}
		all := checkpoint.MergeOptions{Groups: checkpoint.AllGroups, Delta: true}
		if _, err := checkpoint.Merge(&fullWriter{room}, []*checkpoint.File{f}, all); !errors.Is(err, errFull) {
			t.Fatalf("with room for %d bytes of %d, Merge returned %v", room, len(b), err)
		}
	}
}

// TestMerge merges random files in every way and compares with maps.
func TestMerge(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		var files []*checkpoint.File
		newest := contents{}
		for range r.IntN(6) {
			var d checkpoint.Delta
			for g, records := range fill(&d, r, r.IntN(2000), 1+r.IntN(20), 1000) {
				for k, v := range records {
					newest.put(g, k, v)
				}
			}
			b, _ := write(t, &d)
			files = append(files, openBytes(t, b))
		}
		live := contents{}
		for g, records := range newest {
			for k, v := range records {
				if v != nil {
					live.put(g, k, v)
				}
			}
		}
		merge := func(o checkpoint.MergeOptions) contents {
			var b bytes.Buffer
			if _, err := checkpoint.Merge(&b, files, o); err != nil {
				t.Fatal(err)
			}
			return read(t, openBytes(t, b.Bytes()))
		}
		same(t, fmt.Sprintf("seed %d: base", seed), live, merge(checkpoint.MergeOptions{Groups: checkpoint.AllGroups}))
		same(t, fmt.Sprintf("seed %d: delta", seed), newest,
			merge(checkpoint.MergeOptions{Groups: checkpoint.AllGroups, Delta: true}))
		maps.DeleteFunc(live, func(g stream.KeyGroup, _ map[string][]byte) bool { return g < 4 || g >= 11 })
		same(t, fmt.Sprintf("seed %d: base of some groups", seed), live,
			merge(checkpoint.MergeOptions{Groups: checkpoint.Groups{From: 4, To: 11}}))
		loaded := contents{}
		for g := stream.KeyGroup(4); g < 11; g++ {
			err := checkpoint.Load(files, checkpoint.Groups{From: g, To: g + 1}, func(key, value []byte) error {
				loaded.put(g, string(key), bytes.Clone(value))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		same(t, fmt.Sprintf("seed %d: loaded", seed), live, loaded)
	}
}

func TestLoadStopsAtAnError(t *testing.T) {
	var files []*checkpoint.File
	for range 3 {
		var d checkpoint.Delta
		for i := range 10 {
			d.Add(0, []byte{byte(i)}, nil)
		}
		b, _ := write(t, &d)
		files = append(files, openBytes(t, b))
	}
	for n := range 3 {
		for stop := range 10 {
			calls := 0
			err := checkpoint.Load(files[n:], checkpoint.Groups{To: 1}, func([]byte, []byte) error {
				if calls++; calls > stop {
					return io.ErrShortWrite
				}
				return nil
			})
			if err != io.ErrShortWrite || calls != stop+1 {
				t.Errorf("%d files, stop after %d: %d calls, error %v", 3-n, stop, calls, err)
			}
		}
	}
}

// TestBlocksInAnotherOrder: each block is sound, and they are not where they were.
func TestBlocksInAnotherOrder(t *testing.T) {
	var d checkpoint.Delta
	for i := range byte(3) { // a block each, all of one length
		d.Add(0, []byte{i}, bytes.Repeat([]byte{i}, 70_000))
	}
	b, _ := write(t, &d)
	block := 8 + 1 + 1 + 3 + 70_000
	swapped := slices.Concat(b[:8], b[8+block:8+2*block], b[8:8+block], b[8+2*block:])
	f := openBytes(t, swapped)
	for what, err := range map[string]error{
		"Each":   f.Each(0, func(_, _ []byte) error { return nil }),
		"Verify": f.Verify(nil),
	} {
		if !errors.As(err, new(*checkpoint.Damaged)) || !strings.Contains(err.Error(), "key group 0") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
