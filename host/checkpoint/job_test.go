package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/sim/disk"
	"github.com/wasmstream/wasmstream/host/stream"
)

const maxParallelism = 16

// job makes checkpoints as the runtime does: its state is some counters, and its input is numbers. What its state must
// be after so many records is known without it, see stateAfter.
type job struct {
	store       checkpoint.Store
	seed        uint64
	parallelism int
	history     int
	epoch       int64 // of the next checkpoint
	records     int64 // of the input, so far
	files       []checkpoint.FileRef
	changed     map[uint64]bool
}

const recordsPerEpoch = 30

// key is what the nth record changes.
func key(seed uint64, n int64) uint64 {
	return rand.New(rand.NewPCG(seed, uint64(n))).Uint64N(400)
}

// deletes says that the nth record takes its key away.
func deletes(n int64) bool { return n%7 == 3 }

// stateAfter counts the input from its beginning.
func stateAfter(seed uint64, records int64) map[uint64]string {
	state := map[uint64]string{}
	for n := range records {
		if k := key(seed, n); deletes(n) {
			delete(state, k)
		} else {
			state[k] = fmt.Sprint(n)
		}
	}
	return state
}

// start recovers, checks what was recovered, and returns the job and the recovery.
func start(t testing.TB, store checkpoint.Store, seed uint64, parallelism int) (*job, checkpoint.Recovery, error) {
	r, err := checkpoint.Recover(store)
	if err != nil {
		return nil, r, err
	}
	j := &job{store: store, seed: seed, parallelism: parallelism, history: r.History, epoch: r.Next, changed: map[uint64]bool{}}
	if r.Manifest == nil {
		return j, r, nil
	}
	j.records = r.Manifest.Sources[0].Splits[0].Record
	for task := range parallelism {
		own := checkpoint.GroupsOf(task, maxParallelism, parallelism)
		j.files = append(j.files, checkpoint.RefsFor(r.Manifest.Steps[0].Files, own)...)
	}
	state, err := j.load()
	if err != nil {
		return nil, r, err
	}
	if want := stateAfter(seed, j.records); !reflect.DeepEqual(state, want) {
		t.Fatalf("epoch %d: after %d records the state is %v, not %v", r.Manifest.Epoch, j.records, state, want)
	}
	return j, r, nil
}

func (j *job) load() (map[uint64]string, error) {
	state := map[uint64]string{}
	for task := range j.parallelism {
		files, err := checkpoint.OpenRefs(j.store, j.own(task))
		if err != nil {
			return nil, err
		}
		own := checkpoint.GroupsOf(task, maxParallelism, j.parallelism)
		for g := own.From; g < own.To; g++ {
			err = errors.Join(err, checkpoint.Load(files, checkpoint.Groups{From: g, To: g + 1}, func(key, value []byte) error {
				state[binary.LittleEndian.Uint64(key[8:])] = string(value)
				return nil
			}))
		}
		if err := errors.Join(err, checkpoint.CloseAll(files)); err != nil {
			return nil, err
		}
	}
	return state, nil
}

func (j *job) own(task int) []checkpoint.FileRef {
	return checkpoint.RefsFor(j.files, checkpoint.GroupsOf(task, maxParallelism, j.parallelism))
}

func (j *job) work() {
	for range recordsPerEpoch {
		j.changed[key(j.seed, j.records)] = true
		j.records++
	}
}

// checkpoint makes one, and is told by what went wrong. What it named is only forgotten when the manifest is durable.
func (j *job) checkpoint() error {
	epoch := j.epoch
	j.epoch++
	state := stateAfter(j.seed, j.records)
	var files []checkpoint.FileRef
	for task := range j.parallelism {
		own := j.own(task)
		own, err := j.merged(task, epoch, own)
		if err != nil {
			return err
		}
		ref, err := j.delta(task, epoch, state)
		if err != nil {
			return err
		}
		files = append(append(files, own...), ref)
	}
	err := checkpoint.PutManifest(j.store, &checkpoint.Manifest{
		Job: "counters", History: j.history, Epoch: epoch, MaxParallelism: maxParallelism,
		Steps: []checkpoint.Step{{Name: "count", Layout: "n", Files: files}},
		Sources: []checkpoint.Source{{Name: "in", Splits: []checkpoint.Split{{
			Name: "0", Position: connector.Position{Record: j.records},
		}}}},
	})
	if err != nil {
		return err
	}
	j.files = files
	clear(j.changed)
	if err := checkpoint.PutCommitted(j.store, j.history, epoch); err != nil {
		return err
	}
	_, err = checkpoint.Sweep(j.store, checkpoint.GarbageFacts{History: j.history, Retained: 2})
	return err
}

