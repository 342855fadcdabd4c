package abi

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ParseManifest reads the content of the custom section ManifestSection. It does not validate: what a broken manifest
// says is still worth showing.
func ParseManifest(section []byte) (*Manifest, error) {
	if len(section) > ManifestBytesMax {
		return nil, fmt.Errorf("abi: the manifest has %d bytes, the limit is %d", len(section), ManifestBytesMax)
	}
	m := &Manifest{}
	if functions, parts := counted(section, m.ProtoReflect().Descriptor()); functions > FunctionsMax || parts > partsMin+len(section)/partBytes {
		return nil, fmt.Errorf("abi: the manifest of %d bytes has %d functions and %d parts; the limits are %d and %d",
			len(section), functions, parts, FunctionsMax, partsMin+len(section)/partBytes)
	}
	if err := proto.Unmarshal(section, m); err != nil {
		return nil, fmt.Errorf("abi: the manifest is not what manifest.proto describes: %w", err)
	}
	return m, nil
}

// A part of a sound manifest, a function, schema, field, state or parameter, has partBytes at least on the average: an
// empty one has two, and costs a hundred to read.
const (
	partBytes = 5
	partsMin  = 32
)

// counted counts the parts of a message, before there is memory for them: those that it has itself, and all. What is
// broken is not counted, and for the reader to refuse.
func counted(b []byte, d protoreflect.MessageDescriptor) (own, all int) {
	for len(b) > 0 {
		number, kind, head := protowire.ConsumeTag(b)
		if head < 0 {
			return own, all
		}
		length := protowire.ConsumeFieldValue(number, kind, b[head:])
		if length < 0 {
			return own, all
		}
		if f := d.Fields().ByNumber(number); f != nil && f.Message() != nil && kind == protowire.BytesType {
			part, _ := protowire.ConsumeBytes(b[head:])
			_, below := counted(part, f.Message())
			own, all = own+1, all+1+below
		}
		b = b[head+length:]
	}
	return own, all
}

// ParseManifestJSON reads a manifest as protobuf JSON: what wasmstream_describe answers, and manifest.json files.
func ParseManifestJSON(text []byte) (*Manifest, error) {
	if len(text) > ManifestBytesMax {
		return nil, fmt.Errorf("abi: the manifest has %d bytes, the limit is %d", len(text), ManifestBytesMax)
	}
	m := &Manifest{}
	if err := protojson.Unmarshal(text, m); err != nil {
		if unknown := unknownField(text); unknown != nil {
			err = unknown
		}
		return nil, fmt.Errorf("abi: the manifest is not the JSON of manifest.proto: %w", err)
	}
	return m, nil
}

// JSON is the manifest as protobuf JSON.
func (m *Manifest) JSON() ([]byte, error) { return protojson.Marshal(m) }

// FunctionIndex returns the index of the function of that name, -1 if there is none.
func (m *Manifest) FunctionIndex(name string) int {
	return slices.IndexFunc(m.GetFunctions(), func(f *Function) bool { return f.GetName() == name })
}

