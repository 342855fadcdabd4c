package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

// Named is anything of the definition that has a name and a number.
type Named struct {
	Name   string `yaml:"name"`
	Number uint32 `yaml:"number"`
	Doc    string `yaml:"doc"`
}

// field is a field of the header, of an op or of an effect.
type field struct {
	Name   string `yaml:"name"`
	Type   string `yaml:"type"`
	Offset uint32 `yaml:"offset"`
	Doc    string `yaml:"doc"`
}

// opKind is one kind of op.
type opKind struct {
	Named  `yaml:",inline"`
	Slot   string `yaml:"slot"`
	Row    string `yaml:"row"`
	Arg    string `yaml:"arg"`
	Answer string `yaml:"answer"`
}

// effectKind is one kind of effect.
type effectKind struct {
	Named   `yaml:",inline"`
	Aux     string `yaml:"aux"`
	Payload string `yaml:"payload"`
}

// role is what a function is.
type role struct {
	Named `yaml:",inline"`
	Ops   []string `yaml:"ops"`
}

// signature is an export or import.
type signature struct {
	Name      string `yaml:"name"`
	ID        string `yaml:"id"`
	Signature string `yaml:"signature"`
	Required  bool   `yaml:"required"`
	Doc       string `yaml:"doc"`
}

// limit is a number that hosts and guests hold to.
type limit struct {
	Name  string `yaml:"name"`
	Value uint32 `yaml:"value"`
	Doc   string `yaml:"doc"`
}

// definition is abi.yaml.
type definition struct {
	Version         uint32       `yaml:"version"`
	Exports         []signature  `yaml:"exports"`
	ImportModule    string       `yaml:"import-module"`
	Imports         []signature  `yaml:"imports"`
	LogLevels       []Named      `yaml:"log-levels"`
	HeaderBytes     uint32       `yaml:"header-bytes"`
	Header          []field      `yaml:"header"`
	OpBytes         uint32       `yaml:"op-bytes"`
	Op              []field      `yaml:"op"`
	SlotEntryBytes  uint32       `yaml:"slot-entry-bytes"`
	EffectBytes     uint32       `yaml:"effect-bytes"`
	Effect          []field      `yaml:"effect"`
	ContextBytes    uint32       `yaml:"context-bytes"`
	Context         []field      `yaml:"context"`
	Contexts        []limit      `yaml:"contexts"`
	ElementBytes    uint32       `yaml:"element-bytes"`
	Element         []field      `yaml:"element"`
	OpKinds         []opKind     `yaml:"op-kinds"`
	EffectKinds     []effectKind `yaml:"effect-kinds"`
	Roles           []role       `yaml:"roles"`
	Faults          []Named      `yaml:"faults"`
	NoSlot          uint32       `yaml:"no-slot"`
	TooLarge        uint64       `yaml:"too-large"`
	ManifestSection string       `yaml:"manifest-section"`
	Limits          []limit      `yaml:"limits"`
}

// load reads and checks the definition.
func load(path string) (*definition, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var d definition
	if err := yaml.UnmarshalWithOptions(text, &d, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range d.Exports {
		d.Exports[i].Name = strings.ReplaceAll(d.Exports[i].Name, "${version}", fmt.Sprint(d.Version))
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &d, nil
}

// check finds what would make bindings that contradict themselves: numbers or names given twice,
// fields that overlap, roles with unknown ops.
func (d *definition) check() error {
	var errs []error
	ops := map[string]bool{}
	for _, o := range d.OpKinds {
		ops[o.Name] = true
	}
	for _, r := range d.Roles {
		for _, o := range r.Ops {
			if !ops[o] {
				errs = append(errs, fmt.Errorf("role %s: unknown op %s", r.Name, o))
			}
		}
	}
	errs = append(errs, unique("op-kinds", names(d.OpKinds)), unique("effect-kinds", names(d.EffectKinds)),
		unique("faults", d.Faults), unique("log-levels", d.LogLevels),
		fieldsFit("header", d.Header, d.HeaderBytes), fieldsFit("op", d.Op, d.OpBytes), fieldsFit("effect", d.Effect, d.EffectBytes),
		fieldsFit("context", d.Context, d.ContextBytes), fieldsFit("element", d.Element, d.ElementBytes))
	return errors.Join(errs...)
}

// numbered lets one function look at all numbered lists.
type numbered interface{ base() Named }

func (n Named) base() Named { return n }

func names[T numbered](list []T) []Named {
	out := make([]Named, len(list))
	for i, e := range list {
		out[i] = e.base()
	}
	return out
}

func unique(list string, entries []Named) error {
	name, number := map[string]bool{}, map[uint32]bool{}
	for _, e := range entries {
		if name[e.Name] || number[e.Number] {
			return fmt.Errorf("%s: %s (%d) is there twice", list, e.Name, e.Number)
		}
		name[e.Name], number[e.Number] = true, true
	}
	return nil
}

func fieldsFit(what string, fields []field, total uint32) error {
	end := uint32(0)
	for _, f := range fields {
		if f.Offset < end || f.Offset%f.width() != 0 {
			return fmt.Errorf("%s: field %s at %d overlaps or is misaligned", what, f.Name, f.Offset)
		}
		end = f.Offset + f.width()
	}
	if end > total {
		return fmt.Errorf("%s: fields end at %d, beyond its %d bytes", what, end, total)
	}
	return nil
}

func (f field) width() uint32 {
	switch f.Type {
	case "u16":
		return 2
	case "i64":
		return 8
	}
	return 4
}

// typeName is the field's type; without one it is a u32.
func (f field) typeName() string {
	if f.Type == "" {
		return "u32"
	}
	return f.Type
}

// parameter is one of a signature, by its name and type.
type parameter struct{ name, of string }

// parameters are those of a function's signature.
func (s signature) parameters() (list []parameter) {
	inner, _, _ := strings.Cut(strings.TrimPrefix(s.Signature, "("), ")")
	for _, p := range strings.Split(inner, ", ") {
		if name, of, ok := strings.Cut(p, " "); ok {
			list = append(list, parameter{name, of})
		}
	}
	return list
}

// answers tells whether a function returns something.
func (s signature) answers() bool { return !strings.HasSuffix(s.Signature, "()") }

// isPointer tells a parameter that is an address in the guest's memory.
func (p parameter) isPointer() bool {
	return p.name == "pointer" || p.name == "key" || p.name == "value" || p.name == "after" || p.name == "into"
}

// words splits a name of the definition.
func words(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '-' || r == '_' })
}

// pascal makes "on-record" OnRecord.
func pascal(name string) string {
	var b strings.Builder
	for _, w := range words(name) {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}

// upper makes "on-record" ON_RECORD.
func upper(name string) string { return strings.ToUpper(strings.Join(words(name), "_")) }
