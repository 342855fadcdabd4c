package job

import (
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// call is where a step names a function: {wasm: module.function, with: {…}}.
type call struct {
	node  *node // the mapping
	path  string
	field string   // as an error calls the place: "aggregate"
	roles []string // that are right there
	// sides are what the function reads. One that is no side of the step, but what
	// another function made, has its schema only.
	sides []*side
	key   []stream.Field // of the step; nil: it has none, or it is not known
	keyed bool           // the step has a key
}

// called is a function that a step or source has bound, with whose columns its inputs
// are of.
type called struct {
	function *Function
	sides    []*side
}

// function binds a function to a step or source; nil if a problem stands against it.
func (b *builder) function(p *producer, c call) *Function {
	n := c.node.get("wasm")
	if text(n) == "" {
		return nil
	}
	at := c.path + ".wasm"
	m, declared, index := b.findFunction(n, at)
	if declared == nil {
		return nil
	}
	if !slices.Contains(c.roles, declared.GetRole()) {
		b.wrongRole(c, n, at, m, declared)
		return nil
	}
	f := &Function{Module: m, Name: declared.GetName(), Index: index, Role: declared.GetRole()}
	f.Limits = &b.job.Limits
	if p.step != nil {
		f.Limits = &p.step.Limits
	}
	f.Merges, f.ProcessingTime = declared.GetMerges(), declared.GetProcessingTime()
	sound := b.bindStates(f, declared, n, at)
	sound = b.bindInputs(p, f, declared, c, n, at) && sound
	sound = b.bindKey(f, declared, c, n, at) && sound
	sound = b.parameters(f, declared, c.node, c.path) && sound
	sound = b.bindAccumulator(f, declared, n, at) && sound
	if !b.bindOutputs(f, declared, sound, n, at) || !sound {
		return nil
	}
	p.functions = append(p.functions, called{f, c.sides})
	p.settleOutputs(f)
	p.settleOutputs(f)
	return f
}

// wrongRole names the functions of the module that would be right.
func (b *builder) wrongRole(c call, n *node, at string, m *Module, declared *abi.Function) {
	var right []string
	for _, f := range m.Manifest.GetFunctions() {
		if slices.Contains(c.roles, f.GetRole()) {
			right = append(right, m.Name+"."+f.GetName())
		}
	}
	hint := ""
	const shown = 3
	if len(right) > 0 {
		hint = ", such as " + strings.Join(right[:min(len(right), shown)], ", ")
	}
	b.wrong(n, at, "The function %s is of the role %s; %s needs one of the role %s%s", n.text, declared.GetRole(), c.field, strings.Join(c.roles, " or "), hint)
}

// findFunction looks up module and function by name.
func (b *builder) findFunction(n *node, at string) (*Module, *abi.Function, int) {
	module, name, _ := strings.Cut(n.text, ".")
	info := b.modules[module]
	if info == nil {
		known := make([]string, 0, len(b.modules))
		named(b.root.get("modules"), func(e entry) { known = append(known, e.key) })
		if len(known) == 0 {
			b.wrong(n, at, "There is no module %s: the job's modules declare none", quote(module))
			return nil, nil, 0
		}
		b.wrong(n, at, "There is no module %s%s", quote(module), b.suggest(module, known, "there are "))
		return nil, nil, 0
	}
	info.used = true
	if info.module == nil {
		return nil, nil, 0
	}
	index := info.module.Manifest.FunctionIndex(name)
	if index < 0 {
		var known []string
		for _, f := range info.module.Manifest.GetFunctions() {
			known = append(known, module+"."+f.GetName())
		}
		b.wrong(n, at, "The module %s has no function %s%s", module, quote(name), b.suggest(n.text, known, "its functions are "))
		return nil, nil, 0
	}
	return info.module, info.module.Manifest.GetFunctions()[index], index
}

// lookUp is the function that a mapping names, nil if there is none: for what must be
// known of it before it is bound, which is when problems are told.
func (b *builder) lookUp(n *node) *abi.Function {
	name := n.get("wasm")
	if text(name) == "" {
		return nil
	}
	module, function, _ := strings.Cut(name.text, ".")
	info := b.modules[module]
	if info == nil || info.module == nil {
		return nil
	}
	index := info.module.Manifest.FunctionIndex(function)
	if index < 0 {
		return nil
	}
	return info.module.Manifest.GetFunctions()[index]
}

// declared reads a schema of a manifest; nil if it cannot be used.
func (b *builder) declared(s *abi.Schema, what string, n *node, at string) *stream.Schema {
	var fields []stream.Field
	for _, f := range s.GetFields() {
		t, _, err := stream.ParseColumnType(f.GetType())
		if err != nil {
			b.wrong(n, at, "The function %s declares the field %s of its %s badly: %s", n.text, f.GetName(), what, err)
			return nil
		}
		if t.Kind == stream.Array || t.Kind == stream.Map || t.Kind == stream.RowType {
			b.later(n.line, n.column, at, "The function %s declares %s of its %s as %s; nested types are not offered yet", n.text, f.GetName(), what, t)
		}
		fields = append(fields, stream.Field{Name: f.GetName(), Type: t})
	}
	schema, err := stream.NewSchema(fields...)
	if err != nil {
		b.wrong(n, at, "The function %s declares its %s badly: %s", n.text, what, err)
		return nil
	}
	return schema
}

// bindInputs binds the input that a role has on each side that it reads.
func (b *builder) bindInputs(p *producer, f *Function, declared *abi.Function, c call, n *node, at string) bool {
	schemas := []*abi.Schema{declared.GetInput()}
	whats := []string{"input"}
	if inputsOf(f.Role) > 1 {
		schemas, whats = append(schemas, declared.GetSecondInput()), append(whats, "second input")
	}
	bound := make([]*stream.Schema, len(schemas))
	sound := true
	for i, s := range schemas {
		if bound[i] = b.declared(s, whats[i], n, at); bound[i] == nil {
			sound = false
		}
		f.Any = f.Any || s.GetAny()
	}
	for i, side := range c.sides {
		which := min(i, len(schemas)-1)
		if bound[which] == nil || side.input == nil {
			sound = false
			continue
		}
		in := FunctionInput{Schema: bound[which]}
		if schemas[which].GetAny() {
			alike := c.sides
			if len(schemas) > 1 {
				alike = c.sides[i : i+1]
			}
			in = everything(side, alike)
			sound = b.checkAny(in.Schema, n, at) && sound
		} else {
			sound = b.bindColumns(p, &in, side, schemas[which], n, at) && sound
		}
		f.Inputs = append(f.Inputs, in)
	}
	return sound
}

// everything is the input of a function that takes any: of the side the columns that
// all sides have which it reads as one input, in the order of the first of them.
func everything(of *side, alike []*side) FunctionInput {
	var in FunctionInput
	var fields []stream.Field
	if alike[0].input == nil {
		alike = []*side{of} // a problem stands against the other
	}
	for _, f := range alike[0].input.Fields() {
		missing := func(s *side) bool {
			i := -1
			if s.input != nil {
				i = s.input.Index(f.Name)
			}
			return i < 0 || !s.input.Fields()[i].Type.Equal(f.Type)
		}
		if !slices.ContainsFunc(alike, missing) {
			in.Columns = append(in.Columns, of.input.Index(f.Name))
			fields = append(fields, f)
		}
	}
	in.Schema = stream.MustSchema(fields...)
	return in
}

// checkAny: a schema is told as lines of text.
func (b *builder) checkAny(s *stream.Schema, n *node, at string) bool {
	for _, name := range s.Names() {
		if strings.ContainsRune(name, '\n') {
			b.wrong(n, at, "The function %s takes any input, and is told its columns line by line; the column %s has a line break in its name", n.text, quote(name))
			return false
		}
	}
	return true
}

// bindColumns finds the columns that the function takes in what a side reads.
// Types must be equal: a row is handed over as it is.
func (b *builder) bindColumns(p *producer, in *FunctionInput, of *side, s *abi.Schema, n *node, at string) bool {
	sound := true
	what := "what the " + p.kind() + " " + p.name + " reads"
	if of.made != "" {
		what = of.made
	}
	for i, want := range in.Schema.Fields() {
		column := of.input.Index(want.Name)
		if column < 0 {
			b.wrong(n, at, "The function %s takes a column %s %s, and %s has none%s", n.text, want.Name, want.Type, what, b.suggest(want.Name, of.input.Names(), "its columns are "))
			sound = false
			continue
		}
		if have := of.input.Fields()[column].Type; !have.Equal(want.Type) {
			b.wrong(n, at, "The function %s takes the column %s as %s, and in %s it is %s", n.text, want.Name, want.Type, what, have)
			sound = false
			continue
		}
		if _, notNull, _ := stream.ParseColumnType(s.GetFields()[i].GetType()); notNull {
			b.later(n.line, n.column, at, "The function %s takes the column %s as NOT NULL; a stream's columns may be NULL, and a check is not offered yet", n.text, want.Name)
		}
		in.Columns = append(in.Columns, column)
	}
	return sound
}

// bindKey holds the key that the function reads against the step's, column by column:
// their names are the step's business.
func (b *builder) bindKey(f *Function, declared *abi.Function, c call, n *node, at string) bool {
	if s := declared.GetKey(); len(s.GetFields()) == 0 && !s.GetAny() {
		return true
	}
	if !c.keyed {
		b.wrong(n, at, "The function %s reads the key, and %s has none", n.text, c.field)
		return false
	}
	if c.key == nil {
		return false
	}
	have, err := stream.NewSchema(c.key...)
	if err != nil {
		return false // a column that is named twice, which was told
	}
	if declared.GetKey().GetAny() {
		f.Key = have
		return true
	}
	if f.Key = b.declared(declared.GetKey(), "key", n, at); f.Key == nil {
		return false
	}
	same := slices.EqualFunc(f.Key.Fields(), have.Fields(), func(a, b stream.Field) bool { return a.Type.Equal(b.Type) })
	if !same {
		b.wrong(n, at, "The function %s reads a key %s, and the step's is %s; they must have as many columns, of equal types", n.text, f.Key, have)
	}
	return same
}

func (b *builder) bindAccumulator(f *Function, declared *abi.Function, n *node, at string) bool {
	switch f.Role {
	case abi.RoleAggregate:
		f.Accumulator = b.declared(declared.GetAccumulator(), "accumulator", n, at)
		return f.Accumulator != nil
	case abi.RoleReduce:
		if len(f.Inputs) > 0 {
			f.Accumulator = f.Inputs[0].Schema
		}
	}
	return true
}

// bindOutputs reads what the function may emit.
func (b *builder) bindOutputs(f *Function, declared *abi.Function, sound bool, n *node, at string) bool {
	main := declared.GetOutput()
	switch {
	case f.Role == abi.RoleReduce:
		f.Outputs = []FunctionOutput{{Schema: f.Accumulator}}
		return f.Accumulator != nil
	case f.Role == abi.RoleEncode:
		f.Outputs = []FunctionOutput{{Schema: MessageSchema}}
		return true
	case !emits(f.Role):
		return true
	}
	if !b.bindOutput(f, "", main, outputWord(f.Role), n, at) {
		return false
	}
	for _, o := range declared.GetNamedOutputs() {
		if !b.bindOutput(f, o.GetName(), o.GetSchema(), "output "+o.GetName(), n, at) {
			return false
		}
	}
	return !sound || b.answered(f, n, at)
}

// outputWord is how an error calls a role's main output.
func outputWord(role string) string {
	switch role {
	case abi.RoleAggregate:
		return "result"
	case abi.RoleKey:
		return "key"
	}
	return "output"
}

// emits tells of the roles that put rows out.
func emits(role string) bool {
	switch role {
	case abi.RoleFilter, abi.RoleTimestamp, abi.RoleAssigner, abi.RoleTrigger, abi.RoleEvictor, abi.RoleEncode:
		return false
	}
	return true
}

func (b *builder) bindOutput(f *Function, name string, s *abi.Schema, what string, n *node, at string) bool {
	if len(s.GetFields()) == 0 && f.Any { // the function says it when it is opened
		f.Outputs = append(f.Outputs, FunctionOutput{Name: name})
		return true
	}
	schema := b.declared(s, what, n, at)
	if schema == nil {
		return false
	}
	f.Outputs = append(f.Outputs, FunctionOutput{name, schema})
	return true
}

// bindStates reads the states that the function declares.
func (b *builder) bindStates(f *Function, declared *abi.Function, n *node, at string) bool {
	sound := true
	for _, s := range declared.GetStates() {
		what := "state " + s.GetName()
		state := FunctionState{
			Name: s.GetName(), Kind: s.GetKind(), Scope: s.ScopeOrDefault(), Value: b.declared(s.GetValue(), what, n, at),
			OnRead: s.GetTtlUpdate() == abi.UpdateRead, SeenOnce: s.GetTtlVisibility() == abi.SeenOnce,
		}
		state.InSlot = s.InSlot() && state.Scope != abi.ScopeBroadcast
		if s.GetKind() == abi.StateMap {
			state.Key = b.declared(s.GetKey(), "key of "+what, n, at)
			sound = sound && state.Key != nil
		}
		if text := s.GetTtl(); text != "" {
			ms, message := stream.ParseDuration(text)
			if message == "" && ms <= 0 {
				message = "must be positive"
			}
			if message != "" {
				b.wrong(n, at, "The function %s declares the ttl of its %s badly: %s %s", n.text, what, quote(text), message)
				sound = false
			}
			state.TTL = ms
		}
		sound = sound && state.Value != nil
		f.States = append(f.States, state)
	}
	return sound
}
