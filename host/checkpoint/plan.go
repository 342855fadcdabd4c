package checkpoint

import "slices"

// MergeLimits is when files are merged; zero values are the defaults.
type MergeLimits struct {
	// DeltasMax is how many deltas a task may have without a merge; default 24.
	DeltasMax int
	// BytesMin is how much the deltas must be for their size to be a reason; default 1 MiB.
	BytesMin int64
}

// MergePlan is a merge to be made: of these files, the oldest first, into a base or into one delta.
type MergePlan struct {
	Files []FileRef
	Base  bool
}

// outgrown is how many times a base the deltas on it may be.
const outgrown = 3

// PlanMerge decides what to merge of the files that one task of a step goes on from, the oldest first; it is false if
// nothing needs to be. Two things are to be bounded: what recovery reads, so the deltas together are not to outgrow three
// times the base, of which a state that changes all the time would be merged with each checkpoint otherwise; and how many files there are, though a base is too large to be rewritten for every 25th small delta. So with too
// many deltas the newest are made one, and of older ones those that are no more than twice as large as what is merged
// already: each record is rewritten a number of times that grows with the logarithm of the state.
func PlanMerge(files []FileRef, limits MergeLimits) (MergePlan, bool) {
	if limits.DeltasMax <= 0 {
		limits.DeltasMax = 24
	}
	if limits.BytesMin <= 0 {
		limits.BytesMin = 1 << 20
	}
	var deltas int
	var deltaBytes, baseBytes int64
	for _, f := range files {
		if f.Base {
			baseBytes += f.Bytes
		} else {
			deltas++
			deltaBytes += f.Bytes
		}
	}
	switch {
	case deltas == 0, len(files) < 2:
		return MergePlan{}, false
	case deltaBytes > max(outgrown*baseBytes, limits.BytesMin):
		return MergePlan{Files: slices.Clone(files), Base: true}, true
	case deltas <= limits.DeltasMax:
		return MergePlan{}, false
	}
	first := len(files) - 1
	gathered := files[first].Bytes
	least := (deltas + 1) / 2 // so that the number falls, whatever the sizes
	for first > 0 && (files[first-1].Bytes <= 2*gathered || len(files)-first < least) {
		first--
		gathered += files[first].Bytes
	}
	return MergePlan{Files: slices.Clone(files[first:]), Base: first == 0}, true
}

// Epoch is the newest of which the result has changes.
func (p MergePlan) Epoch() int64 {
	var epoch int64
	for _, f := range p.Files {
		epoch = max(epoch, f.Epoch)
	}
	return epoch
}

// Kind is that of the result.
func (p MergePlan) Kind() Kind {
	if p.Base {
		return KindBase
	}
	return KindMerged
}

// Apply puts the merged file in place of those that it was made of. Others may have come behind them meanwhile. It is
// false if they are not there any more, one behind the other.
func (p MergePlan) Apply(files []FileRef, merged FileRef) ([]FileRef, bool) {
	if len(p.Files) == 0 {
		return nil, false
	}
	at := slices.Index(files, p.Files[0])
	if at < 0 || len(files)-at < len(p.Files) || !slices.Equal(files[at:at+len(p.Files)], p.Files) {
		return nil, false
	}
	return slices.Concat(files[:at], []FileRef{merged}, files[at+len(p.Files):]), true
}

// Ref is how a manifest names a file that was written.
func Ref(name string, s FileSummary, epoch int64, groups Groups) FileRef {
	n, _ := ParseName(name)
	return FileRef{
		Name: name, Bytes: s.Bytes, Checksum: s.Checksum, Base: n.Kind == KindBase, Epoch: epoch, Groups: groups,
	}
}
