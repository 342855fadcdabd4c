package abi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// unknownField finds a field of a manifest in JSON that there is not, and tells where it stands and what was probably
// meant; nil: there is none, or the text is no JSON.
func unknownField(text []byte) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil
	}
	return unknownIn(value, (&Manifest{}).ProtoReflect().Descriptor(), "")
}

// unknownIn looks through a value that stands for a message.
func unknownIn(value any, message protoreflect.MessageDescriptor, path string) error {
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	fields := message.Fields()
	for _, name := range slices.Sorted(maps.Keys(object)) {
		f := fields.ByJSONName(name)
		if f == nil {
			f = fields.ByTextName(name)
		}
		at := path + name
		if f == nil {
			return fmt.Errorf("%s: there is no such field%s", at, meant(name, fields))
		}
		if f.Message() == nil {
			continue
		}
		if list, ok := object[name].([]any); ok && f.IsList() {
			for i, item := range list {
				if err := unknownIn(item, f.Message(), fmt.Sprintf("%s[%d].", at, i)); err != nil {
					return err
				}
			}
			continue
		}
		if err := unknownIn(object[name], f.Message(), at+"."); err != nil {
			return err
		}
	}
	return nil
}

// meant proposes the field that is nearest, or tells all there are.
func meant(name string, fields protoreflect.FieldDescriptors) string {
	var names []string
	for i := range fields.Len() {
		names = append(names, fields.Get(i).JSONName())
	}
	if near := nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Sprintf("; fields are %v", names)
}
