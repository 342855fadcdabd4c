// Package storetest holds an implementation of checkpoint.Store to its contract.
//
// It promises that each sentence of the contract that can be seen from outside, without a crash, has a test here.
// Crashes are for the tests of the implementation: host/sim/disk has a disk for them.
package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
)

// Harness is how the suite comes by stores.
type Harness struct {
	// Open makes an empty store that the suite closes.
	Open func(t *testing.T) checkpoint.Store
	// Reopen opens once more what was open as this store, and is closed now. It is nil for stores that end with Close.
	Reopen func(t *testing.T, closed checkpoint.Store) checkpoint.Store
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, s checkpoint.Store)
	}{
		{"objects", objects}, {"sizes", sizes}, {"reading", reading}, {"absent", absent}, {"names", names},
		{"a write that fails", failedWrite}, {"replaced while open", replacedWhileOpen}, {"unseen until done", unseen},
		{"at once", atOnce}, {"one name at once", oneNameAtOnce},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := h.Open(t)
			c.test(t, s)
			check(t, s.Close())
		})
	}
	if h.Reopen != nil {
		t.Run("reopened", func(t *testing.T) { reopened(t, h) })
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, s checkpoint.Store, name, text string) {
	t.Helper()
	check(t, s.Put(name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}))
}

func get(t *testing.T, s checkpoint.Store, name string) string {
	t.Helper()
	o, err := s.Get(name)
	check(t, err)
	text := contents(t, o)
	check(t, o.Close())
	return text
}

func contents(t *testing.T, o checkpoint.Object) string {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
	check(t, err)
	if int64(len(b)) != o.Size() {
		t.Errorf("%d bytes of an object of %d", len(b), o.Size())
	}
	return string(b)
}

func wantList(t *testing.T, s checkpoint.Store, want ...string) {
	t.Helper()
	got, err := s.List()
	check(t, err)
	if !slices.Equal(got, want) {
		t.Errorf("the objects are %q, not %q", got, want)
	}
}

func wantObject(t *testing.T, s checkpoint.Store, name, want string) {
	t.Helper()
	if got := get(t, s, name); got != want {
		t.Errorf("%s is %.60q, not %.60q", name, got, want)
	}
}

func objects(t *testing.T, s checkpoint.Store) {
	wantList(t, s)
	put(t, s, "b.manifest", "two")
	put(t, s, "a%20-1.delta", "one")
	put(t, s, "c_~", "three")
	wantList(t, s, "a%20-1.delta", "b.manifest", "c_~")
	wantObject(t, s, "b.manifest", "two")
	put(t, s, "b.manifest", "another")
	wantObject(t, s, "b.manifest", "another")
	check(t, s.Delete("a%20-1.delta"))
	wantList(t, s, "b.manifest", "c_~")
	put(t, s, "a%20-1.delta", "there again")
	wantObject(t, s, "a%20-1.delta", "there again")
}

func sizes(t *testing.T, s checkpoint.Store) {
	put(t, s, "empty", "")
	wantObject(t, s, "empty", "")
	large := strings.Repeat("0123456789abcdef", 300_000)
	check(t, s.Put("large", func(w io.Writer) error {
		for at := 0; at < len(large); at += 70_001 { // in pieces
			if _, err := io.WriteString(w, large[at:min(at+70_001, len(large))]); err != nil {
				return err
			}
		}
		return nil
	}))
	wantObject(t, s, "large", large)
}

func reading(t *testing.T, s checkpoint.Store) {
	put(t, s, "o", "0123456789")
	o, err := s.Get("o")
	check(t, err)
	defer func() { check(t, o.Close()) }()
	for _, c := range []struct {
		at, n int
		want  string
		end   bool
	}{{0, 10, "0123456789", false}, {3, 4, "3456", false}, {7, 9, "789", true}, {10, 1, "", true}, {50, 1, "", true}} {
		b := make([]byte, c.n)
		n, err := o.ReadAt(b, int64(c.at))
		if string(b[:n]) != c.want {
			t.Errorf("ReadAt %d of %d bytes: %q, not %q", c.at, c.n, b[:n], c.want)
		}
		if c.end && err != io.EOF || !c.end && err != nil && (err != io.EOF || c.at+c.n < 10) {
			t.Errorf("ReadAt %d of %d bytes: error %v", c.at, c.n, err)
		}
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 200 {
				var b [1]byte
				if _, err := o.ReadAt(b[:], int64(i)); err != nil || b[0] != byte('0'+i) {
					t.Errorf("byte %d read by several at once: %q, error %v", i, b, err)
				}
			}
		})
	}
	all.Wait()
}

