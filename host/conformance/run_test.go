package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/abi/conform"
	"github.com/wasmstream/wasmstream/host/conformance"
	"github.com/wasmstream/wasmstream/host/sandbox"
)

const wasmDir = "../../testdata/wasm"

type module struct{ *sandbox.Module }

func (m module) New() (conformance.Instance, error) {
	return m.Instantiate(context.Background(), sandbox.InstanceOptions{})
}

var cache string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		panic(err)
	}
	cache = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// load returns nil for a module that is refused.
func load(t *testing.T, path string) *module {
	t.Helper()
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := sandbox.NewEngine(context.Background(), sandbox.Options{CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	m, err := e.Load(context.Background(), strings.TrimSuffix(filepath.Base(path), ".wasm"), wasm)
	if errors.As(err, new(*sandbox.RefusedError)) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return &module{m}
}

func suites(t *testing.T) []conformance.Suite {
	t.Helper()
	all, err := conformance.Suites(abi.Vectors, "next/vectors")
	if err != nil || len(all) < 3 {
		t.Fatalf("%d suites, %v", len(all), err)
	}
	return all
}

func runSuite(t *testing.T, s *conformance.Suite, m *module) *conformance.Report {
	t.Helper()
	report, err := s.Run(m)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Every built module that is for a suite passes it; each suite has one.
func TestModules(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(wasmDir, "*.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range suites(t) {
		passed := 0
		for _, path := range files {
			if !strings.HasPrefix(filepath.Base(path), s.Name+"-") {
				continue
			}
			report := runSuite(t, &s, load(t, path))
			for _, r := range report.Results {
				if r.Problem != "" {
					t.Errorf("%s: %+v", path, r)
				}
			}
			if len(report.Absent) > 0 || len(report.Results) < len(s.Vectors) {
				t.Errorf("%s: %d results, without %v", path, len(report.Results), report.Absent)
			}
			passed++
		}
		if passed == 0 {
			t.Errorf("no module is for the suite %s", s.Name)
		}
	}
}

// Modules that do wrong fail the suite that they would be for.
func TestBadModulesFail(t *testing.T) {
	text, err := abi.Vectors.ReadFile("next/vectors/delays.json")
	if err != nil {
		t.Fatal(err)
	}
	file, err := conform.Read(bytes.Replace(text, []byte(`"name": "delays"`), []byte(`"name": "misbehaving"`), 1))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(wasmDir, "misbehaving-*.wasm"))
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		m := load(t, path)
		if m == nil {
			continue // it does not come as far as a suite
		}
		failed := 0
		s := conformance.Suite{Name: "delays", File: file}
		for _, r := range runSuite(t, &s, m).Results {
			if r.Problem != "" {
				failed++
			}
		}
		if failed == 0 {
			t.Errorf("%s passes", path)
		}
	}
}

// Each effect, state and fault that a vector has is looked at: with another one it fails.
func TestEachExpectationCounts(t *testing.T) {
	for _, s := range suites(t) {
		m := load(t, filepath.Join(wasmDir, s.Name+"-c.wasm"))
		for i, v := range s.Vectors {
			for name, altered := range alterations(t, s.File, i) {
				one := conformance.Suite{Name: s.Name, File: conform.File{Manifest: s.Manifest, Vectors: []conform.Vector{altered}}}
				for _, r := range runSuite(t, &one, m).Results {
					if r.Problem == "" && r.Way != conformance.OtherVersions {
						t.Errorf("%s, %s, %s: passes with another %s", s.Name, v.Name, r.Way, name)
					}
				}
			}
		}
	}
}

// alterations are copies of a vector with one expectation changed.
func alterations(t *testing.T, f conform.File, i int) map[string]conform.Vector {
	t.Helper()
	all := map[string]conform.Vector{}
	with := func(name string, change func(v *conform.Vector)) {
		v := f.Vectors[i]
		v.Frames = append([]conform.Frame(nil), v.Frames...)
		change(&v)
		all[name] = v
	}
	for n, frame := range f.Vectors[i].Frames {
		if len(frame.Effects) > 0 {
			with("op of an effect", func(v *conform.Vector) {
				v.Frames[n].Effects = bytes.Clone(frame.Effects)
				v.Frames[n].Effects[abi.EffectAtAux] ^= 1
			})
			with("effect less", func(v *conform.Vector) { v.Frames[n].Effects = nil })
		}
		for k, h := range frame.Holds {
			with("state", func(v *conform.Vector) {
				holds := append([]conform.Held(nil), frame.Holds...)
				if holds[k].Entries = nil; len(h.Entries) == 0 {
					row := make([]byte, 16)
					holds[k].Entries = append(holds[k].Entries, h.Entries...)
					holds[k].Entries = append(holds[k].Entries, [2]conform.Hex{nil, row})
				}
				v.Frames[n].Holds = holds
			})
		}
	}
	if f.Vectors[i].Fault != "" {
		with("fault", func(v *conform.Vector) { v.Fault = abi.FaultTrap.String() })
		with("message", func(v *conform.Vector) { v.Message += "!" })
	} else {
		with("end", func(v *conform.Vector) { v.Fault = abi.FaultFailed.String() })
	}
	return all
}

// What is wrong is told by op, with rows as values.
func TestProblemsAreTold(t *testing.T) {
	text, err := abi.Vectors.ReadFile("next/vectors/delays.json")
	if err != nil {
		t.Fatal(err)
	}
	file, err := conform.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	s := conformance.Suite{Name: "delays", File: file}
	v := &s.Vectors[2] // one flight
	s.Vectors = s.Vectors[2:3]
	effects := bytes.Clone(v.Frames[1].Effects)
	effects[abi.EffectBytes+16] = 8 // its delay_sum is 7
	v.Frames[1].Effects = effects
	m := load(t, filepath.Join(wasmDir, "delays-c.wasm"))
	r := runSuite(t, &s, m).Results[0]
	const want = "the answer must be: for op 2 emit to output 0, (flights 1, delay_sum 8, delay_max 7); it is: for op 2 emit to output 0, (flights 1, delay_sum 7, delay_max 7): column delay_sum is 7, not 8"
	if r.Frame != 1 || r.Op != "result 0" || r.Problem != want {
		t.Errorf("got %+v", r)
	}
	s.Manifest.Functions[0].Output.Fields[0].Type = "INT"
	if r := runSuite(t, &s, m).Results; len(r) != 1 || !strings.Contains(r[0].Problem, "its output in the manifest") {
		t.Errorf("got %+v", r)
	}
	s.Manifest.Functions[0].Name = "elsewhere"
	if r := runSuite(t, &s, m); len(r.Results) != 0 || len(r.Absent) != 1 {
		t.Errorf("got %+v", r)
	}
}

// careless is a guest that forgets a rule of the ABI that another host relies on.
type careless struct {
	conformance.Instance
	rule   string
	opened bool
	asked  bool
}

func (c *careless) Open(function uint32, frame []byte) ([]byte, error) {
	if c.rule == "opens once" && c.opened {
		return nil, nil
	}
	c.opened = true
	return c.Instance.Open(function, frame)
}

func (c *careless) In(size int) ([]byte, uint32, error) {
	c.asked = true
	return c.Instance.In(size)
}

func (c *careless) Call(function, pointer uint32, length int) ([]byte, error) {
	frame := c.Frame()
	h, err := abi.ReadHeader(frame[:length])
	switch {
	case c.rule == "takes any version" && err != nil:
		abi.PutHeader(frame, abi.Header{Total: uint32(length)})
	case c.rule == "passes over unknown ops" && abi.ReadOp(frame, int(h.OpsOffset)).Kind == 0xFFFF:
		return nil, nil
	case c.rule == "looks at the header's last bytes" && frame[abi.HeaderBytes-1] != 0,
		c.rule == "looks at flags" && abi.ReadOp(frame, int(h.OpsOffset)).Flags != 0,
		c.rule == "needs a buffer for each frame" && !c.asked:
		return nil, &sandbox.Fault{Kind: abi.FaultTrap}
	}
	c.asked = false
	return c.Instance.Call(function, pointer, length)
}

type carelessModule struct {
	*module
	rule string
}

func (m carelessModule) New() (conformance.Instance, error) {
	i, err := m.module.New()
	return &careless{Instance: i, rule: m.rule}, err
}

// What another host, or a later version, may do is asked of a guest, too.
func TestCarelessGuestsFail(t *testing.T) {
	for _, s := range suites(t) {
		if s.Name != "roles" {
			continue
		}
		m := load(t, filepath.Join(wasmDir, "roles-c.wasm"))
		for rule, way := range map[string]conformance.Way{
			"":                                 "",
			"opens once":                       conformance.OtherLayout,
			"looks at the header's last bytes": conformance.OtherLayout,
			"looks at flags":                   conformance.OtherLayout,
			"needs a buffer for each frame":    conformance.OtherLayout,
			"takes any version":                conformance.OtherVersions,
			"passes over unknown ops":          conformance.OtherVersions,
		} {
			report, err := s.Run(carelessModule{m, rule})
			if err != nil {
				t.Fatal(err)
			}
			found := conformance.Way("")
			for _, r := range report.Results {
				if r.Problem != "" {
					found = r.Way
				}
			}
			if found != way {
				t.Errorf("a guest that %s fails %q; want %q", rule, found, way)
			}
		}
	}
}
