package reference

import "strings"

// Kind is an operation that generated jobs may use.
type Kind string

// probes are a step of each kind, with the least of other kinds beside it; "" for
// what is in the script alone.
var probes = []struct {
	kind Kind
	step string
}{
	{"union", `from: [a, b]`},
	{"pass-through", `from: a`},
	{"end-while-idle", ""},
	{"unlike-flink", ""}, // what Flink fails at by a fault
	{"changes", `from: a`},
	{"tumbling", windowProbe(`tumbling: {size: 3ms}`)},
	{"lateness", windowProbe(`tumbling: {size: 3ms}, allowed-lateness: 5ms`)},
	{"late-output", windowProbe(`tumbling: {size: 3ms}, late-output: late`)},
	{"sliding", windowProbe(`sliding: {size: 3ms, slide: 2ms}`)},
	{"session", windowProbe(`session: {gap: 3ms}`)},
	{"gap-field", windowProbe(`session: {gap-field: g}`)},
	{"global", windowProbe(`global: {}, trigger: {count: 2}`)},
	{"processing", windowProbe(`tumbling: {size: 3ms, time: processing}`)},
	{"event-time", windowProbe(`tumbling: {size: 3ms, time: processing}, trigger: event-time`)},
	{"processing-time", windowProbe(`tumbling: {size: 3ms}, trigger: processing-time`)},
	{"never", windowProbe(`global: {}, trigger: never`)},
	{"end-of-stream", windowProbe(`global: {}, trigger: end-of-stream`)},
	{"count", windowProbe(`tumbling: {size: 3ms}, trigger: {count: 2}`)},
	{"continuous-event-time", windowProbe(`tumbling: {size: 3ms}, trigger: {continuous-event-time: 2ms}`)},
	{"continuous-processing-time", windowProbe(`tumbling: {size: 3ms, time: processing}, trigger: {continuous-processing-time: 2ms}`)},
	{"purging", windowProbe(`tumbling: {size: 3ms}, trigger: {purging: event-time}`)},
	{"delta", windowProbe(`tumbling: {size: 3ms}, trigger: {delta: {field: d, threshold: 2}}`)},
	{"timeout", windowProbe(`tumbling: {size: 3ms}, trigger: {timeout: {trigger: {count: 3}, after: 2ms}}`)},
	{"evict-count", windowProbe(`tumbling: {size: 3ms}, evictor: {count: 2}`)},
	{"evict-time", windowProbe(`tumbling: {size: 3ms}, evictor: {time: 2ms}`)},
	{"evict-delta", windowProbe(`tumbling: {size: 3ms}, evictor: {delta: {field: d, threshold: 2}}`)},
	{"window-join", `window-join: {left: a, right: b, left-key: [k], right-key: [k], type: full}
    window: {tumbling: {size: 3ms}}`},
	{"interval-join", `interval-join: {left: a, right: b, left-key: [k], right-key: [k], lower: -2ms, upper: 2ms}`},
	{"outer-interval-join", `interval-join: {left: a, right: b, left-key: [k], right-key: [k], lower: -2ms, upper: 2ms, type: full}`},
	{"update", windowProbe(`tumbling: {size: 3ms}, allowed-lateness: 5ms`) + "\n    output: update"},
	{"changelog", windowProbe(`session: {gap: 3ms}, allowed-lateness: 5ms`) + "\n    output: changelog"},
	{"complete", windowProbe(`tumbling: {size: 3ms}, allowed-lateness: 5ms`) + "\n    output: complete"},
}

func windowProbe(window string) string {
	return "from: a\n    key-by: [k]\n    window: {" + window + "}\n    aggregate: {n: count}"
}

// Kinds are those that may be used.
type Kinds map[Kind]bool

// All are all kinds.
func All() Kinds {
	kinds := Kinds{}
	for _, p := range probes {
		kinds[p.kind] = true
	}
	return kinds
}

// Flinks are the kinds that Flink's DataStream API has: all but the other output
// modes and the outer interval joins, and what it fails at.
func Flinks() Kinds {
	kinds := All()
	for _, k := range []Kind{"update", "changelog", "complete", "outer-interval-join", "unlike-flink"} {
		delete(kinds, k)
	}
	return kinds
}

// Offered are the kinds whose probe, a job file, is accepted, and those that need
// none.
func Offered(accepts func(job string) bool) Kinds {
	kinds := Kinds{}
	for _, p := range probes {
		kinds[p.kind] = p.step == "" || accepts(probeJob(p.step))
	}
	return kinds
}

func probeJob(step string) string {
	const sources = `version: 1
name: probe
sources:
  a: {test: {}, schema: {k: STRING, d: DOUBLE, g: BIGINT}}
  b: {test: {}, schema: {k: STRING, d: DOUBLE, g: BIGINT}}
steps:
  s:
    `
	return sources + step + "\nsinks:\n  out: {from: s, test: {}}\n"
}

// List is the kinds in the order of the probes.
func (k Kinds) List() string {
	var names []string
	for _, p := range probes {
		if k[p.kind] {
			names = append(names, string(p.kind))
		}
	}
	return strings.Join(names, " ")
}
