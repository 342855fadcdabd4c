package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame puts a manifest's frame around a body, as manifest.go describes it.
func frame(body []byte) []byte {
	b := append([]byte("wsmani1\n"), binary.LittleEndian.AppendUint32(nil, uint32(len(body)))...)
	b = append(b, body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// FuzzManifest reads hostile bodies, whose checksum is made right: what is accepted can be written, and reads the same.
func FuzzManifest(f *testing.F) {
	f.Add(bytesOf(f, full())[12:], true)
	f.Add(bytesOf(f, full()), false)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, b []byte, framed bool) {
		if framed {
			b = frame(b)
		}
		m, err := checkpoint.ReadManifest("m", b)
		if err != nil {
			if !errors.As(err, new(*checkpoint.Damaged)) && !errors.Is(err, checkpoint.ErrNewer) {
				t.Errorf("an error of neither kind: %v", err)
			}
			return
		}
		again, err := checkpoint.AppendManifest(nil, m)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if _, err := checkpoint.ReadManifest("m", again); err != nil {
			t.Errorf("what was written cannot be read: %v", err)
		}
	})
}

// mend makes the checksums of a file right again, as far as its own lengths lead to them: so hostile bytes come past
// them.
func mend(b []byte) {
	le := binary.LittleEndian
	if len(b) < 24 {
		return
	}
	tail := b[len(b)-16:]
	index := int(le.Uint32(tail))
	if index > len(b)-24 {
		return
	}
	for at, end := 8, len(b)-16-index; at+8 <= end; {
		length := int(le.Uint32(b[at:]))
		if length > end-at-8 {
			break
		}
		sum := crc32.Update(crc32.Checksum(b[at:at+4], castagnoli), castagnoli, b[at+8:at+8+length])
		le.PutUint32(b[at+4:], sum)
		at += 8 + length
	}
	le.PutUint32(tail[4:], crc32.Checksum(b[len(b)-16-index:len(b)-12], castagnoli))
}

// FuzzFile reads hostile files, with their checksums made right: only records or *Damaged come out, and no more of them
// than there are bytes.
func FuzzFile(f *testing.F) {
	var d checkpoint.Delta
	fill(&d, rand.New(rand.NewPCG(1, 1)), 20, 3, 10)
	b, _ := write(f, &d)
	f.Add(b, true)
	f.Add(b, false)
	d.Reset()
	d.Add(0, nil, nil)
	b, _ = write(f, &d)
	f.Add(b, true)
	f.Add([]byte("wsrecs1\nwsrecsE\n"), true)
	f.Fuzz(func(t *testing.T, b []byte, mended bool) {
		if mended {
			b = bytes.Clone(b) // the fuzzer's own bytes are not to be changed
			mend(b)
		}
		file, err := checkpoint.OpenFile("f", object{bytes.NewReader(b)})
		if err != nil {
			wantDamaged(t, err)
			return
		}
		records := 0
		var failed error
		for _, g := range file.Groups() {
			err := file.Each(g, func(key, value []byte) error {
				if records++; records > len(b) {
					t.Fatal("more records than bytes")
				}
				return nil
			})
			if err != nil {
				wantDamaged(t, err)
				failed = err
			}
		}
		if failed == nil && int64(records) != file.Summary().Entries {
			t.Errorf("%d records, and the summary says %d", records, file.Summary().Entries)
		}
		if err := file.Verify(nil); err != nil {
			wantDamaged(t, err)
			if failed == nil {
				t.Errorf("all was read, and yet: %v", err)
			}
		}
		var out bytes.Buffer
		_, err = checkpoint.Merge(&out, []*checkpoint.File{file, file}, checkpoint.MergeOptions{Groups: checkpoint.AllGroups})
		if (err == nil) != (failed == nil) {
			t.Errorf("read: %v; merged: %v", failed, err)
		}
	})
}

func wantDamaged(t *testing.T, err error) {
	t.Helper()
	var d *checkpoint.Damaged
	if !errors.As(err, &d) || d.Object != "f" {
		t.Errorf("not an error that names the damaged file: %v", err)
	}
}
