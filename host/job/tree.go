package job

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/wasmstream/wasmstream/host/stream"
)

// What bounds a text (invariant L).
const (
	TextBytesMax = 1 << 20
	TokensMax    = 30_000  // the YAML parser's time is quadratic in the fields of a mapping
	NodesMax     = 100_000 // values, those that an alias repeats included
	DepthMax     = 64
)

// form is the kind of YAML value that a node is.
type form uint8

const (
	nullForm form = iota
	boolForm
	intForm
	floatForm
	textForm
	mappingForm
	listForm
)

var formNames = [...]string{
	nullForm: "empty", boolForm: "a truth value", intForm: "a number", floatForm: "a number",
	textForm: "text", mappingForm: "a mapping", listForm: "a list",
}

// node is a value of the job file. Aliases share nodes.
type node struct {
	form     form
	line     int
	column   int
	text     string // of a scalar; ${NAME} replaced once its shape was checked
	written  string // of a scalar, as in the file: what messages show, since variables hold secrets
	entries  []entry
	items    []*node
	meant    []string // fields that unknown ones are probably misspelt for: not missing, then
	size     int      // nodes in it, repeated ones counted each time
	expanded bool
	variable bool           // a ${NAME} was replaced in it
	unset    bool           // by nothing: only within what a scenario replaces is that no problem
	ok       bool           // its shape was checked and is right
	float    float64        // of a number that is ok
	number   int64          // of an integer, duration (ms), instant (ms) or size (bytes) that is ok
	typ      *stream.Type   // of a type that is ok
	pattern  *regexp.Regexp // of a regular expression that is ok, anchored
}

// entry is a field of a mapping.
type entry struct {
	key          string
	line, column int
	value        *node
}

// get is the value of a field, nil if it is not there. A nil node has no fields.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := range n.entries {
		if n.entries[i].key == key {
			return n.entries[i].value
		}
	}
	return nil
}

// has tells whether a mapping has a field, under its name or misspelt.
func (n *node) has(key string) bool { return n.get(key) != nil || slices.Contains(n.meant, key) }

// shown is the value as a message quotes it.
func (n *node) shown() string {
	switch n.form {
	case mappingForm, listForm, nullForm:
		return formNames[n.form]
	case textForm:
		return quote(n.written)
	}
	return n.written
}

