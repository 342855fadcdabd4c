package job

import "slices"

// flinkReleases are those whose behaviour a job can ask for. The last is the
// default: it wrote the conformance scenarios.
var flinkReleases = []string{"1.20", "2.0", "2.1", "2.2", "2.3"}

// firstRelease says since which of flinkReleases a switch is on; -1: in none of
// them. FLINK-33192 and FLINK-35886 are in the last patches of all of them.
var firstRelease = []struct {
	name  string
	since int
	value func(*Compatibility) *bool
}{
	{"cleanup-after-empty-firing", 0, func(c *Compatibility) *bool { return &c.CleanupAfterEmptyFiring }},
	{"flush-when-all-idle", -1, func(c *Compatibility) *bool { return &c.FlushWhenAllIdle }},
	{"max-of-idle", slices.Index(flinkReleases, "2.2"), func(c *Compatibility) *bool { return &c.MaxOfIdle }},
	{"idle-clock-pauses", 0, func(c *Compatibility) *bool { return &c.IdleClockPauses }},
}

// compatibility fills the switches from the release and what is set by name.
func compatibility(n *node) Compatibility {
	c := Compatibility{Flink: flinkReleases[len(flinkReleases)-1]}
	if release := text(n.get("flink")); release != "" {
		c.Flink = release
	}
	for _, s := range firstRelease {
		*s.value(&c) = s.since >= 0 && slices.Index(flinkReleases, c.Flink) >= s.since
		if set := n.get(s.name); set != nil && set.ok {
			*s.value(&c) = isTrue(set)
		}
	}
	return c
}

// compatibility also warns of a switch that makes no difference: what FLINK-33192
// mended takes an aggregate without a result right after a record.
func (b *builder) compatibility(n *node) Compatibility {
	c := compatibility(n)
	if set := n.get("cleanup-after-empty-firing"); !c.CleanupAfterEmptyFiring && set != nil {
		b.warn(set, "compatibility.cleanup-after-empty-firing", "Every aggregate has a result once it has a record, so no window fires empty on one and cleanup-after-empty-firing makes no difference")
	}
	return c
}
