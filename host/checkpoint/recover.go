package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// Recovery is where a job goes on.
type Recovery struct {
	// History is the one to go on with, and Next an epoch that no object of it has, nor any later one (invariant D).
	History int
	Next    int64
	// Manifest is the newest sound checkpoint of that history; nil if none was ever made, to start from the beginning.
	Manifest *Manifest
	// Committed says that every sink has committed it. Else the hand-overs are to be committed once more.
	Committed bool
	// Begun says that the history was begun by Begin, if it has no checkpoint yet.
	Begun bool
	// CommittedBeyond is the newest epoch above the manifest's of which it is known that sinks have committed it; 0 if
	// there is none. What they made visible from the manifest's to that one will be made visible again.
	CommittedBeyond int64
	// Problems are why newer checkpoints were not taken.
	Problems []Problem
}

// Problem is an object that makes a checkpoint unsound.
type Problem struct {
	Epoch  int64
	Object string
	Err    error
}

// String tells it in one line.
func (p Problem) String() string { return fmt.Sprintf("checkpoint %d: %v", p.Epoch, p.Err) }

// NoneSound is that there are checkpoints, and none that a job could go on from. Starting anew is for people to decide.
type NoneSound struct {
	History  int
	Problems []Problem
}

// Error lists what is wrong with each.
func (n *NoneSound) Error() string {
	return fmt.Sprintf("no checkpoint of history %d is sound:%s\nto go on from an older history, name a manifest of it with --restore; starting anew would read all input again: ask for that with --fresh", n.History, listed(n.Problems))
}

// Unsound is that the checkpoint which was asked for is not.
type Unsound struct{ Problems []Problem }

// Error lists what is wrong with it.
func (u *Unsound) Error() string { return "the checkpoint is not sound:" + listed(u.Problems) }

func listed(problems []Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "\n  %s", p)
	}
	return b.String()
}

// Recover finds where to go on: the newest checkpoint of the greatest history of which every byte is sound.
func Recover(store Store) (Recovery, error) {
	names, err := store.List()
	if err != nil {
		return Recovery{}, err
	}
	s := surveyOf(names)
	r := Recovery{History: s.history, Next: s.next, Begun: s.begun}
	for _, epoch := range s.epochs {
		m, problems, err := examine(store, s.history, epoch)
		if err != nil {
			return Recovery{}, err
		}
		r.Problems = append(r.Problems, problems...)
		if len(problems) == 0 {
			r.Manifest = m
			break
		}
	}
	return s.decide(r)
}

// survey is what the names of objects tell.
type survey struct {
	history   int
	next      int64
	epochs    []int64        // with a manifest or a note of commit, newest first
	committed map[int64]bool // with a note of commit
	begun     bool           // by Begin
}

// surveyOf looks at the greatest history that was begun. Files alone do not show that: Import may not have come to its
// end.
func surveyOf(names []string) survey {
	s := survey{history: 1, next: 1, committed: map[int64]bool{}}
	for _, text := range names {
		if n, ok := ParseName(text); ok && !n.Kind.IsFile() {
			s.history = max(s.history, n.History)
		}
	}
	for _, text := range names {
		n, ok := ParseName(text)
		if !ok || n.History != s.history {
			continue
		}
		s.next = max(s.next, n.Epoch+1)
		switch n.Kind {
		case KindCommitted:
			s.committed[n.Epoch] = true
			s.epochs = append(s.epochs, n.Epoch)
		case KindBegun:
			s.begun = true
		case KindManifest:
			s.epochs = append(s.epochs, n.Epoch)
		}
	}
	slices.Sort(s.epochs)
	s.epochs = slices.Compact(s.epochs)
	slices.Reverse(s.epochs)
	return s
}

// decide completes what was found out.
func (s *survey) decide(r Recovery) (Recovery, error) {
	if r.Manifest == nil && len(s.epochs) > 0 {
		return Recovery{}, &NoneSound{History: s.history, Problems: r.Problems}
	}
	if r.Manifest == nil {
		return r, nil
	}
	r.Committed = s.committed[r.Manifest.Epoch]
	for epoch := range s.committed {
		if epoch > r.Manifest.Epoch {
			r.CommittedBeyond = max(r.CommittedBeyond, epoch)
		}
	}
	return r, nil
}

