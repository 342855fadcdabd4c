package job

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// builder turns checked nodes into the plan. It works in passes: modules,
// sources, the graph, steps (upstream first, on all columns), sinks, then the
// columns that nobody uses are left out.
type builder struct {
	*checker
	root       *node
	job        *Job
	modules    map[string]*moduleInfo
	producers  map[string]*producer // sources and steps, by name
	order      []*producer          // as in the file; the steps upstream first once that is known
	sinks      []*sinkInfo
	files      []*fileUse
	prefixes   []*prefixUse
	checkpoint *Checkpoint // nil if there is none, or its times are not right; also in Options.Test
}

// moduleInfo is a module that the job names; module is nil if it is broken.
type moduleInfo struct {
	module *Module
	node   *node
	used   bool
}

// producer is a source or a step while the plan is built.
type producer struct {
	name   string
	path   string
	node   *node
	source *Source
	step   *Step
	sides  []*side // none of a source, two of a join
	// operation is the field that says what a step does; "" for a union or
	// pass-through.
	operation string
	output    *stream.Schema // all columns; nil if it is not known because of a problem
	extras    []*extra
	functions []called           // those that are bound
	keyed     *producer          // the step before it that computes its key; nil: its key is columns
	keys      [2][]int           // of a join: columns of its sides
	used      bool               // someone reads the main output
	changing  bool               // the main output may have changes
	timeless  string             // the name of a source whose records have no event time, "" if there is none
	event     int                // event-time column of a source's output, -1
	metadata  []MetadataKind     // of a source: of the last columns of its output
	endless   string             // the name of a source that it depends on and that never ends, "" if there is none
	origins   map[*producer]bool // the sources that its event time depends on
}

// side is what a step reads: all of it, or the left or right side of a join.
type side struct {
	shown    string // how a sentence that begins with it calls it
	path     string
	refs     []ref
	input    *stream.Schema // all columns; nil if it is not known because of a problem
	timeless string         // as in producer, of any of its streams
	changing string         // one of its streams that may have changes, "" if there is none
	endless  string         // as in producer, of any of its streams
	// made says whose output it is, if it is no stream but what a function of the step
	// hands to another; it then has nothing but its input.
	made string
	// Columns of input that a window's options name, -1.
	gap, trigger, evictor int
}

// extra is an output of a step beside its main one: of what came too late, or what
// a function puts out there.
type extra struct {
	name   string
	of     *side          // whose records it has; nil: it has rows of its own
	schema *stream.Schema // of rows of its own; nil until it is known, or for good because of a problem
	field  string
	node   *node
	used   bool
	failed bool // it has records that a function failed on, or that could not be decoded
}

// sinkInfo is a sink while the plan is built.
type sinkInfo struct {
	sink  *Sink
	path  string
	node  *node
	refs  []ref
	input *stream.Schema
	kafka *KafkaSink // also in Options.Test
}

// fileUse is a file or folder that the job reads or writes.
type fileUse struct {
	path   string
	field  string
	node   *node
	write  bool
	folder bool // all in it is used
}

func newBuilder(c *checker, root *node) *builder {
	return &builder{checker: c, root: root, job: &Job{}, modules: map[string]*moduleInfo{}, producers: map[string]*producer{}}
}

func (b *builder) build() {
	b.settings()
	b.checkpoints()
	b.restart()
	b.buildModules()
	b.buildSources()
	b.declareSteps()
	b.resolveAll()
	if b.sortSteps() {
		for _, p := range b.order {
			if p.step != nil {
				b.buildStep(p)
			}
		}
		b.joinSinks()
	}
	b.checkFiles()
	b.checkPrefixes()
	b.warnUnused()
	b.warnSilent()
	b.warnAlone()
	if len(b.problems) == 0 {
		b.prune()
		b.trace()
	}
}

// number is the value of a checked integer, duration or size.
func number(n *node, missing int64) int64 {
	if n == nil || !n.ok {
		return missing
	}
	return n.number
}

// isKnown tells whether a value is right or missing, so that what is compared with
// it is not said to be wrong because of it.
func isKnown(n *node) bool { return n == nil || n.ok && !n.unset }

// text is the value of a checked text or word.
func text(n *node) string {
	if n == nil || !n.ok {
		return ""
	}
	return n.text
}

// isTrue is the value of a checked truth value, false if it is missing.
func isTrue(n *node) bool { return n != nil && n.ok && strings.EqualFold(n.text, "true") }

// wordIndex is the place of a checked word among all, 0 if it is missing.
func wordIndex(n *node, words []string) int { return max(0, slices.Index(words, text(n))) }