func (j *job) delta(task int, epoch int64, state map[uint64]string) (checkpoint.FileRef, error) {
	own := checkpoint.GroupsOf(task, maxParallelism, j.parallelism)
	var d checkpoint.Delta
	for k := range j.changed {
		g := stream.KeyGroup(k % maxParallelism)
		if !own.Has(g) {
			continue
		}
		if v, ok := state[k]; ok {
			d.Add(g, row(k), []byte(v))
		} else {
			d.Delete(g, row(k))
		}
	}
	name := checkpoint.FileName(j.history, epoch, "count", task, checkpoint.KindDelta)
	var s checkpoint.FileSummary
	err := j.store.Put(name, func(w io.Writer) (err error) {
		s, err = d.Write(w, nil)
		return err
	})
	return checkpoint.Ref(name, s, epoch, own), err
}

// merged makes one file of several, if there are too many.
func (j *job) merged(task int, epoch int64, refs []checkpoint.FileRef) ([]checkpoint.FileRef, error) {
	plan, ok := checkpoint.PlanMerge(refs, checkpoint.MergeLimits{DeltasMax: 2, BytesMin: 1000})
	if !ok {
		return refs, nil
	}
	files, err := checkpoint.OpenRefs(j.store, plan.Files)
	if err != nil {
		return nil, err
	}
	own := checkpoint.GroupsOf(task, maxParallelism, j.parallelism)
	name := checkpoint.FileName(j.history, epoch, "count", task, plan.Kind())
	var s checkpoint.FileSummary
	err = j.store.Put(name, func(w io.Writer) (err error) {
		s, err = checkpoint.Merge(w, files, checkpoint.MergeOptions{Groups: own, Delta: !plan.Base})
		return err
	})
	if err := errors.Join(err, checkpoint.CloseAll(files)); err != nil {
		return nil, err
	}
	refs, ok = plan.Apply(refs, checkpoint.Ref(name, s, plan.Epoch(), own))
	if !ok {
		return nil, errors.New("the files of the plan are not there")
	}
	return refs, nil
}

const statePath = "/state"

