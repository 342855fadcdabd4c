package checkpoint_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/stream"
)

// full has a value in each field.
func full() *checkpoint.Manifest {
	return &checkpoint.Manifest{
		Job: "clicks", History: 2, Epoch: 42, TakenAt: 1_700_000_000_123, Final: true, Savepoint: true, MaxParallelism: 128,
		Steps: []checkpoint.Step{
			{Name: "per-user", Layout: "key STRING, window COUNT", Files: []checkpoint.FileRef{
				{Name: "2-000040-per-user-0.base", Bytes: 12345, Checksum: 0xdeadbeef, Base: true, Epoch: 39, Groups: checkpoint.Groups{From: 0, To: 64}},
				{Name: "2-000042-per-user-0.delta", Bytes: 123, Checksum: 7, Epoch: 42, Groups: checkpoint.Groups{From: 3, To: 128}},
			}},
			{Name: "pass", Layout: ""},
		},
		Sources: []checkpoint.Source{{Name: "in", Ended: true, Splits: []checkpoint.Split{
			{Name: "clicks-0", Position: connector.Position{Offset: 1 << 40, Record: 9}, MaxTime: 1_600_000_000_000, Identity: "00ff"},
			{Name: "clicks-1", MaxTime: stream.MinTime, Ended: true},
		}}},
		Sinks:   []checkpoint.Sink{{Name: "out", Connector: "kafka counts", Handover: []byte{0, 1, 2}}, {Name: "late"}},
		Modules: []checkpoint.Module{{Name: "m", Digest: "sha256:abc"}},
	}
}

func bytesOf(t testing.TB, m *checkpoint.Manifest) []byte {
	t.Helper()
	b, err := checkpoint.AppendManifest([]byte("before"), m)
	if err != nil {
		t.Fatal(err)
	}
	b, ok := bytes.CutPrefix(b, []byte("before"))
	if !ok {
		t.Fatal("it does not append")
	}
	return b
}

func TestManifestRoundTrip(t *testing.T) {
	for _, m := range []*checkpoint.Manifest{full(), {Epoch: 1, MaxParallelism: 1}} {
		got, err := checkpoint.ReadManifest("m", bytesOf(t, m))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	}
}

// TestManifestDamage spoils a manifest in every way; each is *Damaged, and names it.
func TestManifestDamage(t *testing.T) {
	spoil(bytesOf(t, full()), 1, func(how string, b []byte) {
		_, err := checkpoint.ReadManifest("the one", b)
		var d *checkpoint.Damaged
		if !errors.As(err, &d) || d.Object != "the one" {
			t.Errorf("%s: %v", how, err)
		}
	})
}

func TestManifestMakesNoSense(t *testing.T) {
	for _, c := range []struct {
		change func(*checkpoint.Manifest)
		want   string
	}{
		{func(m *checkpoint.Manifest) { m.MaxParallelism = 0 }, "max-parallelism is 0"},
		{func(m *checkpoint.Manifest) { m.MaxParallelism = stream.MaxParallelismLimit + 1 }, "max-parallelism is 32769"},
		{func(m *checkpoint.Manifest) { m.MaxParallelism = 100 }, "key groups 3 to 127 of 100"},
		{func(m *checkpoint.Manifest) { m.Epoch = -1 }, "epoch -1"},
		{func(m *checkpoint.Manifest) { m.Epoch = 41 }, "it is of epoch 42, the manifest of 41"},
		{func(m *checkpoint.Manifest) { m.Steps[1].Name = "per-user" }, `step "per-user" is there twice`},
		{func(m *checkpoint.Manifest) { m.Sources[0].Splits[1].Name = "clicks-0" }, `split of source in "clicks-0" is there twice`},
		{func(m *checkpoint.Manifest) { m.Sinks[1].Name = "out" }, `sink "out" is there twice`},
		{func(m *checkpoint.Manifest) { m.Steps[0].Files[0].Name = "../secret" }, "no name of a file"},
		{func(m *checkpoint.Manifest) { m.Steps[0].Files[0].Name = checkpoint.ManifestName(1, 1) }, "no name of a file"},
		{func(m *checkpoint.Manifest) { m.Steps[0].Files[0].Base = false }, "base is false"},
		{func(m *checkpoint.Manifest) { m.Steps[0].Files[0].Bytes = 3 }, "it has 3 bytes"},
		{func(m *checkpoint.Manifest) { m.Steps[0].Files[0].Groups = checkpoint.Groups{} }, "key groups none"},
	} {
		m := full()
		c.change(m)
		if _, err := checkpoint.AppendManifest(nil, m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("written: %v; it should say %q", err, c.want)
		}
	}
}

