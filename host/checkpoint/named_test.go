package checkpoint_test

import (
	"io"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
)

// TestFind: what the names of other objects tell of the checkpoint 2-000003.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		others    []string
		committed bool
		newer     string
	}{
		{nil, false, ""},
		{[]string{"2-000003.committed"}, true, ""},
		{[]string{"2-000002.committed", "1-000004.committed", "1-000004.manifest"}, false, ""},
		{[]string{"2-000004.manifest"}, false, "2-000004.manifest"}, // its Put may have failed, and then it came to nothing
		{[]string{"2-000004.committed", "2-000004.manifest"}, true, "2-000004.manifest"},
		{[]string{"3-000000.begun", "3-000001-s-0.delta"}, false, ""},
		{[]string{"3-000003.manifest"}, false, ""}, // an import of it, perhaps
		{[]string{"3-000003.manifest", "3-000003.committed"}, false, "3-000003.manifest"},
		{[]string{"3-000003.manifest", "3-000004.manifest", "2-000005.manifest"}, false, "3-000004.manifest"},
	} {
		store := checkpoint.NewMemory()
		if err := checkpoint.PutManifest(store, &checkpoint.Manifest{Job: "j", History: 2, Epoch: 3, MaxParallelism: 1}); err != nil {
			t.Fatal(err)
		}
		for _, name := range c.others {
			if err := store.Put(name, func(io.Writer) error { return nil }); err != nil { // only the name counts
				t.Fatal(err)
			}
		}
		found, err := checkpoint.Find(store, "2-000003.manifest")
		if err != nil || found.Manifest.Epoch != 3 || found.Committed != c.committed || found.Newer != c.newer {
			t.Errorf("beside %v: %+v, %v", c.others, found, err)
		}
	}
	if _, err := checkpoint.Find(checkpoint.NewMemory(), "2-000003.manifest"); err == nil {
		t.Error("a checkpoint that is not there is found")
	}
}