func openFolder(t testing.TB, d *disk.Disk) *folder.Store {
	t.Helper()
	s, err := folder.Open(d, statePath)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestJobOnMemory is the plain course of things, with parallelism changed at every start.
func TestJobOnMemory(t *testing.T) {
	store := checkpoint.NewMemory()
	kinds := map[checkpoint.Kind]bool{}
	for i, parallelism := range []int{1, 3, 2, 16, 5, 1, 4} {
		j, r, err := start(t, store, 1, parallelism)
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(i * 5 * recordsPerEpoch); j.records != want || len(r.Problems) > 0 || r.CommittedBeyond != 0 || r.Committed != (i > 0) {
			t.Errorf("start %d: %d records, not %d; %+v", i, j.records, want, r)
		}
		for range 5 {
			j.work()
			if err := j.checkpoint(); err != nil {
				t.Fatal(err)
			}
			for _, f := range j.files {
				n, _ := checkpoint.ParseName(f.Name)
				kinds[n.Kind] = true
			}
		}
	}
	if len(kinds) != 3 {
		t.Errorf("kinds of files: %v; merges should have come up", kinds)
	}
	names, err := store.List()
	if err != nil || len(names) > 80 {
		t.Errorf("%d objects are left after 35 checkpoints, error %v", len(names), err)
	}
}

// crashing runs a job over three checkpoints or until it is stopped, and returns how many records the newest manifest
// of which it knows has, and whether there was an error.
func crashing(t testing.TB, d *disk.Disk, seed uint64) (durable int64, last error) {
	store, err := folder.Open(d, statePath)
	if err != nil {
		return 0, err
	}
	j, r, err := start(t, store, seed, 1+int(seed%3))
	if err != nil {
		return 0, err
	}
	if r.Manifest != nil {
		durable = j.records
	}
	for range 3 {
		j.work()
		err := j.checkpoint()
		if err == nil {
			durable = j.records
		}
		last = errors.Join(last, err)
	}
	return durable, errors.Join(last, store.Close())
}

// TestCrashAtEachOperation ends the process before each disk operation of a job with three checkpoints, that starts from
// three others, and of its recovery. Whatever is lost, the next one starts from a checkpoint that is no older than the
// newest of which the process knew.
func TestCrashAtEachOperation(t *testing.T) {
	stops := 0
	for seed := range uint64(3) {
		for n := 1; ; n++ {
			d := disk.New(seed<<32 | uint64(n))
			before, err := crashing(t, d, seed)
			if err != nil {
				t.Fatal(err)
			}
			d.StopAt(d.Ops() + n)
			after, _ := crashing(t, d, seed)
			done := !d.Stopped()
			if n%2 == 0 {
				d.Kill()
			} else {
				d.Crash()
			}
			j, r, err := start(t, openFolder(t, d), seed, 2)
			if err != nil {
				t.Fatalf("seed %d, operation %d: %v", seed, n, err)
			}
			if least := max(before, after); j.records < least || len(r.Problems) > 0 {
				t.Errorf("seed %d, operation %d: %d records, at least %d were durable; problems %v", seed, n, j.records, least, r.Problems)
			}
			for range 2 { // it goes on
				j.work()
				if err := j.checkpoint(); err != nil {
					t.Fatal(err)
				}
			}
			if done {
				break
			}
			stops++
		}
	}
	t.Logf("%d stops", stops)
	if stops < 500 {
		t.Errorf("%d stops only", stops)
	}
}

// TestEachOperationFails fails each operation once: the job goes on, and so does the next one after a crash.
func TestEachOperationFails(t *testing.T) {
	failure := errors.New("injected")
	for _, fail := range []error{failure, disk.Done{Err: failure}} {
		for n := 1; ; n++ {
			d := disk.New(uint64(n))
			if _, err := crashing(t, d, 4); err != nil {
				t.Fatal(err)
			}
			at := d.Ops() + n
			d.FailAt(at, fail)
			durable, err := crashing(t, d, 4)
			if d.Ops() < at {
				break
			}
			if !errors.Is(err, failure) {
				t.Errorf("operation %d failed, and the job had %v", n, err)
			}
			d.Inject(nil)
			d.Crash()
			j, r, err := start(t, openFolder(t, d), 4, 3)
			if err != nil {
				t.Fatalf("operation %d failed: %v", n, err)
			}
			if j.records < durable || len(r.Problems) > 0 {
				t.Errorf("operation %d failed: %d records, at least %d were durable; problems %v", n, j.records, durable, r.Problems)
			}
		}
	}
}

// made is a store with some checkpoints in it, and what is in its objects.
func made(t testing.TB, checkpoints int) (checkpoint.Store, map[string][]byte) {
	t.Helper()
	store := checkpoint.NewMemory()
	j, _, err := start(t, store, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	for range checkpoints {
		j.work()
		if err := j.checkpoint(); err != nil {
			t.Fatal(err)
		}
	}
	objects := map[string][]byte{}
	names, err := store.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		o, err := store.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if objects[name], err = io.ReadAll(io.NewSectionReader(o, 0, o.Size())); err != nil {
			t.Fatal(err)
		}
	}
	return store, objects
}

func storeOf(t testing.TB, objects map[string][]byte) checkpoint.Store {
	t.Helper()
	s := checkpoint.NewMemory()
	for name, b := range objects {
		err := s.Put(name, func(w io.Writer) error {
			_, err := w.Write(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// spoil calls try with each way to spoil an object: a bit flipped in each byte, every length cut, a byte too many, and
// gone (nil).
func spoil(b []byte, seed uint64, try func(how string, b []byte)) {
	r := rand.New(rand.NewPCG(seed, 5))
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1 << r.IntN(8)
		try(fmt.Sprintf("bit flipped in byte %d of %d", i, len(b)), bad)
		try(fmt.Sprintf("cut to %d of %d bytes", i, len(b)), b[:i])
	}
	try("one byte more", append(bytes.Clone(b), 0))
	try("gone", nil)
}

// TestEachDamageIsFound spoils each object of the newest checkpoint in each way: it is named, and the older one taken.
func TestEachDamageIsFound(t *testing.T) {
	_, objects := made(t, 7)
	r, err := checkpoint.Recover(storeOf(t, objects))
	if err != nil {
		t.Fatal(err)
	}
	newest := r.Manifest
	older, err := checkpoint.LoadManifest(storeOf(t, objects), checkpoint.ManifestName(newest.History, newest.Epoch-1))
	if err != nil {
		t.Fatal(err)
	}
	own := []string{checkpoint.ManifestName(newest.History, newest.Epoch)}
	for _, name := range newest.FileNames() {
		if !slices.Contains(older.FileNames(), name) {
			own = append(own, name)
		}
	}
	if len(own) < 3 {
		t.Fatalf("the newest checkpoint's own objects are %q", own)
	}
	tries := 0
	for i, name := range own {
		sound := objects[name]
		spoil(sound, uint64(i), func(how string, b []byte) {
			tries++
			objects[name] = b
			if b == nil {
				delete(objects, name)
			}
			_, r, err := start(t, storeOf(t, objects), 1, 2)
			if err != nil || r.Manifest.Epoch != older.Epoch {
				t.Fatalf("%s %s: %+v, error %v", name, how, r, err)
			}
			if len(r.Problems) != 1 || r.Problems[0].Object != name || r.CommittedBeyond != newest.Epoch || r.Next != newest.Epoch+1 {
				t.Errorf("%s %s: %+v", name, how, r)
			}
		})
		objects[name] = sound
	}
	t.Logf("%d tries on %d objects", tries, len(own))
}

// TestNoneSound: with all checkpoints spoilt a job does not start, and is told of each.
func TestNoneSound(t *testing.T) {
	_, objects := made(t, 3)
	spoilt := maps.Clone(objects)
	want := []string{}
	for name := range objects {
		if n, _ := checkpoint.ParseName(name); n.Kind == checkpoint.KindManifest {
			spoilt[name] = objects[name][:20]
			want = append(want, name)
		}
	}
	_, err := checkpoint.Recover(storeOf(t, spoilt))
	var none *checkpoint.NoneSound
	if !errors.As(err, &none) {
		t.Fatalf("error %v", err)
	}
	var got []string
	for _, p := range none.Problems {
		got = append(got, p.Object)
	}
	slices.Sort(want)
	slices.Reverse(want)
	if len(want) != 2 || !slices.Equal(got, want) {
		t.Errorf("problems with %q, not %q", got, want)
	}
	// Even without any manifest: the notes tell that there were some.
	for _, name := range want {
		delete(spoilt, name)
	}
	if _, err := checkpoint.Recover(storeOf(t, spoilt)); !errors.As(err, &none) {
		t.Errorf("all manifests gone: %v", err)
	}
}

// TestSoundButAnother: a file whose every checksum is right, and that is not the one the manifest was made with.
func TestSoundButAnother(t *testing.T) {
	_, objects := made(t, 3)
	r, err := checkpoint.Recover(storeOf(t, objects))
	if err != nil {
		t.Fatal(err)
	}
	files := r.Manifest.Steps[0].Files
	name := files[len(files)-1].Name
	var d checkpoint.Delta
	first := true
	f := openBytes(t, objects[name])
	for _, g := range f.Groups() {
		err := f.Each(g, func(key, value []byte) error {
			if value = bytes.Clone(value); len(value) > 0 && first {
				value[0]++
				first = false
			}
			if value == nil {
				d.Delete(g, key)
			} else {
				d.Add(g, key, value)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	another, _ := write(t, &d)
	if len(another) != len(objects[name]) || bytes.Equal(another, objects[name]) {
		t.Fatalf("%d bytes are no other file of %d", len(another), len(objects[name]))
	}
	objects[name] = another
	got, err := checkpoint.Recover(storeOf(t, objects))
	if err != nil || got.Manifest.Epoch != r.Manifest.Epoch-1 || len(got.Problems) != 1 || got.Problems[0].Object != name {
		t.Errorf("%+v, error %v", got, err)
	}
}
