package sandbox

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/wasmstream/wasmstream/abi"
)

// TestWrongManifestsCostLittle: what is wrong with a manifest is told in memory of 16 times
// its length, whatever is long, or often wrong, in it.
func TestWrongManifestsCostLittle(t *testing.T) {
	long := strings.Repeat("\x01", 300_000)
	one := &abi.Schema{Fields: []*abi.Field{{Name: "n", Type: "BIGINT"}}}
	some := func(f *abi.Function) *abi.Function {
		f.Role, f.Input, f.Accumulator, f.Output = orElse(f.Role, abi.RoleAggregate), one, one, one
		return f
	}
	fields := func(n int, name func(int) string, text string) *abi.Schema {
		s := &abi.Schema{}
		for i := range n {
			s.Fields = append(s.Fields, &abi.Field{Name: name(i), Type: text})
		}
		return s
	}
	short := func(i int) string { return string([]byte{'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/676)}) }
	same := func(int) string { return "n" }
	wide := func(s *abi.Schema) *abi.Function {
		return &abi.Function{Name: "f", Role: abi.RoleAggregate, Input: s, Accumulator: s, Output: s}
	}
	state := func(s *abi.State) *abi.Function {
		return &abi.Function{Name: "f", Role: abi.RoleProcess, Input: one, Output: one, Key: one, States: []*abi.State{s, s, s, s, s, s}}
	}
	many := func(n int, f func(i int) *abi.Function) (all []*abi.Function) {
		for i := range n {
			all = append(all, f(i))
		}
		return all
	}
	for name, functions := range map[string][]*abi.Function{
		"a long name":             {some(&abi.Function{Name: long})},
		"a long name with faults": {{Name: long, Role: "x", Merges: true, ProcessingTime: true, States: []*abi.State{{}, {}, {}, {}}}},
		"a long role":             {some(&abi.Function{Name: "f", Role: long})},
		"long names of columns":   {wide(fields(6, func(int) string { return long }, "INT"))},
		"long types of columns":   {wide(fields(6, short, long))},
		"long sound types":        {wide(fields(6, short, strings.Repeat("ARRAY<", 40_000)))},
		"wrong types":             {wide(fields(1000, short, "x"))},
		"no types":                {wide(fields(1000, short, ""))},
		"names twice":             {wide(fields(1000, same, "INT"))},
		"long words of a state":   {state(&abi.State{Name: long, Kind: long, Scope: long, TtlUpdate: long, TtlVisibility: long, Ttl: long, Value: one})},
		"a long time to live":     {state(&abi.State{Name: "s", Kind: abi.StateValue, Ttl: long, Value: one})},
		"a long parameter":        {some(&abi.Function{Name: "f", Parameters: []*abi.Parameter{{Name: long, Type: long, Default: &long}}})},
		"a long default":          {some(&abi.Function{Name: "f", Parameters: []*abi.Parameter{{Name: "p", Type: "INT", Default: &long}}})},
		"a long output":           {some(&abi.Function{Name: "f", Role: abi.RoleProcess, NamedOutputs: []*abi.NamedOutput{{Name: long, Schema: fields(8, same, "")}}})},
		"wrong functions":         many(200, func(int) *abi.Function { return &abi.Function{} }),
	} {
		t.Run(name, func(t *testing.T) {
			content, err := proto.Marshal(&abi.Manifest{Functions: functions})
			if err != nil {
				t.Fatal(err)
			}
			b := goodModule()
			b.custom[0].content = string(content)
			_, err = inspectCheaply(t, b.bytes())
			var refused *RefusedError
			if !errors.As(err, &refused) || refused.Kind != RefusedManifest || len(refused.Reason) > 4*reasonMax {
				t.Errorf("%.300v", err)
			}
		})
	}
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
