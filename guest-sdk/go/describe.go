package wasmstream

import (
	"unicode/utf8"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// Describe returns the manifest as protobuf JSON. It is written by hand: encoding/json would add a megabyte to modules.
func (m *machine) Describe() []byte {
	text := append([]byte(`{"abiVersion": `), byte('0'+raw.Version))
	text = append(text, `, "sdk": "wasmstream-go", "sdkVersion": "`+sdkVersion+`", "language": "go", "functions": [`...)
	for i, f := range m.functions {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, "\n  "...)
		text = f.common().describe(text)
	}
	m.manifest = append(text, "\n]}\n"...)
	return m.manifest
}

// describe appends a schema under a key, if there is anything to say.
func (s *schema) describe(text []byte, key string) []byte {
	if s.any {
		return append(text, `, "`+key+`": {"any": true}`...)
	}
	if len(s.columns) == 0 {
		return text
	}
	text = append(text, `, "`+key+`": {"fields": [`...)
	for i, c := range s.columns {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = appendField(text, c)
	}
	return append(text, "]}"...)
}

func appendField(text []byte, c Column) []byte {
	text = append(text, `{"name": `...)
	text = appendQuoted(text, c.name)
	text = append(text, `, "type": `...)
	text = appendQuoted(text, c.sqlType)
	return append(text, '}')
}

func appendDoc(text []byte, doc string) []byte {
	if doc == "" {
		return text
	}
	return appendQuoted(append(text, `, "doc": `...), doc)
}

// appendQuoted appends a JSON string.
func appendQuoted(text []byte, s string) []byte {
	const hex = "0123456789abcdef"
	text = append(text, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			text = append(text, '\\', byte(r))
		case r < 0x20:
			text = append(text, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			text = utf8.AppendRune(text, r)
		}
	}
	return append(text, '"')
}
