package conformance_test

import (
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/conformance"
)

// A module is for the suite whose functions it has, not for one that has another function
// of a name.
func TestChoose(t *testing.T) {
	all := suites(t)
	manifest := func(module string) *abi.Manifest {
		return proto.Clone(load(t, filepath.Join(wasmDir, module+".wasm")).Manifest()).(*abi.Manifest)
	}
	// only keeps functions of a name; other makes them differ from every suite.
	only := func(m *abi.Manifest, names string) *abi.Manifest {
		var kept []*abi.Function
		for _, f := range m.GetFunctions() {
			if strings.Contains(" "+names+" ", " "+f.GetName()+" ") {
				kept = append(kept, f)
			}
		}
		m.Functions = kept
		return m
	}
	other := func(m *abi.Manifest) *abi.Manifest {
		for _, f := range m.GetFunctions() {
			f.Parameters = append(f.Parameters, &abi.Parameter{Name: "another", Type: "BIGINT"})
		}
		return m
	}
	both := manifest("roles-c")
	both.Functions = append(both.Functions, manifest("stores-c").GetFunctions()...)
	for name, c := range map[string]struct {
		m    *abi.Manifest
		want string
	}{
		"roles":               {manifest("roles-c"), "roles"},
		"twins":               {manifest("twins-c"), "twins"},
		"delays":              {manifest("delays-c"), "delays"},
		"none":                {manifest("count-c"), ""},
		"two":                 {both, "roles stores"},
		"the shared name":     {only(manifest("twins-c"), "tumbling"), "twins"},
		"by names":            {other(manifest("twins-c")), "twins"},
		"by names of roles":   {other(only(manifest("roles-c"), "tumbling largest")), "roles"},
		"nobody's, ambiguous": {other(only(manifest("roles-c"), "tumbling")), "it has of the suite roles the same functions as of twins: tumbling; --suite says which is meant"},
	} {
		chosen, err := conformance.Choose(all, c.m)
		var names []string
		for _, s := range chosen {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); err == nil && got != c.want || err != nil && err.Error() != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}