func (b *builder) settings() {
	r, j := b.root, b.job
	j.Name = text(r.get("name"))
	j.Parallelism = int(number(r.get("parallelism"), parallelismDefault))
	j.MaxParallelism = int(number(r.get("max-parallelism"), keyGroupsDefault))
	j.Compatibility = b.compatibility(r.get("compatibility"))
	j.Limits = defaultLimits().with(r.get(limitsField.name))
	j.BufferTimeout = milliseconds(number(r.get("buffer-timeout"), bufferTimeoutDefault))
	if n := r.get("parallelism"); n != nil && n.ok && j.Parallelism > j.MaxParallelism {
		b.wrong(n, "parallelism", "parallelism must not be larger than max-parallelism, which is %d: a task without key groups has nothing to do; it is %d", j.MaxParallelism, j.Parallelism)
	}
}

// named goes through the entries of a mapping of names.
func named(n *node, do func(e entry)) {
	if n == nil {
		return
	}
	for _, e := range n.entries {
		if nameProblem(e.key, false) == "" {
			do(e)
		}
	}
}

// resolve joins a path of the job file to its folder.
func (b *builder) resolve(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(b.o.Dir, path)
}

func (b *builder) buildModules() {
	named(b.root.get("modules"), func(e entry) {
		info := &moduleInfo{node: e.value}
		b.modules[e.key] = info
		file := e.value.get("file")
		if text(file) == "" {
			return
		}
		m := &Module{Name: e.key, Path: b.resolve(file.text), Shown: file.written, Compile: b.job.Limits.Compile, Line: e.line}
		at := "modules." + e.key + ".file"
		if b.o.Manifest == nil {
			b.wrong(file, at, "Modules cannot be read here")
			return
		}
		manifest, err := b.o.Manifest(*m)
		if err == nil && manifest != nil {
			err = manifest.Validate()
		}
		if err != nil {
			b.wrong(file, at, "The module %s cannot be used: %s", m.Shown, strings.ReplaceAll(err.Error(), "\n", "; "))
			return
		}
		m.Manifest = manifest
		info.module = m
		b.job.Modules = append(b.job.Modules, m)
	})
}

func (b *builder) buildSources() {
	named(b.root.get("sources"), func(e entry) {
		s := &Source{Name: e.key, EventTime: -1, Line: e.line}
		p := &producer{name: e.key, path: "sources." + e.key, node: e.value, source: s, event: -1}
		p.origins = map[*producer]bool{p: true}
		b.producers[e.key] = p
		b.order = append(b.order, p)
		b.job.Sources = append(b.job.Sources, s)
		s.Connector = b.connector(e.value, p.path, false)
		if k := b.kafkaSource(e.value.get("kafka"), p.path+".kafka"); k != nil && !s.Connector.Test {
			s.Connector.KafkaSource = k
			if !k.Bounded {
				p.endless = s.Name
			}
		}
		s.OnError = OnError(wordIndex(e.value.get("on-error"), errorWords[:]))
		p.declareFailed()
		s.Schema = b.schema(e.value.get("schema"))
		p.output = s.Schema
		b.metadata(p)
		b.decode(p)
		b.eventTime(p)
		b.watermark(p)
	})
}

// schema reads the declared columns; nil if one of them is not right.
func (b *builder) schema(n *node) *stream.Schema {
	if n == nil || !n.ok || len(n.entries) == 0 {
		return nil
	}
	fields := make([]stream.Field, 0, len(n.entries))
	for _, e := range n.entries {
		if !e.value.ok || e.value.typ == nil {
			return nil
		}
		fields = append(fields, stream.Field{Name: e.key, Type: *e.value.typ})
	}
	s, err := stream.NewSchema(fields...)
	if err != nil {
		return nil // an empty name, which checkNamed told
	}
	return s
}

func (b *builder) eventTime(p *producer) {
	s, n := p.source, p.node.get("event-time")
	s.IngestionTime = isTrue(p.node.get("ingestion-time"))
	if n == nil {
		s.RecordTime = s.Connector.KafkaSource != nil && !s.IngestionTime
		if s.Connector.File != nil && !s.IngestionTime {
			p.timeless = s.Name
		}
		return
	}
	at := p.path + ".event-time"
	if s.IngestionTime {
		b.wrong(n, at, "event-time and ingestion-time exclude each other: a record has one time")
	}
	if n.form == mappingForm {
		reads := &side{shown: "The source " + p.name, path: at, input: p.output}
		s.Timestamp = b.function(p, call{node: n, path: at, field: "event-time", roles: []string{abi.RoleTimestamp}, sides: []*side{reads}})
		return
	}
	if text(n) == "" || p.output == nil {
		return
	}
	i := p.output.Index(n.text)
	if i < 0 {
		b.wrong(n, at, "The source %s has no column %s%s", s.Name, quote(n.text), b.suggest(n.text, p.output.Names(), "its columns are "))
		return
	}
	t := p.output.Fields()[i].Type
	isTime := t.Kind == stream.Timestamp || t.Kind == stream.TimestampLTZ
	if t.Kind != stream.BigInt && (!isTime || t.Precision > stream.TimestampCompactMax) {
		b.wrong(n, at, "The column %s is %s; an event time is TIMESTAMP(3), TIMESTAMP_LTZ(3), or BIGINT in milliseconds since the epoch", n.text, t)
		return
	}
	p.event = i
}
