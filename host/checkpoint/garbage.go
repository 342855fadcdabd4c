package checkpoint

import (
	"errors"
	"fmt"
	"slices"
)

// GarbageFacts is what the decision about garbage rests on.
type GarbageFacts struct {
	History int
	// Objects are the names of all objects.
	Objects []string
	// Manifests are those of the history that could be read, by epoch. One that is an object and is not here could not.
	Manifests map[int64]*Manifest
	// Retained is how many checkpoints to keep, at least 1.
	Retained int
	// Pinned are files that are wanted though no manifest names them yet: those of a merge from its beginning until a
	// manifest with its result is durable.
	Pinned []string
	// Unsound are the epochs of checkpoints that are known to be damaged: they count for none of those to keep.
	Unsound []int64
}

// Garbage is what may be deleted, in this order, and what it was decided not to look into.
type Garbage struct {
	Delete []string
	// Unreadable are manifests that could not be read. They and all files up to their epochs are kept.
	Unreadable []string
}

// FindGarbage decides what may be deleted (invariant E). It is of the history alone: earlier ones are left for people to
// remove, who may have begun anew by mistake. And only
//
//   - manifests older than the Retained newest that are committed, not known to be damaged, and no savepoints, and then
//     their notes of commit, the manifest first: a note without its manifest is an old one, a manifest without its note
//     would be committed again;
//   - files up to the newest committed epoch that no manifest that is kept names, and that are not pinned. Files above
//     that epoch may belong to a checkpoint that is under way.
//
// Savepoints are kept with their files. So is a manifest that cannot be read, for it may be a savepoint, or be read
// another day; and with it all files up to its epoch, for it may name them.
func FindGarbage(f GarbageFacts) Garbage {
	c := collector{facts: f, objects: map[string]bool{}, named: map[string]bool{}}
	for _, name := range f.Objects {
		c.objects[name] = true
	}
	oldest, newest, ok := c.retained()
	if !ok {
		return c.garbage
	}
	c.manifests(oldest)
	c.files(newest)
	return c.garbage
}

type collector struct {
	facts      GarbageFacts
	objects    map[string]bool
	named      map[string]bool // files that are needed
	unreadable int64           // the newest epoch of a manifest that could not be read; 0: none
	garbage    Garbage
}

// retained returns the epochs of the oldest and the newest of the checkpoints to keep. With fewer than those to be
// retained no manifest is too old; with none at all it is false.
func (c *collector) retained() (oldest, newest int64, ok bool) {
	var epochs []int64
	for epoch, m := range c.facts.Manifests {
		if !m.Savepoint && !slices.Contains(c.facts.Unsound, epoch) && c.objects[ManifestName(c.facts.History, epoch)] && c.objects[CommittedName(c.facts.History, epoch)] {
			epochs = append(epochs, epoch)
		}
	}
	if len(epochs) == 0 {
		return 0, 0, false
	}
	slices.Sort(epochs)
	newest = epochs[len(epochs)-1]
	if keep := max(1, c.facts.Retained); keep <= len(epochs) {
		oldest = epochs[len(epochs)-keep]
	}
	return oldest, newest, true
}

// manifests decides about manifests and their notes, and gathers what those that stay need.
func (c *collector) manifests(oldest int64) {
	var old, notes []Name
	for _, n := range c.ours() {
		switch n.Kind {
		case KindManifest:
			switch m := c.facts.Manifests[n.Epoch]; {
			case m == nil:
				c.garbage.Unreadable = append(c.garbage.Unreadable, ManifestName(n.History, n.Epoch))
				c.unreadable = max(c.unreadable, n.Epoch)
			case n.Epoch < oldest && !m.Savepoint:
				old = append(old, n)
			default:
				for _, name := range m.FileNames() {
					c.named[name] = true
				}
			}
		case KindCommitted:
			m := c.facts.Manifests[n.Epoch]
			kept := m == nil && c.objects[ManifestName(n.History, n.Epoch)] || m != nil && m.Savepoint
			if n.Epoch < oldest && !kept {
				notes = append(notes, n)
			}
		}
	}
	for _, n := range old {
		c.garbage.Delete = append(c.garbage.Delete, ManifestName(n.History, n.Epoch))
	}
	for _, n := range notes {
		c.garbage.Delete = append(c.garbage.Delete, CommittedName(n.History, n.Epoch))
	}
}

func (c *collector) files(newest int64) {
	for _, text := range c.facts.Pinned {
		c.named[text] = true
	}
	for _, text := range c.facts.Objects {
		n, ok := ParseName(text)
		file := ok && n.History == c.facts.History && n.Kind.IsFile()
		if file && n.Epoch <= newest && n.Epoch > c.unreadable && !c.named[text] {
			c.garbage.Delete = append(c.garbage.Delete, text)
		}
	}
}

// ours are the names of the history, the oldest first.
func (c *collector) ours() []Name {
	var names []Name
	for _, text := range c.facts.Objects {
		if n, ok := ParseName(text); ok && n.History == c.facts.History {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b Name) int {
		if a.Epoch < b.Epoch {
			return -1
		}
		return int(min(1, a.Epoch-b.Epoch))
	})
	return names
}

// Sweep deletes the garbage of a history. Of the facts it finds out itself what lies in the store. It stops at nothing:
// what could not be deleted is tried again by the next one.
func Sweep(store Store, facts GarbageFacts) (_ Garbage, err error) {
	facts.Manifests = map[int64]*Manifest{}
	if facts.Objects, err = store.List(); err != nil {
		return Garbage{}, err
	}
	for _, name := range facts.Objects {
		n, ok := ParseName(name)
		if !ok || n.History != facts.History || n.Kind != KindManifest {
			continue
		}
		switch m, err := LoadManifest(store, name); {
		case err == nil:
			facts.Manifests[n.Epoch] = m
		case !damaged(err) && !errors.Is(err, ErrNewer):
			return Garbage{}, err // whether it is needed is known another time
		}
	}
	g := FindGarbage(facts)
	var errs []error
	for _, name := range g.Delete {
		if err := store.Delete(name); err != nil {
			errs = append(errs, fmt.Errorf("garbage: %w", err))
		}
	}
	return g, errors.Join(errs...)
}