func absent(t *testing.T, s checkpoint.Store) {
	if _, err := s.Get("none"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none") {
		t.Errorf("Get of an object that is not there: %v; it should be fs.ErrNotExist and name it", err)
	}
	check(t, s.Delete("none"))
	put(t, s, "some", "")
	check(t, s.Delete("some"))
	check(t, s.Delete("some"))
	wantList(t, s)
	if _, err := s.Get("some"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get of an object that was deleted: %v", err)
	}
}

func names(t *testing.T, s checkpoint.Store) {
	for _, name := range []string{"", ".", "..", ".hidden", "a/b", `a\b`, "../a", "A", "a b", "ä", "a\x00", "-a", strings.Repeat("a", 201)} {
		err := s.Put(name, func(io.Writer) error { return nil })
		if !errors.Is(err, fs.ErrInvalid) || checkpoint.Retryable(err) {
			t.Errorf("an object of the name %q: %v; it should be fs.ErrInvalid, for good", name, err)
		}
	}
	wantList(t, s)
	longest := strings.Repeat("a", 200)
	put(t, s, longest, "x")
	wantList(t, s, longest)
}

var errMeant = errors.New("meant to fail")

func failedWrite(t *testing.T, s checkpoint.Store) {
	put(t, s, "old", "as before")
	for _, name := range []string{"old", "new"} {
		err := s.Put(name, func(w io.Writer) error {
			if _, err := w.Write(bytes.Repeat([]byte("x"), 200_000)); err != nil {
				return err
			}
			return errMeant
		})
		if !errors.Is(err, errMeant) {
			t.Errorf("Put returned %v, not the error of what writes", err)
		}
	}
	wantList(t, s, "old")
	wantObject(t, s, "old", "as before")
	put(t, s, "new", "works")
	wantObject(t, s, "new", "works")
}

func replacedWhileOpen(t *testing.T, s checkpoint.Store) {
	put(t, s, "o", "the first")
	first, err := s.Get("o")
	check(t, err)
	put(t, s, "o", "the second, longer")
	second, err := s.Get("o")
	check(t, err)
	check(t, s.Delete("o"))
	if a, b := contents(t, first), contents(t, second); a != "the first" || b != "the second, longer" {
		t.Errorf("objects that were replaced and deleted while open are %q and %q", a, b)
	}
	check(t, errors.Join(first.Close(), second.Close()))
}

func unseen(t *testing.T, s checkpoint.Store) {
	put(t, s, "old", "as before")
	for _, name := range []string{"old", "new"} {
		check(t, s.Put(name, func(w io.Writer) error {
			_, err := io.WriteString(w, "half")
			check(t, err)
			wantList(t, s, "old")
			wantObject(t, s, "old", "as before")
			put(t, s, "other", "") // the store goes on working
			check(t, s.Delete("other"))
			return nil
		}))
		wantObject(t, s, name, "half")
		put(t, s, "old", "as before")
	}
}

func atOnce(t *testing.T, s checkpoint.Store) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 20 {
				name := fmt.Sprintf("o-%d-%02d", i, j)
				put(t, s, name, name)
				wantObject(t, s, name, name)
				if j%2 == 0 {
					check(t, s.Delete(name))
				}
				_, err := s.List()
				check(t, err)
			}
		})
	}
	all.Wait()
	got, err := s.List()
	check(t, err)
	if len(got) != 8*10 {
		t.Errorf("%d objects, not 80", len(got))
	}
}

func oneNameAtOnce(t *testing.T, s checkpoint.Store) {
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for range 20 {
				put(t, s, "o", strings.Repeat(string(rune('a'+i)), 50_000+i))
				got := get(t, s, "o")
				c := int(got[0] - 'a')
				if len(got) != 50_000+c || strings.Trim(got, got[:1]) != "" {
					t.Errorf("an object of %d bytes that begins with %q is not what one of its writers wrote", len(got), got[:1])
				}
			}
		})
	}
	all.Wait()
	wantList(t, s, "o")
}

func reopened(t *testing.T, h Harness) {
	s := h.Open(t)
	put(t, s, "kept", "for good")
	put(t, s, "gone", "not")
	check(t, s.Delete("gone"))
	check(t, s.Close())
	s = h.Reopen(t, s)
	wantList(t, s, "kept")
	wantObject(t, s, "kept", "for good")
	check(t, s.Close())
}
