package checkpoint

import (
	"fmt"

	"github.com/wasmstream/wasmstream/host/stream"
)

// Groups are the key groups from From up to, and without, To.
type Groups struct {
	From, To stream.KeyGroup
}

// AllGroups are all key groups of any job.
var AllGroups = Groups{0, stream.MaxParallelismLimit}

// GroupsOf are those that a subtask owns: KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex.
func GroupsOf(task, maxParallelism, parallelism int) Groups {
	first := func(task int) stream.KeyGroup {
		return stream.KeyGroup((task*maxParallelism + parallelism - 1) / parallelism)
	}
	return Groups{first(task), first(task + 1)}
}

// Has says whether a group is one of them.
func (g Groups) Has(group stream.KeyGroup) bool { return g.From <= group && group < g.To }

// Empty says whether there are none.
func (g Groups) Empty() bool { return g.From >= g.To }

// And are those that are in both.
func (g Groups) And(o Groups) Groups {
	both := Groups{max(g.From, o.From), min(g.To, o.To)}
	if both.Empty() {
		return Groups{}
	}
	return both
}

// String writes them as people count: "0 to 63".
func (g Groups) String() string {
	if g.Empty() {
		return "none"
	}
	return fmt.Sprintf("%d to %d", g.From, g.To-1)
}