// framed is a manifest's frame around any record.
func framed(t testing.TB, r *checkpoint.ManifestRecord) []byte {
	t.Helper()
	body, err := proto.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return frame(body)
}

// TestNewerManifest: one that a newer version wrote is no damage. To take an older one instead would lose what it has.
func TestNewerManifest(t *testing.T) {
	store := checkpoint.NewMemory()
	older := &checkpoint.Manifest{Epoch: 1, History: 1, MaxParallelism: 1}
	if err := checkpoint.PutManifest(store, older); err != nil {
		t.Fatal(err)
	}
	newer := framed(t, &checkpoint.ManifestRecord{Format: checkpoint.FormatVersion + 1, History: 1, Epoch: 2, MaxParallelism: 1})
	if err := putBytes(store, checkpoint.ManifestName(1, 2), newer); err != nil {
		t.Fatal(err)
	}
	_, err := checkpoint.Recover(store)
	if !errors.Is(err, checkpoint.ErrNewer) || errors.As(err, new(*checkpoint.Damaged)) || !strings.Contains(err.Error(), "1-000002.manifest") {
		t.Errorf("error %v", err)
	}
	// A sound checksum is not enough: the fields are checked as well.
	_, err = checkpoint.ReadManifest("m", framed(t, &checkpoint.ManifestRecord{Format: 1, MaxParallelism: 1 << 31}))
	if !errors.As(err, new(*checkpoint.Damaged)) {
		t.Errorf("error %v", err)
	}
}

