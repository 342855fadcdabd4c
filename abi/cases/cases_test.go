package cases_test

import (
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi/cases"
)

const manifest = `{"functions": [
 {"name": "sum", "role": "aggregate", "input": {"fields": [{"name": "v", "type": "INT"}]},
  "accumulator": {"fields": [{"name": "n", "type": "BIGINT"}]}, "output": {"fields": [{"name": "n", "type": "BIGINT"}]}},
 {"name": "calm", "role": "process", "input": {"fields": [{"name": "v", "type": "INT"}]},
  "output": {"fields": [{"name": "v", "type": "INT"}]}, "namedOutputs": [{"name": "more", "schema": {"fields": [{"name": "v", "type": "INT"}]}}],
  "states": [{"name": "s", "kind": "value", "value": {"fields": [{"name": "v", "type": "INT"}]}}]}]}`

// TestRefuses: what is wrong in cases is told with its line, since a case that says something else than it means passes
// for nothing.
func TestRefuses(t *testing.T) {
	m, err := cases.ReadManifest([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"function nothing":                                          `line 1: no function "nothing" in the manifest; there are sum, calm`,
		"case one":                                                  "before `function`",
		"function sum\ncreate 0":                                    "before `case`",
		"function sum\ncase c\nsprinkle 0":                          "line 3: \"sprinkle\" is no word",
		"function sum\ncase c\nadd zero {}":                         `slot "zero"`,
		"function sum\ncase c\nadd 0 {\"w\": 1}":                    `there is no column "w"; there are v`,
		"function sum\ncase c\nadd 0 {\"v\": 3000000000}":           `column v: 3000000000 is no INT`,
		"function sum\ncase c\nadd 0 {\"v\": \"7\"}":                `column v: "7" is no INT`,
		"function calm\ncase c\n\nwatermark soon":                   `line 4: watermark: "soon" is no whole number of 64 bits`,
		"function calm\ncase c\nclock 1 2":                          `clock: a whole number is needed, and there is "1 2"`,
		"function calm\ncase c\nadd 0 {\"v\": 1}":                   `line 3: add is not asked of process calm: on-record, on-timer are`,
		"function sum\ncase c\non-record {}":                        `on-record is not asked of aggregate sum: create, add, merge, result are`,
		"function calm\ncase c\nwindow 5":                           `window: 2 whole numbers are needed, and there is "5"`,
		"function calm\ncase c\non-record @noon {}":                 `the time behind @: "noon" is no whole number`,
		"function calm\ncase c\non-record {}\n=> evict first":       `evict: "first" is no whole number`,
		"function calm\ncase c\non-record {}\nschema main INT v":    `schema: "main" is no number of an output`,
		"function sum\ncase c\nadd 0 {\"v\": 1} {\"v\": 2}":         "more than a row",
		"function calm\ncase c\non-timer sidereal @5":               "event or processing",
		"function calm\ncase c\non-record {}\n=> dance":             `"dance" is no effect: there are emit,`,
		"function calm\ncase c\non-record {}\n=> emit less {}":      `no output "less"; there are more`,
		"function calm\ncase c\non-record {}\n=> set-timer lunar 5": "is not known",
		"function calm\ncase c\non-record {}\n=> set-timer event":   `set-timer: a whole number is needed, and there is ""`,
		"function calm\ncase c\non-record {}\nstate t -":            `no state "t"; there are s`,
		"function calm\ncase c\non-record {} {}":                    "1 rows at the most",
	} {
		if _, err := cases.Vectors(m, []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
}

// TestFrames: a case is two vectors, and ops of different keys have different slots.
func TestFrames(t *testing.T) {
	m, err := cases.ReadManifest([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	list, err := cases.Vectors(m, []byte("function calm\ncase c\nkey {\"k\": 1}\non-record {\"v\": 1}\nkey {\"k\": 2}\non-record {\"v\": 2}\nkey {\"k\": 1}\non-timer event @9\n"))
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	whole, single := list[0], list[1]
	if len(whole.Frames) != 2 || len(whole.Frames[1].Ops) != 3 || len(whole.Frames[1].Cells) != 2 {
		t.Errorf("as one frame: %+v", whole.Frames)
	}
	if len(single.Frames) != 4 || single.Frames[1].Cells[0] != single.Frames[3].Cells[0] || single.Frames[1].Cells[0] == single.Frames[2].Cells[0] {
		t.Errorf("as frames: %+v", single.Frames)
	}
}
