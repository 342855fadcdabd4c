package checkpoint_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/sim/disk"
)

// manifest is one of history 1 that names files.
func manifest(epoch int64, savepoint bool, files ...string) *checkpoint.Manifest {
	m := &checkpoint.Manifest{History: 1, Epoch: epoch, Savepoint: savepoint, MaxParallelism: 8, Steps: []checkpoint.Step{{Name: "s"}}}
	for _, name := range files {
		m.Steps[0].Files = append(m.Steps[0].Files, checkpoint.FileRef{Name: name})
	}
	return m
}

func delta(epoch int64) string { return checkpoint.FileName(1, epoch, "s", 0, checkpoint.KindDelta) }

func base(epoch int64) string { return checkpoint.FileName(1, epoch, "s", 0, checkpoint.KindBase) }

func TestFindGarbage(t *testing.T) {
	m, note := func(e int64) string { return checkpoint.ManifestName(1, e) }, func(e int64) string { return checkpoint.CommittedName(1, e) }
	// Four checkpoints: 1 and 2 are deltas, 3 has a base of both, 4 goes on from that.
	names := []string{delta(1), delta(2), base(3), delta(3), delta(4), m(1), m(2), m(3), m(4), note(1), note(2), note(3), note(4)}
	manifests := func(without ...int64) map[int64]*checkpoint.Manifest {
		all := map[int64]*checkpoint.Manifest{
			1: manifest(1, false, delta(1)), 2: manifest(2, false, delta(1), delta(2)),
			3: manifest(3, false, base(3), delta(3)), 4: manifest(4, false, base(3), delta(3), delta(4)),
		}
		for _, e := range without {
			delete(all, e)
		}
		return all
	}
	savepoint2 := manifests()
	savepoint2[2].Savepoint = true
	savepoint4 := manifests()
	savepoint4[4].Savepoint = true
	without := func(names []string, gone ...string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(gone, n) })
	}
	for _, c := range []struct {
		name  string
		facts checkpoint.GarbageFacts
		want  []string
	}{
		{"nothing", checkpoint.GarbageFacts{}, nil},
		{"one kept", checkpoint.GarbageFacts{Objects: names, Manifests: manifests(), Retained: 1},
			[]string{m(1), m(2), m(3), note(1), note(2), note(3), delta(1), delta(2)}},
		{"none is not possible", checkpoint.GarbageFacts{Objects: names, Manifests: manifests()},
			[]string{m(1), m(2), m(3), note(1), note(2), note(3), delta(1), delta(2)}},
		{"two kept", checkpoint.GarbageFacts{Objects: names, Manifests: manifests(), Retained: 2},
			[]string{m(1), m(2), note(1), note(2), delta(1), delta(2)}},
		{"three kept need the old deltas", checkpoint.GarbageFacts{Objects: names, Manifests: manifests(), Retained: 3},
			[]string{m(1), note(1)}},
		{"more kept than there are", checkpoint.GarbageFacts{Objects: names, Manifests: manifests(), Retained: 9}, nil},
		{"the newest is not committed: it does not count, and is kept",
			checkpoint.GarbageFacts{Objects: without(names, note(4)), Manifests: manifests(), Retained: 1},
			[]string{m(1), m(2), note(1), note(2), delta(1), delta(2)}},
		{"none is committed", checkpoint.GarbageFacts{Objects: []string{delta(1), delta(2), m(1), m(2)}, Manifests: manifests(3, 4), Retained: 1}, nil},
		{"an old savepoint is kept, with its files",
			checkpoint.GarbageFacts{Objects: names, Manifests: savepoint2, Retained: 1},
			[]string{m(1), m(3), note(1), note(3)}},
		{"one that is known to be damaged does not count, and is kept as long as an older one",
			checkpoint.GarbageFacts{Objects: names, Manifests: manifests(), Retained: 2, Unsound: []int64{3}},
			[]string{m(1), note(1)}},
		{"a new savepoint is not one of those retained",
			checkpoint.GarbageFacts{Objects: names, Manifests: savepoint4, Retained: 1},
			[]string{m(1), m(2), note(1), note(2), delta(1), delta(2)}},
		{"an old manifest that cannot be read keeps what is as old",
			checkpoint.GarbageFacts{Objects: names, Manifests: manifests(1), Retained: 1},
			[]string{m(2), m(3), note(2), note(3), delta(2)}},
		{"the newest manifest cannot be read",
			checkpoint.GarbageFacts{Objects: names, Manifests: manifests(4), Retained: 1},
			[]string{m(1), m(2), note(1), note(2)}},
		{"files of a checkpoint that came to nothing, and of one under way",
			checkpoint.GarbageFacts{Objects: []string{delta(1), base(2), delta(2), delta(3), delta(4), m(3), note(3)},
				Manifests: map[int64]*checkpoint.Manifest{3: manifest(3, false, delta(1), delta(3))}, Retained: 1},
			[]string{base(2), delta(2)}},
		{"pinned",
			checkpoint.GarbageFacts{Objects: []string{delta(1), base(2), delta(2), m(3), note(3)},
				Manifests: map[int64]*checkpoint.Manifest{3: manifest(3, false, delta(1))}, Retained: 1, Pinned: []string{base(2)}},
			[]string{delta(2)}},
		{"a note that outlived its manifest, and one that tells of a lost one",
			checkpoint.GarbageFacts{Objects: []string{delta(4), m(4), note(1), note(4), note(5)}, Manifests: manifests(1, 2, 3), Retained: 1},
			[]string{note(1)}},
		{"what others put there, and other histories",
			checkpoint.GarbageFacts{Objects: []string{
				"readme", "1-000001.begun", "0-000001.manifest", "0-000001-s-0.delta", "2-000001-s-0.delta", delta(3), m(4), note(4),
			}, Manifests: manifests(1, 2, 3), Retained: 1},
			nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.facts.History = 1
			slices.Sort(c.facts.Objects)
			got := checkpoint.FindGarbage(c.facts)
			if !slices.Equal(got.Delete, c.want) {
				t.Errorf("deleted:\n%s\nwanted:\n%s", strings.Join(got.Delete, "\n"), strings.Join(c.want, "\n"))
			}
			for _, name := range got.Unreadable {
				n, _ := checkpoint.ParseName(name)
				if c.facts.Manifests[n.Epoch] != nil {
					t.Errorf("%s is told as not readable", name)
				}
			}
			lost := 0
			for _, name := range c.facts.Objects {
				n, ok := checkpoint.ParseName(name)
				if ok && n.Kind == checkpoint.KindManifest && n.History == 1 && c.facts.Manifests[n.Epoch] == nil {
					lost++
				}
			}
			if len(got.Unreadable) != lost && len(c.want) > 0 {
				t.Errorf("told as not readable are %q, of %d", got.Unreadable, lost)
			}
		})
	}
}

