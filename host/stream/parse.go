package stream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseType reads a type as Flink SQL writes it, in either case: BIGINT,
// DECIMAL(10, 2), TIMESTAMP(3), ARRAY<INT>, MAP<STRING, BIGINT>,
// ROW<a INT, `b c` STRING>. Without parameters DECIMAL is DECIMAL(10, 0) and
// TIMESTAMP is TIMESTAMP(6), as in Flink.
func ParseType(text string) (Type, error) {
	p := typeParser{text: text}
	t, err := p.parse(0)
	if err == nil {
		if p.skipSpace(); p.at < len(text) {
			err = fmt.Errorf("%q is left over after the type", text[p.at:])
		}
	}
	if unknown := (unknownType{}); errors.As(err, &unknown) {
		return Type{}, err // it names the type
	}
	if err != nil {
		return Type{}, fmt.Errorf("type %q: %w", text, err)
	}
	return t, nil
}

// ParseColumnType reads a type that may end in NOT NULL, as manifests have them.
func ParseColumnType(text string) (t Type, notNull bool, err error) {
	text = strings.TrimSpace(text)
	const suffix = "NOT NULL"
	if len(text) > len(suffix) && strings.EqualFold(text[len(text)-len(suffix):], suffix) {
		text, notNull = strings.TrimSpace(text[:len(text)-len(suffix)]), true
	}
	t, err = ParseType(text)
	return t, notNull, err
}

type typeParser struct {
	text string
	at   int
}

func (p *typeParser) skipSpace() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// take consumes the character c if it comes next.
func (p *typeParser) take(c byte) bool {
	p.skipSpace()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *typeParser) expect(c byte) error {
	if p.take(c) {
		return nil
	}
	if p.at == len(p.text) {
		return fmt.Errorf("%q is missing at its end", c)
	}
	return fmt.Errorf("%q is expected before %q", c, p.text[p.at:])
}

func (p *typeParser) word() string {
	p.skipSpace()
	start := p.at
	for p.at < len(p.text) && isWordByte(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at]
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (p *typeParser) parse(depth int) (Type, error) {
	if depth > TypeDepthMax {
		return Type{}, fmt.Errorf("it is nested more than %d deep", TypeDepthMax)
	}
	name := p.word()
	kind, err := kindOf(name)
	if err != nil {
		return Type{}, err
	}
	t := Type{Kind: kind}
	switch kind {
	case Decimal:
		err = p.decimal(&t)
	case Timestamp, TimestampLTZ:
		t.Precision = 6
		if p.take('(') {
			if t.Precision, err = p.number(0, TimestampPrecisionMax); err == nil {
				err = p.expect(')')
			}
		}
	case Array:
		t.Elem, err = p.nested(depth, '<', '>')
	case Map:
		if t.Key, err = p.nested(depth, '<', ','); err == nil {
			t.Elem, err = p.nested(depth, 0, '>')
		}
	case RowType:
		t.Fields, err = p.fields(depth)
	}
	return t, err
}

func kindOf(name string) (TypeKind, error) {
	upper := strings.ToUpper(name)
	for k, n := range kindNames {
		if n != "" && n == upper {
			return TypeKind(k), nil
		}
	}
	if name == "" {
		return 0, fmt.Errorf("the name of a type is missing; known are %s", strings.Join(TypeNames(), ", "))
	}
	near, known := otherNames[upper]
	if !known {
		near = Nearest(upper, TypeNames())
	}
	switch {
	case upper == "TIME":
		return 0, unknownType{name, "a time of day can be an INT or a STRING"}
	case near != "":
		return 0, unknownType{name, "did you mean " + near + "?"}
	}
	return 0, unknownType{name, "known are " + strings.Join(TypeNames(), ", ")}
}

// otherNames are what SQL and programming languages call types that there are here,
// or the next wider one.
var otherNames = map[string]string{
	"INTEGER": "INT", "SMALLINT": "INT", "TINYINT": "INT", "SHORT": "INT", "INT32": "INT", "LONG": "BIGINT", "INT64": "BIGINT",
	"VARCHAR": "STRING", "CHAR": "STRING", "CHARACTER": "STRING", "TEXT": "STRING", "BINARY": "BYTES", "VARBINARY": "BYTES",
	"NUMERIC": "DECIMAL", "DEC": "DECIMAL", "NUMBER": "DECIMAL", "BOOL": "BOOLEAN", "REAL": "FLOAT", "DATETIME": "TIMESTAMP",
}

// unknownType is a name that is no type's, and what to do about it.
type unknownType struct{ name, hint string }

// Error implements error.
func (e unknownType) Error() string { return fmt.Sprintf("there is no type %s; %s", e.name, e.hint) }

func (p *typeParser) number(least, most int) (int, error) {
	word := p.word()
	n, err := strconv.Atoi(word)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q is not a number from %d to %d", word, least, most)
	}
	return n, nil
}

func (p *typeParser) decimal(t *Type) (err error) {
	t.Precision, t.Scale = 10, 0
	if !p.take('(') {
		return nil
	}
	if t.Precision, err = p.number(1, DecimalPrecisionMax); err != nil {
		return err
	}
	if p.take(',') {
		if t.Scale, err = p.number(0, t.Precision); err != nil {
			return err
		}
	}
	return p.expect(')')
}

// nested reads a type between open (0: nothing) and end.
func (p *typeParser) nested(depth int, open, end byte) (*Type, error) {
	if open != 0 {
		if err := p.expect(open); err != nil {
			return nil, err
		}
	}
	t, err := p.parse(depth + 1)
	if err != nil {
		return nil, err
	}
	return &t, p.expect(end)
}

func (p *typeParser) fields(depth int) ([]Field, error) {
	if err := p.expect('<'); err != nil {
		return nil, err
	}
	var fields []Field
	if p.take('>') {
		return fields, nil
	}
	seen := map[string]bool{}
	for {
		name, err := p.fieldName()
		if err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, fmt.Errorf("field %q is there twice", name)
		}
		seen[name] = true
		t, err := p.parse(depth + 1)
		if err != nil {
			return nil, err
		}
		fields = append(fields, Field{name, t})
		if !p.take(',') {
			return fields, p.expect('>')
		}
	}
}

func (p *typeParser) fieldName() (string, error) {
	if !p.take('`') {
		if name := p.word(); name != "" {
			return name, nil
		}
		return "", fmt.Errorf("the name of a field is missing before %q", p.text[p.at:])
	}
	var name strings.Builder
	for {
		end := strings.IndexByte(p.text[p.at:], '`')
		if end < 0 {
			return "", fmt.Errorf("a quoted field name has no end")
		}
		name.WriteString(p.text[p.at : p.at+end])
		p.at += end + 1
		if p.at == len(p.text) || p.text[p.at] != '`' {
			break
		}
		name.WriteByte('`') // doubled, it stands for itself
		p.at++
	}
	if name.Len() == 0 {
		return "", fmt.Errorf("a quoted field name is empty")
	}
	return name.String(), nil
}
