package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// parameters makes the row that opens the function.
func (b *builder) parameters(f *Function, declared *abi.Function, n *node, path string) bool {
	call, with := n.get("wasm"), n.get("with")
	var fields []stream.Field
	var names []string
	for _, q := range declared.GetParameters() {
		t, _, err := stream.ParseColumnType(q.GetType())
		if err != nil {
			b.wrong(call, path+".wasm", "The function %s declares its parameter %s badly: %s", call.text, q.GetName(), err)
			return false
		}
		fields = append(fields, stream.Field{Name: q.GetName(), Type: t})
		names = append(names, q.GetName())
	}
	if with != nil && with.ok {
		for _, e := range with.entries {
			if !slices.Contains(names, e.key) {
				known := b.suggest(e.key, names, "its parameters are ")
				b.add(e.line, e.column, join(path+".with", e.key), "The function %s has no parameter %s%s", call.text, quote(e.key), known)
			}
		}
	}
	schema, err := stream.NewSchema(fields...)
	if err != nil {
		b.wrong(call, path+".wasm", "The function %s declares its parameters badly: %s", call.text, err)
		return false
	}
	f.ParameterSchema = schema
	w := stream.NewRowWriter(schema)
	w.BeginIn(nil, stream.Insert)
	for i, q := range declared.GetParameters() {
		b.parameter(w, i, q, fields[i].Type, call, with, path)
	}
	f.Parameters = w.Row()
	return true
}

// parameter sets one parameter from the job, or from its default.
func (b *builder) parameter(w *stream.RowWriter, i int, q *abi.Parameter, t stream.Type, call, with *node, path string) {
	if v := with.get(q.GetName()); v != nil {
		if !v.ok {
			return
		}
		err := mustBe(t, v)
		if v.form != nullForm {
			err = setParameter(w, i, t, v)
		}
		if err != nil {
			b.parameterProblem(v, join(path+".with", q.GetName()), q.GetName(), err)
		}
		return
	}
	if q.Default == nil {
		at := call
		if with != nil {
			at = with
		}
		b.wrong(at, path+".with", "The function %s needs the parameter %s %s%s", call.text, q.GetName(), t, explained(q.GetDoc()))
		return
	}
	v, err := jsonScalar(q.GetDefault())
	if err == nil {
		err = setParameter(w, i, t, v)
	}
	if err != nil {
		b.parameterProblem(call, path+".wasm", "default of "+q.GetName(), err)
	}
}

func (b *builder) parameterProblem(n *node, path, name string, err error) {
	if errors.Is(err, errLater) {
		b.later(n.line, n.column, path, "The parameter %s: %s", name, err)
		return
	}
	b.wrong(n, path, "The parameter %s %s", name, err)
}

// errLater marks types of parameters that are not offered yet.
var errLater = errors.New("parameters of such types are not offered yet")

func mustBe(t stream.Type, n *node) error { return fmt.Errorf("must be %s; it is %s", t, n.shown()) }

// setParameter writes a value into the row of parameters.
func setParameter(w *stream.RowWriter, i int, t stream.Type, n *node) error {
	wrong := mustBe(t, n)
	switch n.form {
	case nullForm: // of a default; a job leaves out what it does not set
		w.SetNull(i)
		return nil
	case mappingForm, listForm:
		return wrong
	}
	switch t.Kind {
	case stream.Boolean:
		if n.form != boolForm {
			return wrong
		}
		w.SetBool(i, strings.EqualFold(n.text, "true"))
	case stream.Int, stream.BigInt:
		s := &shape{min: math.MinInt64, max: math.MaxInt64}
		if t.Kind == stream.Int {
			s = &shape{min: math.MinInt32, max: math.MaxInt32}
		}
		if message := integerProblem(n, s); message != "" {
			return errors.New(message)
		}
		if t.Kind == stream.Int {
			w.SetInt32(i, int32(n.number))
		} else {
			w.SetInt64(i, n.number)
		}
	case stream.Float, stream.Double:
		v, err := floatValue(n, t.Kind)
		if err != nil {
			return wrong
		}
		if t.Kind == stream.Float {
			w.SetFloat32(i, float32(v))
		} else {
			w.SetFloat64(i, v)
		}
	case stream.String:
		if n.form != textForm {
			return fmt.Errorf("must be text; it is %s: put it in quotes", n.shown())
		}
		w.SetBytes(i, []byte(n.text))
	default:
		return fmt.Errorf("it is %s, and %w", t, errLater)
	}
	return nil
}

func floatValue(n *node, k stream.TypeKind) (float64, error) {
	if n.form != intForm && n.form != floatForm && !n.fromVariable() {
		return 0, strconv.ErrSyntax
	}
	bits := 64
	if k == stream.Float {
		bits = 32
	}
	switch strings.ToLower(strings.TrimPrefix(n.text, "+")) { // YAML's words
	case ".inf":
		return math.Inf(1), nil
	case "-.inf":
		return math.Inf(-1), nil
	case ".nan":
		return math.NaN(), nil
	}
	return strconv.ParseFloat(n.text, bits)
}

// jsonScalar reads a default, which is JSON text, as a node.
func jsonScalar(text string) (*node, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if d.More() {
		return nil, errors.New("is more than one JSON value")
	}
	n := &node{text: text, written: text, ok: true, expanded: true}
	switch v := v.(type) {
	case nil:
		n.form = nullForm
	case bool:
		n.form = boolForm
	case json.Number:
		n.form, n.text, n.written = floatForm, v.String(), v.String()
		if !strings.ContainsAny(n.text, ".eE") {
			n.form = intForm
		}
	case string:
		n.form, n.text, n.written = textForm, v, v
	default:
		return nil, errors.New("must be a single value")
	}
	return n, nil
}
