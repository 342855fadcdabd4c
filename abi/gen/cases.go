package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
)

// testCase is a case of a cases.txt.
type testCase struct {
	name  string
	steps []step
}

// step is one op of a case.
type step struct {
	kind         abi.OpKind
	slot, second uint32
	row          []byte
	result       []byte
	line         int
}

// readCases reads a cases.txt: the function's name and its cases, rows laid out by the function's schemas.
func readCases(path string, m *abi.Manifest) (function int, cases []testCase, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, nil, err
	}
	var f *abi.Function
	for i, line := range strings.Split(string(text), "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "" || strings.HasPrefix(word, "#"):
		case word == "function":
			if function = m.FunctionIndex(rest); function < 0 {
				return 0, nil, fmt.Errorf("%s:%d: no function %q in the manifest", path, i+1, rest)
			}
			f = m.Functions[function]
		case word == "case":
			cases = append(cases, testCase{name: rest})
		case f == nil || len(cases) == 0:
			return 0, nil, fmt.Errorf("%s:%d: an op before `function` and `case`", path, i+1)
		default:
			s, err := readStep(f, word, rest)
			if err != nil {
				return 0, nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
			}
			s.line = i + 1
			c := &cases[len(cases)-1]
			c.steps = append(c.steps, s)
		}
	}
	return function, cases, nil
}

func readStep(f *abi.Function, word, rest string) (s step, err error) {
	slot, rest, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseUint(slot, 10, 16)
	if err != nil {
		return s, fmt.Errorf("slot %q: %w", slot, err)
	}
	s.slot = uint32(n)
	switch word {
	case "create":
		s.kind = abi.OpCreate
	case "add":
		s.kind = abi.OpAdd
		s.row, err = encodeRow(f.Input, rest)
	case "merge":
		s.kind = abi.OpMerge
		n, err = strconv.ParseUint(rest, 10, 16)
		s.second = uint32(n)
	case "result":
		s.kind = abi.OpResult
		s.result, err = encodeRow(f.Output, strings.TrimPrefix(rest, "=> "))
	default:
		err = fmt.Errorf("op %q is none of create, add, merge, result", word)
	}
	return s, err
}

// encodeRow lays out a JSON object as a row of at most 56 columns; columns that are absent are null.
func encodeRow(schema *abi.Schema, text string) ([]byte, error) {
	values := map[string]any{}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&values); err != nil {
		return nil, fmt.Errorf("row %q: %w", text, err)
	}
	row := make([]byte, 8+8*len(schema.Fields))
	for i, f := range schema.Fields {
		v := values[f.Name]
		delete(values, f.Name)
		if v == nil {
			row[(i+8)/8] |= 1 << ((i + 8) % 8)
			continue
		}
		var err error
		if row, err = encodeField(row, 8+8*i, f, v); err != nil {
			return nil, err
		}
	}
	for name := range values {
		return nil, fmt.Errorf("row %s: there is no column %q", text, name)
	}
	return row, nil
}

func encodeField(row []byte, at int, f *abi.Field, v any) ([]byte, error) {
	n, isNumber := v.(json.Number)
	le := binary.LittleEndian
	var err error
	switch {
	case (f.Type == "INT" || f.Type == "DATE") && isNumber:
		var x int64
		x, err = strconv.ParseInt(n.String(), 10, 32)
		le.PutUint32(row[at:], uint32(x))
	case (f.Type == "BIGINT" || f.Type == "TIMESTAMP(3)") && isNumber:
		var x int64
		x, err = n.Int64()
		le.PutUint64(row[at:], uint64(x))
	case f.Type == "DOUBLE" && isNumber:
		var x float64
		x, err = n.Float64()
		le.PutUint64(row[at:], math.Float64bits(x))
	case f.Type == "STRING":
		s, isString := v.(string)
		if !isString {
			return nil, fmt.Errorf("column %s: %v is no string", f.Name, v)
		}
		if len(s) <= 7 {
			copy(row[at:], s)
			row[at+7] = 0x80 | byte(len(s))
			return row, nil
		}
		le.PutUint64(row[at:], uint64(len(row))<<32|uint64(len(s)))
		row = append(row, s...)
		row = append(row, make([]byte, abi.Align(len(s))-len(s))...)
	default:
		err = fmt.Errorf("vectors know no %s from %v", f.Type, v)
	}
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", f.Name, err)
	}
	return row, nil
}

// pad8 fills up to a multiple of 8.
func pad8(b *bytes.Buffer) {
	for b.Len()%8 != 0 {
		b.WriteByte(0)
	}
}