// quote quotes text for a message, and cuts what is long.
func quote(text string) string {
	const most = 80
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

// readTree parses YAML; nil if there is nothing to go on with.
func (c *checker) readTree(text []byte) *node {
	if len(text) > TextBytesMax {
		c.add(0, 0, "", "The job file has %d bytes; at most %d are read", len(text), TextBytesMax)
		return nil
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		c.invalidUTF8(text)
		return nil
	}
	file := c.parseYAML(string(text))
	if file == nil {
		return nil
	}
	var body ast.Node
	for _, d := range file.Docs {
		if _, directive := d.Body.(*ast.DirectiveNode); d.Body == nil || directive {
			continue
		}
		if body != nil {
			at := d.Body.GetToken().Position
			c.add(at.Line, at.Column, "", "A second document begins here; a job file is one document")
			return nil
		}
		body = d.Body
	}
	if body == nil {
		c.add(1, 1, "", "The job file is empty")
		return nil
	}
	t := treeReader{c: c, anchors: map[string]*node{}}
	root := t.read(body, "", 0)
	if t.failed {
		return nil
	}
	return root
}

func (c *checker) invalidUTF8(text []byte) {
	for i, line := range bytes.Split(text, []byte("\n")) {
		if utf8.Valid(line) {
			continue
		}
		column := 1
		for rest := line; ; column++ {
			r, n := utf8.DecodeRune(rest)
			if r == utf8.RuneError && n == 1 {
				break
			}
			rest = rest[n:]
		}
		c.add(i+1, column, "", "The text is not valid UTF-8 here")
		return
	}
}

// parseYAML runs the YAML parser; what it cannot read is a problem. A panic of
// it is one as well: the text is hostile until proven otherwise.
func (c *checker) parseYAML(text string) (file *ast.File) {
	defer func() {
		if r := recover(); r != nil {
			c.add(0, 0, "", "The job file is YAML that cannot be read: %v", r)
			file = nil
		}
	}()
	tokens := lexer.Tokenize(text)
	if !c.checkTokens(tokens) {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err == nil {
		return file
	}
	line, column, message := 0, 0, err.Error()
	if e, ok := err.(*yaml.SyntaxError); ok {
		message = e.GetMessage()
		if t := e.GetToken(); t != nil {
			line, column = t.Position.Line, t.Position.Column
		}
	}
	c.add(line, column, "", "The job file is not valid YAML: %s", message)
	return nil
}

// checkTokens holds the limits that the parser itself does not have.
func (c *checker) checkTokens(tokens token.Tokens) bool {
	count, flow, run := 0, 0, 0
	for _, t := range tokens {
		at := t.Position
		switch t.Type {
		case token.CommentType:
			continue
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.MappingKeyType:
			c.add(at.Line, at.Column, "", "A key that begins with ? is not used in job files; write it as name: value")
			return false
		}
		if run++; t.Type != token.SequenceEntryType {
			run = 0
		}
		if flow > DepthMax || run > DepthMax {
			c.add(at.Line, at.Column, "", "The job file is nested more than %d deep", DepthMax)
			return false
		}
		if count++; count > TokensMax {
			c.add(at.Line, at.Column, "", "The job file is too long: it has more than %d words and signs", TokensMax)
			return false
		}
	}
	return true
}

// treeReader turns the parser's nodes into ours.
type treeReader struct {
	c       *checker
	anchors map[string]*node
	failed  bool // a problem after which the rest would mislead
}

func (t *treeReader) fail(at *token.Position, path, format string, args ...any) *node {
	t.failed = true
	t.c.add(at.Line, at.Column, path, format, args...)
	return &node{line: at.Line, column: at.Column, size: 1}
}

func (t *treeReader) read(a ast.Node, path string, depth int) *node {
	tk := a.GetToken()
	if depth > DepthMax {
		return t.fail(tk.Position, path, "The job file is nested more than %d deep", DepthMax)
	}
	n := &node{line: tk.Position.Line, column: tk.Position.Column, text: tk.Value, written: tk.Value, size: 1}
	switch a := a.(type) {
	case *ast.NullNode:
		n.form = nullForm
	case *ast.BoolNode:
		n.form = boolForm
	case *ast.IntegerNode:
		n.form = intForm
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.form = floatForm
	case *ast.StringNode:
		n.form, n.text, n.written = textForm, a.Value, a.Value
	case *ast.LiteralNode:
		n.form, n.text, n.written = textForm, a.Value.Value, a.Value.Value
	case *ast.MappingNode:
		n.form = mappingForm
		t.readMapping(n, a, path, depth)
	case *ast.SequenceNode:
		n.form = listForm
		for i, v := range a.Values {
			t.grow(n, t.read(v, fmt.Sprintf("%s[%d]", path, i), depth+1), path)
		}
	case *ast.AnchorNode:
		// Known only once it is read, so an alias within its own anchor is unknown and cannot recur.
		v := t.read(a.Value, path, depth+1)
		t.anchors[a.Name.GetToken().Value] = v
		return v
	case *ast.AliasNode:
		name := a.Value.GetToken().Value
		if v := t.anchors[name]; v != nil {
			return v
		}
		return t.fail(tk.Position, path, "There is no anchor &%s before this alias", name)
	default:
		return t.fail(tk.Position, path, "%s is not used in job files", tagOrSign(a, tk))
	}
	return n
}

func tagOrSign(a ast.Node, tk *token.Token) string {
	if _, ok := a.(*ast.TagNode); ok {
		return "The tag " + quote(tk.Value)
	}
	return quote(tk.Value)
}

// grow adds a child's size, and the child if it is a list's.
func (t *treeReader) grow(n, child *node, path string) {
	if n.form == listForm {
		n.items = append(n.items, child)
	}
	if n.size += child.size; n.size > NodesMax && !t.failed {
		t.fail(&token.Position{Line: child.line, Column: child.column}, path, "The job file has more than %d values, aliases counted as what they stand for", NodesMax)
	}
}

func (t *treeReader) readMapping(n *node, a *ast.MappingNode, path string, depth int) {
	if len(a.Values) > 0 && !a.IsFlowStyle {
		at := a.Values[0].Key.GetToken().Position
		n.line, n.column = at.Line, at.Column
	}
	seen := make(map[string]int, len(a.Values))
	for _, v := range a.Values {
		key := v.Key.GetToken()
		e := entry{key: key.Value, line: key.Position.Line, column: key.Position.Column}
		if v.Key.IsMergeKey() {
			t.fail(key.Position, path, "The merge key << is not used in job files; use an alias for a whole value")
			continue
		}
		if s, ok := v.Key.(*ast.StringNode); ok {
			e.key = s.Value
		}
		at := join(path, e.key)
		if before, ok := seen[e.key]; ok {
			t.c.add(e.line, e.column, at, "The field %s is there twice; the first is in line %d", e.key, before)
			continue
		}
		seen[e.key] = e.line
		e.value = t.read(v.Value, at, depth+1)
		t.grow(n, e.value, at)
		n.entries = append(n.entries, e)
	}
}

// join appends a field to a dotted path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return strings.Join([]string{path, key}, ".")
}