// examine reads a checkpoint wholly. What is wrong with it are problems; an error is the store's, or ErrNewer, which is
// no reason to take an older checkpoint.
func examine(store Store, history int, epoch int64) (*Manifest, []Problem, error) {
	name := ManifestName(history, epoch)
	m, err := LoadManifest(store, name)
	if damaged(err) {
		return nil, []Problem{{Epoch: epoch, Object: name, Err: err}}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	problems, err := Verify(store, m)
	return m, problems, err
}

// LoadManifest reads a manifest and makes sure that it is the one of its name.
func LoadManifest(store Store, name string) (*Manifest, error) {
	b, err := readObject(store, name)
	if err != nil {
		return nil, err
	}
	m, err := ReadManifest(name, b)
	if err != nil {
		return nil, err
	}
	if name != ManifestName(m.History, m.Epoch) {
		return nil, &Damaged{Object: name, Reason: fmt.Sprintf("it is the manifest of history %d, epoch %d", m.History, m.Epoch)}
	}
	return m, nil
}

// readObject reads a whole object.
func readObject(store Store, name string) ([]byte, error) {
	object, err := store.Get(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Damaged{Object: name, Reason: "it is not there"}
	}
	if err != nil {
		return nil, err
	}
	size := object.Size()
	if limit := int64(manifestBytesMax + manifestFrame); size > limit {
		return nil, errors.Join(&Damaged{Object: name, Reason: fmt.Sprintf("it has %d bytes; at most %d are possible", size, limit)}, object.Close())
	}
	b, err := io.ReadAll(io.NewSectionReader(object, 0, size))
	return b, errors.Join(err, object.Close())
}

// Verify reads all files of a checkpoint. What is wrong with them are problems, an error is the store's.
func Verify(store Store, m *Manifest) ([]Problem, error) {
	var problems []Problem
	seen := map[string]bool{}
	for i := range m.Steps {
		for _, ref := range m.Steps[i].Files {
			if seen[ref.Name] {
				continue
			}
			seen[ref.Name] = true
			switch err := verifyFile(store, ref); {
			case damaged(err):
				problems = append(problems, Problem{Epoch: m.Epoch, Object: ref.Name, Err: err})
			case err != nil:
				return nil, err
			}
		}
	}
	return problems, nil
}

func verifyFile(store Store, ref FileRef) error {
	f, err := OpenRef(store, ref)
	if err != nil {
		return err
	}
	return errors.Join(f.Verify(nil), f.Close())
}

func damaged(err error) bool {
	var d *Damaged
	return errors.As(err, &d)
}

// PutManifest makes a checkpoint be there. All the files that it names are durable by then (invariant A).
func PutManifest(store Store, m *Manifest) error {
	b, err := AppendManifest(nil, m)
	if err != nil {
		return err
	}
	return put(store, ManifestName(m.History, m.Epoch), b)
}

// PutCommitted notes that every sink has committed a checkpoint.
func PutCommitted(store Store, history int, epoch int64) error {
	return put(store, CommittedName(history, epoch), []byte("committed\n"))
}

// Begin begins a history anew: from then on Recover looks at no former one, also if the job ends before it has made a
// checkpoint.
func Begin(store Store) (Recovery, error) {
	history, err := unusedHistory(store)
	if err != nil {
		return Recovery{}, err
	}
	if err := put(store, BegunName(history), []byte("begun\n")); err != nil {
		return Recovery{}, err
	}
	return Recovery{History: history, Next: 1, Begun: true}, nil
}

// unusedHistory is a number above those of all objects.
func unusedHistory(store Store) (int, error) {
	names, err := store.List()
	history := 1
	for _, text := range names {
		if n, ok := ParseName(text); ok {
			history = max(history, n.History+1)
		}
	}
	return history, err
}

// Import begins a history with a checkpoint, of another store or of an older history of this one, as the one to go on
// from. Its files are copied first, so that a crash leaves either the former history or all of the new one.
func Import(to, from Store, m *Manifest, committed bool) error {
	problems, err := Verify(from, m)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return &Unsound{problems}
	}
	history, err := unusedHistory(to)
	if err != nil {
		return err
	}
	imported := *m
	imported.History, imported.Savepoint, imported.Steps = history, false, slices.Clone(m.Steps)
	copied := map[string]bool{}
	for i := range imported.Steps {
		files := slices.Clone(imported.Steps[i].Files)
		for j := range files {
			name := files[j].Name
			_, rest, _ := strings.Cut(name, "-")
			files[j].Name = fmt.Sprintf("%d-%s", history, rest)
			if copied[name] {
				continue
			}
			copied[name] = true
			if err := copyObject(to, files[j].Name, from, name); err != nil {
				return err
			}
		}
		imported.Steps[i].Files = files
	}
	if err := PutManifest(to, &imported); err != nil || !committed {
		return err
	}
	return PutCommitted(to, history, m.Epoch)
}

func copyObject(to Store, name string, from Store, old string) error {
	object, err := from.Get(old)
	if err != nil {
		return err
	}
	err = to.Put(name, func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(object, 0, object.Size()))
		return err
	})
	return errors.Join(err, object.Close())
}

func put(store Store, name string, b []byte) error {
	return store.Put(name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}
