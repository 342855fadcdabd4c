package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// validateManifest names what is wrong with a manifest that could be decoded: what
// the ABI says of it, types that are none, and defaults that their types do not
// take.
func validateManifest(m *abi.Manifest) error {
	if err := m.Validate(); err != nil {
		return err
	}
	const most = 5 // to read, and hostile ones could be many for each of their bytes
	var errs []error
	add := func(f *abi.Function, what, name string, err error) {
		if err != nil && len(errs) < most {
			errs = append(errs, fmt.Errorf("function %q: %s %s: %w", f.GetName(), what, show([]byte(name)), err))
		}
	}
	for _, f := range m.GetFunctions() {
		eachSchema(f, func(what string, s *abi.Schema) {
			for _, field := range s.GetFields() {
				if len(errs) >= most {
					return
				}
				_, _, err := stream.ParseColumnType(field.GetType())
				add(f, what+" field", field.GetName(), err)
			}
		})
		for _, p := range f.GetParameters() {
			t, _, err := stream.ParseColumnType(p.GetType())
			if err == nil && p.Default != nil {
				err = checkDefault(p.GetDefault(), t)
			}
			add(f, "parameter", p.GetName(), err)
		}
		for _, s := range f.GetStates() {
			add(f, "state", s.GetName(), checkTTL(s))
		}
		if len(errs) > 0 {
			break // the first function's are enough to read
		}
	}
	return errors.Join(errs...)
}

// eachSchema visits the schemas of a function.
func eachSchema(f *abi.Function, visit func(what string, s *abi.Schema)) {
	visit("input", f.GetInput())
	visit("second input", f.GetSecondInput())
	visit("accumulator", f.GetAccumulator())
	visit("output", f.GetOutput())
	visit("key", f.GetKey())
	for _, o := range f.GetNamedOutputs() {
		visit("named output "+o.GetName(), o.GetSchema())
	}
	for _, s := range f.GetStates() {
		visit("state "+s.GetName()+" key", s.GetKey())
		visit("state "+s.GetName()+" value", s.GetValue())
	}
}

// checkTTL holds a state's time to live against what job files take for a duration.
func checkTTL(s *abi.State) error {
	if s.GetTtl() == "" {
		return nil
	}
	ms, message := stream.ParseDuration(s.GetTtl())
	if message == "" && ms <= 0 {
		message = "is not positive; without ttl a state is kept for ever"
	}
	if message == "" {
		return nil
	}
	return fmt.Errorf("its ttl %s %s", show([]byte(s.GetTtl())), message)
}

// checkDefault holds a parameter's default, which is JSON, against its type.
func checkDefault(text string, t stream.Type) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return fmt.Errorf("its default %s is not one JSON value", show([]byte(text)))
	}
	fits := true
	switch v := v.(type) {
	case nil:
	case bool:
		fits = t.Kind == stream.Boolean || isUnsettled(t)
	case string:
		fits = t.Kind == stream.String || isUnsettled(t)
	case json.Number:
		fits = takesNumber(v.String(), t)
	default:
		fits = isUnsettled(t)
	}
	if !fits {
		return fmt.Errorf("its default %s is no %s", show([]byte(text)), t)
	}
	return nil
}

// isUnsettled tells whether a type's parameters have a form in JSON that is not
// settled yet; job files refuse them, whatever their default.
func isUnsettled(t stream.Type) bool {
	switch t.Kind {
	case stream.Boolean, stream.Int, stream.BigInt, stream.Float, stream.Double, stream.String:
		return false
	}
	return true
}

func takesNumber(text string, t stream.Type) bool {
	var err error
	switch t.Kind {
	case stream.Int:
		_, err = strconv.ParseInt(text, 10, 32)
	case stream.BigInt:
		_, err = strconv.ParseInt(text, 10, 64)
	case stream.Float:
		_, err = strconv.ParseFloat(text, 32)
	case stream.Double:
		_, err = strconv.ParseFloat(text, 64)
	default:
		return isUnsettled(t)
	}
	return err == nil
}

// reasonMax bounds how much of what is wrong with a manifest is told.
const reasonMax = 1000

// oneReason writes errors that stand below each other in one line.
func oneReason(err error) string {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	if len(text) > reasonMax {
		return strings.ToValidUTF8(text[:reasonMax], "") + "…"
	}
	return text
}