func putBytes(s checkpoint.Store, name string, b []byte) error {
	return s.Put(name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// TestRecoverChooses: objects of a store, made of manifests without files, and where a job goes on.
func TestRecoverChooses(t *testing.T) {
	for _, c := range []struct {
		name    string
		objects string // sound unless behind a !
		want    string
	}{
		{"nothing", "", "history 1 next 1 from the beginning"},
		{"others' objects", "readme x.manifest", "history 1 next 1 from the beginning"},
		{"a job that was stopped before its first checkpoint", "1-000001-s-0.delta", "history 1 next 2 from the beginning"},
		{"one", "1-000001.manifest 1-000001.committed", "history 1 next 2 from 1 committed"},
		{"not committed", "1-000001.manifest 1-000001.committed 1-000002.manifest", "history 1 next 3 from 2"},
		{"another under way", "1-000001.manifest 1-000001.committed 1-000002-s-0.delta", "history 1 next 3 from 1 committed"},
		{"of many digits", "1-999999.manifest 1-1000000.manifest", "history 1 next 1000001 from 1000000"},
		{"damaged", "1-000001.manifest 1-000001.committed !1-000002.manifest",
			"history 1 next 3 from 1 committed, 1-000002.manifest"},
		{"damaged, and was committed", "1-000001.manifest 1-000001.committed !1-000002.manifest 1-000002.committed",
			"history 1 next 3 from 1 committed, beyond 2, 1-000002.manifest"},
		{"gone, and was committed", "1-000001.manifest 1-000002.committed",
			"history 1 next 3 from 1, beyond 2, 1-000002.manifest"},
		{"two damaged", "1-000001.manifest !1-000002.manifest !1-000003.manifest",
			"history 1 next 4 from 1, 1-000003.manifest, 1-000002.manifest"},
		{"all damaged", "!1-000001.manifest !1-000002.manifest", "none sound of 1, 1-000002.manifest, 1-000001.manifest"},
		{"begun anew", "1-000007.manifest 1-000007.committed 2-000000.begun", "history 2 next 1 from the beginning"},
		{"begun anew, and went on", "1-000007.manifest 2-000000.begun 2-000001.manifest", "history 2 next 2 from 1"},
		{"begun anew and damaged: the old history does not count", "1-000007.manifest 2-000000.begun !2-000001.manifest",
			"none sound of 2, 2-000001.manifest"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := checkpoint.NewMemory()
			for _, name := range strings.Fields(c.objects) {
				name, bad := strings.CutPrefix(name, "!")
				n, _ := checkpoint.ParseName(name)
				b := bytesOf(t, &checkpoint.Manifest{History: n.History, Epoch: n.Epoch, MaxParallelism: 1})
				if bad {
					b[len(b)/2] ^= 4
				}
				if err := putBytes(store, name, b); err != nil {
					t.Fatal(err)
				}
			}
			r, err := checkpoint.Recover(store)
			if got := told(r, err); got != c.want {
				t.Errorf("%s\nnot %s", got, c.want)
			}
		})
	}
}

func told(r checkpoint.Recovery, err error) string {
	var b strings.Builder
	problems := r.Problems
	var none *checkpoint.NoneSound
	switch {
	case errors.As(err, &none):
		fmt.Fprintf(&b, "none sound of %d", none.History)
		problems = none.Problems
	case err != nil:
		return err.Error()
	case r.Manifest == nil:
		fmt.Fprintf(&b, "history %d next %d from the beginning", r.History, r.Next)
	default:
		fmt.Fprintf(&b, "history %d next %d from %d", r.History, r.Next, r.Manifest.Epoch)
	}
	if r.Committed {
		b.WriteString(" committed")
	}
	if r.CommittedBeyond != 0 {
		fmt.Fprintf(&b, ", beyond %d", r.CommittedBeyond)
	}
	for _, p := range problems {
		fmt.Fprintf(&b, ", %s", p.Object)
	}
	return b.String()
}

// TestManifestInAnothersPlace: a manifest under another's name is not that one.
func TestManifestInAnothersPlace(t *testing.T) {
	store := checkpoint.NewMemory()
	if err := putBytes(store, checkpoint.ManifestName(1, 2), bytesOf(t, &checkpoint.Manifest{History: 1, Epoch: 1, MaxParallelism: 1})); err != nil {
		t.Fatal(err)
	}
	_, err := checkpoint.LoadManifest(store, checkpoint.ManifestName(1, 2))
	if !errors.As(err, new(*checkpoint.Damaged)) || !strings.Contains(err.Error(), "epoch 1") {
		t.Errorf("error %v", err)
	}
}

// TestBegin: from then on the former history does not count, also after a crash before the first checkpoint.
func TestBegin(t *testing.T) {
	store, _ := made(t, 3)
	for want := 2; want < 4; want++ {
		began, err := checkpoint.Begin(store)
		if err != nil || began.History != want || began.Next != 1 || began.Manifest != nil {
			t.Errorf("%+v, error %v", began, err)
		}
		again, err := checkpoint.Recover(store)
		if err != nil || again.History != want || again.Manifest != nil {
			t.Errorf("%+v, error %v", again, err)
		}
	}
}

// failingStore fails as a store does that cannot be reached.
type failingStore struct {
	checkpoint.Store
	get string // only this one
}

var errAway = &checkpoint.Failed{Store: "away", Do: "open", Err: io.ErrNoProgress}

func (s failingStore) Get(name string) (checkpoint.Object, error) {
	if name == s.get {
		return nil, errAway
	}
	return s.Store.Get(name)
}

// TestStoreIsAway: what cannot be read now is no reason to go back to an older checkpoint.
func TestStoreIsAway(t *testing.T) {
	store, objects := made(t, 3)
	r, err := checkpoint.Recover(store)
	if err != nil {
		t.Fatal(err)
	}
	newest := append(r.Manifest.FileNames(), checkpoint.ManifestName(1, r.Manifest.Epoch))
	for name := range objects {
		_, err := checkpoint.Recover(failingStore{store, name})
		if needed := slices.Contains(newest, name); needed != errors.Is(err, errAway) || needed != checkpoint.Retryable(err) {
			t.Errorf("%s cannot be read: %v", name, err)
		}
	}
}
