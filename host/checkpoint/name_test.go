package checkpoint_test

import (
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/stream"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("a long name of a step ", 20)
	for _, c := range []struct {
		got, want string
		name      checkpoint.Name
	}{
		{checkpoint.ManifestName(1, 42), "1-000042.manifest", checkpoint.Name{Kind: checkpoint.KindManifest, History: 1, Epoch: 42}},
		{checkpoint.CommittedName(12, 1234567), "12-1234567.committed", checkpoint.Name{Kind: checkpoint.KindCommitted, History: 12, Epoch: 1234567}},
		{checkpoint.BegunName(2), "2-000000.begun", checkpoint.Name{Kind: checkpoint.KindBegun, History: 2}},
		{
			checkpoint.FileName(1, 42, "per-user", 3, checkpoint.KindDelta), "1-000042-per-user-3.delta",
			checkpoint.Name{Kind: checkpoint.KindDelta, History: 1, Epoch: 42, Step: "per-user", Task: 3},
		},
		{
			checkpoint.FileName(1, 42, "perUser/ä.b-", 0, checkpoint.KindBase), "1-000042-per%55ser%2f%c3%a4%2eb--0.base",
			checkpoint.Name{Kind: checkpoint.KindBase, History: 1, Epoch: 42, Step: "per%55ser%2f%c3%a4%2eb-"},
		},
		{
			checkpoint.FileName(1, 42, "", 7, checkpoint.KindMerged), "1-000042--7.merged",
			checkpoint.Name{Kind: checkpoint.KindMerged, History: 1, Epoch: 42, Task: 7},
		},
	} {
		if c.got != c.want {
			t.Errorf("the name is %s, not %s", c.got, c.want)
		}
		if n, ok := checkpoint.ParseName(c.want); !ok || n != c.name {
			t.Errorf("%s is taken apart as %+v, %t", c.want, n, ok)
		}
		if err := checkpoint.CheckName(c.want); err != nil {
			t.Error(err)
		}
	}
	a, b := checkpoint.FileName(1, 1, long+"a", 9999, checkpoint.KindDelta), checkpoint.FileName(1, 1, long+"b", 9999, checkpoint.KindDelta)
	if a == b {
		t.Errorf("two steps have one name, %s", a)
	}
	if _, ok := checkpoint.ParseName(a); !ok || checkpoint.CheckName(a) != nil {
		t.Errorf("%s is no good name", a)
	}
}

func TestNamesOfOthers(t *testing.T) {
	for _, name := range []string{
		"", "x", "1-000042", "1-42.manifest", "1-0000042.manifest", "-1-000042.manifest", "1--00042.manifest", "+1-000042.manifest",
		"1-000042.Manifest", "1-000042.manifest.tmp", "1-000042-a.manifest", "1-000042.delta", "1-000042-a.delta", "1-000042-a-x.delta",
		"1-000042-a-01.delta", "1-000042-a-+1.delta", "1-+00042.manifest", "1-0000042-a-1.delta", "01-000042-a-1.delta", "1-99999999999999999999.manifest", "a-000042.manifest",
		"1-000042-a-1.other", "1-00004x.committed",
	} {
		if n, ok := checkpoint.ParseName(name); ok {
			t.Errorf("%q is taken for %+v", name, n)
		}
	}
}

// TestGroupsOf holds the ranges against stream.SubtaskOf, which says of each group who owns it.
func TestGroupsOf(t *testing.T) {
	for _, maxParallelism := range []int{1, 2, 7, 128, 1000, stream.MaxParallelismLimit} {
		for _, parallelism := range []int{1, 2, 3, 5, 7, 100, 128} {
			if parallelism > maxParallelism {
				continue
			}
			for g := range maxParallelism {
				group := stream.KeyGroup(g)
				owner := stream.SubtaskOf(group, maxParallelism, parallelism)
				for _, task := range []int{owner - 1, owner, owner + 1} {
					if task < 0 || task >= parallelism {
						continue
					}
					if has := checkpoint.GroupsOf(task, maxParallelism, parallelism).Has(group); has != (task == owner) {
						t.Fatalf("%d groups, %d tasks: task %d has group %d: %t; the owner is %d", maxParallelism, parallelism, task, g, has, owner)
					}
				}
			}
		}
	}
}

func TestGroupsAnd(t *testing.T) {
	groups := func(from, to stream.KeyGroup) checkpoint.Groups { return checkpoint.Groups{From: from, To: to} }
	for _, c := range []struct{ a, b, want checkpoint.Groups }{
		{groups(0, 10), groups(5, 20), groups(5, 10)},
		{groups(3, 4), checkpoint.AllGroups, groups(3, 4)},
		{groups(0, 5), groups(5, 9), groups(0, 0)},
		{groups(7, 9), groups(0, 0), groups(0, 0)},
	} {
		if got, back := c.a.And(c.b), c.b.And(c.a); got != c.want || back != c.want {
			t.Errorf("%s and %s: %s, %s, not %s", c.a, c.b, got, back, c.want)
		}
	}
}