// TestSweepGoesOn: what cannot be deleted is no reason to leave the rest.
func TestSweepGoesOn(t *testing.T) {
	d := disk.New(1)
	j, _, err := start(t, openFolder(t, d), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	denied := errors.New("denied")
	d.Inject(func(op disk.Op) error {
		if op.Kind == disk.Remove && strings.HasSuffix(op.Path, "1.manifest") {
			return denied
		}
		return nil
	})
	for i := range 3 {
		j.work()
		if err := j.checkpoint(); errors.Is(err, denied) != (i == 2) {
			t.Errorf("checkpoint %d: %v", i+1, err)
		}
	}
	if files := d.Files(statePath); !slices.Contains(files, "1-000001.manifest") || slices.Contains(files, "1-000001.committed") {
		t.Errorf("left are %q", files)
	}
	d.Inject(nil)
	if _, err := checkpoint.Sweep(j.store, checkpoint.GarbageFacts{History: 1, Retained: 2}); err != nil || slices.Contains(d.Files(statePath), "1-000001.manifest") {
		t.Errorf("left are %q, error %v", d.Files(statePath), err)
	}
}

// TestSweepDoesNotGuess: a manifest that cannot be read just now may need anything.
func TestSweepDoesNotGuess(t *testing.T) {
	d := disk.New(1)
	j, _, err := start(t, openFolder(t, d), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		j.work()
		if err := j.checkpoint(); err != nil {
			t.Fatal(err)
		}
	}
	before := d.Files(statePath)
	denied := errors.New("denied")
	d.Inject(func(op disk.Op) error {
		if op.Kind == disk.Open && strings.HasSuffix(op.Path, "3.manifest") {
			return denied
		}
		return nil
	})
	if _, err := checkpoint.Sweep(j.store, checkpoint.GarbageFacts{History: 1, Retained: 1}); !errors.Is(err, denied) || !slices.Equal(before, d.Files(statePath)) {
		t.Errorf("%v; of %q are left %q", err, before, d.Files(statePath))
	}
}

func TestPlanMerge(t *testing.T) {
	const k = 1 << 10
	for _, c := range []struct {
		files string // B is a base, d a delta, by KiB; oldest first
		want  string
	}{
		{"", "none"},
		{"d9000", "none"}, // a file by itself is as good as any
		{"B9000", "none"},
		{"d600 d600", "base of 2"}, // more than 1 MiB, and no base
		{"d400 d400", "none"},
		{"B2000 d3000 d2900", "none"},
		{"B2000 d3000 d3100", "base of 3"},
		{"B9000 d10 d10 d10 d10 d10 d10 d10 d10", "none"},
		{"B9000 d10 d10 d10 d10 d10 d10 d10 d10 d10", "merged of 9"},
		{"B9000 d90 d10 d10 d10 d10 d10 d10 d10 d10", "merged of 9"}, // 90 is not more than twice 80
		{"B9000 d170 d10 d10 d10 d10 d10 d10 d10 d10", "merged of 8"},
		{"B180 d10 d10 d10 d10 d10 d10 d10 d10 d10", "base of 10"},
		{"d10 d10 d10 d10 d10 d10 d10 d10 d10", "base of 9"},
		{"B9000 d512 d256 d128 d64 d32 d16 d8 d4 d1", "merged of 9"}, // at least half of 9, and then all as they fit
		{"B999999 d65536 d16384 d4096 d1024 d256 d64 d16 d4 d1", "merged of 5"},
	} {
		var files []checkpoint.FileRef
		for i, f := range strings.Fields(c.files) {
			var size int64
			if _, err := fmt.Sscan(f[1:], &size); err != nil {
				t.Fatal(err)
			}
			files = append(files, checkpoint.FileRef{Name: fmt.Sprint(i), Epoch: int64(i + 1), Bytes: size * k, Base: f[0] == 'B'})
		}
		plan, ok := checkpoint.PlanMerge(files, checkpoint.MergeLimits{DeltasMax: 8})
		got := "none"
		if ok {
			got = fmt.Sprintf("%s of %d", plan.Kind(), len(plan.Files))
			if !slices.Equal(plan.Files, files[len(files)-len(plan.Files):]) || plan.Epoch() != int64(len(files)) {
				t.Errorf("%s: the plan has %v of epoch %d, which are not the newest", c.files, plan.Files, plan.Epoch())
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, not %s", c.files, got, c.want)
		}
	}
}

// TestMergesAreRareAndFilesFew plays a thousand checkpoints in which 1 % of the state changes, and none of it twice
// before a base is made.
func TestMergesAreRareAndFilesFew(t *testing.T) {
	const base = 40 << 20
	files := []checkpoint.FileRef{{Base: true, Bytes: base}}
	var written, merged int64
	most := 0
	for epoch := int64(1); epoch <= 1000; epoch++ {
		files = append(files, checkpoint.FileRef{Epoch: epoch, Bytes: base / 100})
		written += base / 100
		most = max(most, len(files))
		plan, ok := checkpoint.PlanMerge(files, checkpoint.MergeLimits{})
		if !ok {
			continue
		}
		result := checkpoint.FileRef{Base: plan.Base, Epoch: plan.Epoch()}
		for _, f := range plan.Files {
			result.Bytes += f.Bytes
		}
		if plan.Base {
			result.Bytes = base
		}
		merged += result.Bytes
		if files, ok = plan.Apply(files, result); !ok {
			t.Fatal("the plan cannot be applied")
		}
	}
	t.Logf("%d files at most; merges write %.1f times what checkpoints write", most, float64(merged)/float64(written))
	if most > 26 || merged > 3*written {
		t.Errorf("%d files at most; merges write %.1f times what checkpoints write", most, float64(merged)/float64(written))
	}
}

func TestApply(t *testing.T) {
	ref := func(epoch int64) checkpoint.FileRef { return checkpoint.FileRef{Epoch: epoch, Bytes: 10 << 20} }
	plan, ok := checkpoint.PlanMerge([]checkpoint.FileRef{ref(1), ref(2)}, checkpoint.MergeLimits{})
	if !ok {
		t.Fatal("no plan")
	}
	merged := checkpoint.FileRef{Name: "merged", Epoch: 2}
	// A delta has come meanwhile.
	if got, ok := plan.Apply([]checkpoint.FileRef{ref(1), ref(2), ref(3)}, merged); !ok || !slices.Equal(got, []checkpoint.FileRef{merged, ref(3)}) {
		t.Errorf("%v, %t", got, ok)
	}
	for _, others := range [][]checkpoint.FileRef{nil, {ref(1)}, {ref(2), ref(3)}, {ref(1), ref(3), ref(2)}} {
		if got, ok := plan.Apply(others, merged); ok {
			t.Errorf("a plan of other files than %v makes %v of them", others, got)
		}
	}
}
