package abi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// unknownField finds the first field of a manifest in JSON that there is not, and tells where it stands and what was
// probably meant; nil: there is none, or the text is no JSON.
func unknownField(text []byte) error {
	if !json.Valid(text) {
		return nil
	}
	w := &fieldWalk{text: text, d: json.NewDecoder(bytes.NewReader(text))}
	return w.value((&Manifest{}).ProtoReflect().Descriptor(), "")
}

// fieldWalk goes through JSON whose objects stand for messages. The text is JSON, so tokens have no errors.
type fieldWalk struct {
	text []byte
	d    *json.Decoder
}

// value goes through a value; nil as its message: what is in it has no fields.
func (w *fieldWalk) value(message protoreflect.MessageDescriptor, path string) error {
	token, _ := w.d.Token()
	switch token {
	case json.Delim('{'):
		return w.object(message, path)
	case json.Delim('['):
		for i := 0; w.d.More(); i++ {
			if err := w.value(message, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		_, _ = w.d.Token()
	}
	return nil
}

// object goes through the rest of an object.
func (w *fieldWalk) object(message protoreflect.MessageDescriptor, path string) error {
	for w.d.More() {
		token, _ := w.d.Token()
		name, _ := token.(string)
		at, of := name, protoreflect.MessageDescriptor(nil)
		if path != "" {
			at = path + "." + name
		}
		if message != nil {
			f := message.Fields().ByJSONName(name)
			if f == nil {
				f = message.Fields().ByTextName(name)
			}
			if f == nil {
				return fmt.Errorf("(line %s): %s: there is no such field%s", w.place(len(name)+2), at, meant(name, message.Fields()))
			}
			of = f.Message()
		}
		if err := w.value(of, at); err != nil {
			return err
		}
	}
	_, _ = w.d.Token()
	return nil
}

// place is line and column of the token that was read last, of so many bytes.
func (w *fieldWalk) place(length int) string {
	before := w.text[:max(int(w.d.InputOffset())-length, 0)]
	return fmt.Sprintf("%d:%d", 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'))
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
	for _, whole := range names {
		if strings.HasPrefix(whole, name) && name != "" {
			return fmt.Sprintf("; did you mean %q?", whole)
		}
	}
	return fmt.Sprintf("; fields are %v", names)
}