// Validate names everything that is wrong: another version, missing, overlong or repeated names, unknown roles, schemas
// that the role needs. Whether types are types is for the reader of types to say.
func (m *Manifest) Validate() error {
	var errs []error
	if v := m.GetAbiVersion(); v != Version {
		errs = append(errs, fmt.Errorf("ABI version %d, this host speaks %d", v, Version))
	}
	functions := m.GetFunctions()
	if len(functions) == 0 {
		errs = append(errs, errors.New("no functions"))
	}
	if len(functions) > FunctionsMax {
		// Checked before the loop: what follows may then take its time.
		return fmt.Errorf("abi: manifest: %d functions, the limit is %d", len(functions), FunctionsMax)
	}
	seen, fields := names{}, names{}
	for i, f := range functions {
		what := fmt.Sprintf("function %q", clipped(f.GetName()))
		if f.GetName() == "" {
			what = fmt.Sprintf("function %d", i)
		}
		list := problems{what: what, fields: fields}
		list.name(seen, "", f.GetName())
		list.function(f)
		if errs = append(errs, list.errs...); len(errs) >= problemsMax {
			errs = append(errs, errors.New("and more is not looked at"))
			break
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("abi: manifest: %w", errors.Join(errs...))
}

// names are those seen so far.
type names map[string]bool

// problemsMax is with how many problems a manifest is looked at no further: two hostile bytes can be many words each.
const problemsMax = 5

// problems collects what is wrong with one function.
type problems struct {
	what   string
	errs   []error
	fields names // of the schema that is looked at
}

func (p *problems) add(format string, args ...any) {
	if p.enough() {
		return
	}
	for i, a := range args {
		if text, ok := a.(string); ok && len(text) > NameBytesMax {
			args[i] = clipped(text)
		}
	}
	p.errs = append(p.errs, errors.New(p.what+": "+fmt.Sprintf(format, args...)))
}

// enough tells that nothing that is wrong would be told any more.
func (p *problems) enough() bool { return len(p.errs) >= problemsMax }

// clipped is as much of a text as a name may have: what is longer would be told over and over.
func clipped(text string) string {
	if len(text) > NameBytesMax {
		return text[:NameBytesMax] + "…"
	}
	return text
}

// name checks a name of a list and remembers it. prefix tells what it names, with a space, or is empty.
func (p *problems) name(seen names, prefix, name string) {
	switch {
	case name == "":
		p.add("%shas no name", prefix)
	case len(name) > NameBytesMax:
		p.add("%sname of %d bytes, the limit is %d", prefix, len(name), NameBytesMax)
	case !isName(name):
		p.add("%s%q is not a name: letters, digits, _ and -, not a digit or - first", prefix, name)
	case seen[name]:
		p.add("%s%q is there twice", prefix, name)
	}
	seen[name] = true
}

// isName holds names to what a job file can say without quoting, so that "module.function" has one meaning.
func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return true
}

func (p *problems) function(f *Function) {
	p.choice("role", f.GetRole(), Roles)
	p.schema("input", f.GetInput())
	p.schema("second input", f.GetSecondInput())
	p.schema("accumulator", f.GetAccumulator())
	p.schema("output", f.GetOutput())
	p.schema("key", f.GetKey())
	p.role(f)
	outputs, parameters, states := names{"failed": true}, names{}, names{}
	if len(f.GetNamedOutputs()) > FieldsMax || len(f.GetParameters()) > FieldsMax || len(f.GetStates()) > FieldsMax {
		p.add("more than %d named outputs, parameters or states", FieldsMax)
		return
	}
	for _, o := range f.GetNamedOutputs() {
		p.name(outputs, "named output ", o.GetName())
		p.schema("named output "+o.GetName(), o.GetSchema())
	}
	for _, q := range f.GetParameters() {
		p.name(parameters, "parameter ", q.GetName())
		if q.GetType() == "" {
			p.add("parameter %q has no type", q.GetName())
		}
	}
	for _, s := range f.GetStates() {
		p.name(states, "state ", s.GetName())
		p.state(s)
	}
}

// need is what a role makes of one of a function's schemas.
type need uint8

const (
	never  need = iota // it has no meaning there
	may                // it may be left out: the function then reads none of it
	fields             // columns
	either             // columns, or any
	answer             // columns; or left out where the input is any: open answers them
)

// needsOf is what roles need beside what all have: a name, parameters.
type needsOf struct {
	input, second, accumulator, output need
	outputs                            bool     // named ones
	states                             []string // scopes
}

var roleNeeds = map[string]needsOf{
	RoleMap:              {input: either, output: answer},
	RoleFilter:           {input: either},
	RoleFlatMap:          {input: either, output: answer, outputs: true},
	RoleKey:              {input: either, output: answer},
	RoleTimestamp:        {input: either},
	RoleAggregate:        {input: either, accumulator: fields, output: answer},
	RoleReduce:           {input: either},
	RoleApply:            {input: either, output: answer, outputs: true, states: []string{ScopeKey, ScopeWindow}},
	RoleAssigner:         {input: may},
	RoleTrigger:          {input: may, states: []string{ScopeWindow}},
	RoleEvictor:          {input: may},
	RoleProcess:          {input: either, output: answer, outputs: true, states: []string{ScopeKey}},
	RoleCoProcess:        {input: either, second: either, output: answer, outputs: true, states: []string{ScopeKey}},
	RoleBroadcastProcess: {input: either, second: either, output: answer, outputs: true, states: []string{ScopeKey, ScopeBroadcast}},
	RoleJoin:             {input: either, second: either, output: answer},
	RoleCoGroup:          {input: either, second: either, output: answer, outputs: true},
	RoleEnrich:           {input: either, output: answer, outputs: true},
	RoleDecode:           {output: fields},
	RoleEncode:           {input: either},
}

// role holds a function against what its role needs.
func (p *problems) role(f *Function) {
	n, known := roleNeeds[f.GetRole()]
	if !known {
		return
	}
	isAny := f.GetInput().GetAny() || f.GetSecondInput().GetAny()
	p.needs(f, "input", f.GetInput(), n.input, isAny)
	p.needs(f, "second input", f.GetSecondInput(), n.second, isAny)
	p.needs(f, "accumulator", f.GetAccumulator(), n.accumulator, isAny)
	p.needs(f, "output", f.GetOutput(), n.output, isAny)
	if len(f.GetNamedOutputs()) > 0 && !n.outputs {
		p.add("a function of the role %s has no named outputs", f.GetRole())
	}
	for _, s := range f.GetStates() {
		if len(n.states) == 0 {
			p.add("state %q: a function of the role %s keeps no state", s.GetName(), f.GetRole())
		} else if slices.Contains(stateScopes, s.ScopeOrDefault()) && !slices.Contains(n.states, s.ScopeOrDefault()) {
			p.add("state %q: a function of the role %s has no state of scope %s; scopes are %v", s.GetName(), f.GetRole(), s.ScopeOrDefault(), n.states)
		}
	}
	if f.GetMerges() && f.GetRole() != RoleAssigner && f.GetRole() != RoleTrigger {
		p.add("merges is of assigners and triggers")
	}
	if f.GetProcessingTime() && f.GetRole() != RoleAssigner {
		p.add("processingTime is of assigners")
	}
}

// needs holds one schema of a function against what its role makes of it.
func (p *problems) needs(f *Function, what string, s *Schema, n need, isAny bool) {
	has := len(s.GetFields()) > 0
	switch {
	case n == never && (has || s.GetAny()):
		p.add("a function of the role %s has no %s", f.GetRole(), what)
	case s.GetAny() && n != either && n != may:
		p.add("%s: it must have fields, not any", what)
	case n == fields && !has, n == either && !has && !s.GetAny(), n == answer && !has && !isAny:
		p.add("a function of the role %s needs its %s's fields", f.GetRole(), what)
	}
}

func (p *problems) schema(what string, s *Schema) {
	if s.GetAny() && len(s.GetFields()) > 0 {
		p.add("%s: both any and fields", what)
	}
	if len(s.GetFields()) > FieldsMax {
		p.add("%s: %d fields, the limit is %d", what, len(s.GetFields()), FieldsMax)
		return
	}
	seen := p.fields
	clear(seen)
	for i, f := range s.GetFields() {
		if p.enough() {
			return
		}
		switch {
		case f.GetName() == "":
			p.add("%s: field %d has no name", what, i)
		case len(f.GetName()) > NameBytesMax:
			p.add("%s: field %d: name of %d bytes, the limit is %d", what, i, len(f.GetName()), NameBytesMax)
		case seen[f.GetName()]:
			p.add("%s: field %q is there twice", what, f.GetName())
		case f.GetType() == "":
			p.add("%s: field %q has no type", what, f.GetName())
		}
		seen[f.GetName()] = true
	}
}

// The kinds of state. Those of reducing and aggregating state are values to the host.
const (
	StateValue       = "value"
	StateList        = "list"
	StateMap         = "map"
	StateReducing    = "reducing"
	StateAggregating = "aggregating"
)

// The scopes of state.
const (
	ScopeKey       = "key"       // of a key
	ScopeWindow    = "window"    // of a key and window
	ScopeBroadcast = "broadcast" // of each task, the same in all
)

// What a state's time to live goes by.
const (
	UpdateWrite = "write" // a write begins it anew
	UpdateRead  = "read"  // a read does, too
	SeenNever   = "never" // what has outlived it is not seen
	SeenOnce    = "once"  // it is seen once, if it is still there
)

var (
	stateKinds      = []string{StateValue, StateList, StateMap, StateReducing, StateAggregating}
	stateScopes     = []string{ScopeKey, ScopeWindow, ScopeBroadcast}
	stateUpdates    = []string{"", UpdateWrite, UpdateRead}
	stateVisibility = []string{"", SeenNever, SeenOnce}
)

// ScopeOrDefault is whose the state is.
func (s *State) ScopeOrDefault() string {
	if s.GetScope() == "" {
		return ScopeKey
	}
	return s.GetScope()
}

// InSlot tells a state that is a slot of an op; the others are reached by host calls.
func (s *State) InSlot() bool { return s.GetKind() != StateList && s.GetKind() != StateMap }

func (p *problems) state(s *State) {
	what := fmt.Sprintf("state %q: ", s.GetName())
	p.choice(what+"kind", s.GetKind(), stateKinds)
	p.choice(what+"scope", s.ScopeOrDefault(), stateScopes)
	p.choice(what+"ttlUpdate", s.GetTtlUpdate(), stateUpdates)
	p.choice(what+"ttlVisibility", s.GetTtlVisibility(), stateVisibility)
	if (s.GetKind() == StateMap) != (len(s.GetKey().GetFields()) > 0) {
		p.add("state %q: a map, and only a map, has a key", s.GetName())
	}
	if len(s.GetValue().GetFields()) == 0 {
		p.add("state %q: its value has no fields", s.GetName())
	}
	if s.GetScope() == ScopeBroadcast && s.GetKind() != StateMap {
		p.add("state %q: broadcast state is a map", s.GetName())
	}
	if s.GetScope() == ScopeBroadcast && s.GetTtl() != "" {
		p.add("state %q: broadcast state has no ttl: each task would forget at a time of its own", s.GetName())
	}
	if s.GetTtl() == "" && (s.GetTtlUpdate() != "" || s.GetTtlVisibility() != "") {
		p.add("state %q: ttlUpdate and ttlVisibility need a ttl", s.GetName())
	}
	p.schema("state "+s.GetName()+" key", s.GetKey())
	p.schema("state "+s.GetName()+" value", s.GetValue())
}

// choice holds a word against those that it may be; one of them may be empty, for a default.
func (p *problems) choice(what, word string, all []string) {
	if slices.Contains(all, word) {
		return
	}
	if near := nearest(word, all); near != "" {
		p.add("%s %q is unknown; did you mean %q?", what, word, near)
		return
	}
	p.add("%s %q is unknown; there are %s", what, word, strings.Join(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == "" }), ", "))
}

// nearest returns the candidate with the fewest edits, if they are few enough to be a slip; else "".
func nearest(word string, candidates []string) string {
	if len(word) > NameBytesMax {
		return ""
	}
	best, bestEdits := "", max(1, len(word)/3)+1
	for _, c := range candidates {
		if len(word)-len(c) >= bestEdits || len(c)-len(word) >= bestEdits {
			continue
		}
		if n := edits(word, c); n < bestEdits {
			best, bestEdits = c, n
		}
	}
	return best
}

// edits is how many bytes are to be put in, left out, replaced or swapped with their neighbour.
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
