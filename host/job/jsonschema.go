package job

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// JSONSchema is the JSON Schema of job files, for editors: docs/job.schema.json.
// It tells less than Parse, which also follows references.
func JSONSchema() []byte {
	schema := append(object{
		{"$schema", "http://json-schema.org/draft-07/schema#"}, // what editors' YAML plugins know best
		{"title", "wasmstream job"},
	}, jsonShape(jobShape, true)...)
	schema = append(schema, member{"definitions", object{{triggerShape.ref, jsonEither(triggerShape)}}})
	text, err := json.Marshal(schema)
	if err != nil {
		panic(err) // a mistake in the table, which a test would have found
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		panic(err) // as above
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// member is a name and value of an object; object keeps their order.
type member struct {
	name  string
	value any
}

type object []member

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := e.Encode(m.name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := e.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// variable lets a ${NAME} stand for what the rest of the pattern wants.
const variable = `|\$\{`

func pattern(p string) object {
	return object{{"type", "string"}, {"pattern", p + variable}}
}

// namePattern is what nameProblem wants.
const namePattern = `^[A-Za-z0-9_-]{1,128}$`

// jsonShape describes one shape; required says that the field it belongs to is.
func jsonShape(s *shape, required bool) object {
	var o object
	switch s.what {
	case isFields:
		o = jsonFields(s)
	case isNamed:
		o = object{{"type", "object"}}
		if required {
			o = append(o, member{"minProperties", 1})
		}
		if !s.columns {
			o = append(o, member{"propertyNames", object{{"pattern", namePattern}}})
		}
		o = append(o, member{"additionalProperties", jsonShape(s.of, false)})
	case isList:
		o = object{{"type", "array"}, {"minItems", 1}, {"items", jsonShape(s.of, false)}}
	case isEither:
		if s.ref != "" { // it holds itself; in an allOf, or draft 7 would not see what stands beside it
			o = object{{"allOf", []object{{{"$ref", "#/definitions/" + s.ref}}}}}
			break
		}
		o = jsonEither(s)
	case isScalar:
		o = object{{"type", []string{"string", "number", "boolean"}}}
	case isInstant:
		o = object{{"type", []string{"integer", "string"}}, {"minimum", 0}, {"pattern", "^[0-9]" + variable}}
	case isAddress:
		o = pattern(`^.+:[0-9]+$`)
	case isTopic:
		o = pattern(`^[A-Za-z0-9._-]{1,249}$`)
	case isPattern:
		o = object{{"type", "string"}, {"minLength", 1}, {"maxLength", PatternBytesMax}}
	case isText, isType:
		o = object{{"type", "string"}, {"minLength", 1}}
	case isName:
		o = pattern(namePattern)
	case isInteger:
		o = append(object{{"type", []string{"integer", "string"}}, {"minimum", s.min}, {"maximum", s.max}}, member{"pattern", strings.TrimPrefix(variable, "|")})
	case isNumber:
		o = object{{"type", []string{"number", "string"}}, {"pattern", strings.TrimPrefix(variable, "|")}}
		if s.most != 0 {
			o = append(o, member{"minimum", s.least}, member{"maximum", s.most})
		}
	case isFlag:
		o = object{{"type", []string{"boolean", "string"}}, {"pattern", strings.TrimPrefix(variable, "|")}}
	case isWord:
		o = object{{"enum", s.words}}
	case isDuration:
		sign := ""
		if s.min < 0 {
			sign = "-?"
		}
		o = pattern("^" + sign + "([0-9]+(d|h|ms|m|s))+$")
	case isBytes:
		o = pattern("^[0-9]+(B|KiB|MiB|GiB)$")
	case isCall:
		o = pattern(`^(count|(sum|min|max|avg)\(.+\))$`)
	case isFunction:
		o = pattern(`^[^.]+\..+$`)
	}
	if s.doc != "" {
		o = append(object{{"description", s.doc}}, o...)
	}
	if s.example != "" && s.what != isList {
		o = append(o, member{"examples", []string{s.example}})
	}
	return o
}

func jsonEither(s *shape) object {
	var either []object
	for _, e := range s.either {
		either = append(either, jsonShape(e, false))
	}
	return object{{"anyOf", either}}
}

// jsonFields describes a mapping of fixed fields. What is not offered yet is
// left out: an editor should not propose it.
func jsonFields(s *shape) object {
	properties, needed := object{}, []string{}
	for _, f := range s.fields {
		if f.later {
			continue
		}
		field := jsonShape(f.shape, f.required)
		if f.doc != "" {
			field = slices.DeleteFunc(field, func(m member) bool { return m.name == "description" })
			field = append(object{{"description", f.doc}}, field...)
		}
		properties = append(properties, member{f.name, field})
		if f.required {
			needed = append(needed, f.name)
		}
	}
	o := object{{"type", "object"}, {"additionalProperties", false}, {"properties", properties}}
	if len(needed) > 0 {
		o = append(o, member{"required", needed})
	}
	for _, group := range s.one {
		var one []object
		for _, f := range s.fields {
			if slices.Contains(group.names, f.name) && !f.later {
				one = append(one, object{{"required", []string{f.name}}})
			}
		}
		o = append(o, member{"oneOf", one})
	}
	return o
}
