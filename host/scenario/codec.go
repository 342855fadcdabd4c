package scenario

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/stream"
)

// reader reads the JSON of a script into rows of one schema.
type reader struct {
	declared *stream.Schema
	decoder  format.Decoder
	writer   *stream.RowWriter
	// check reads all the declared columns, where the rows have fewer: a wrong value
	// in a column that nobody uses is a mistake in the script all the same. nil: the
	// decoder looks at all of them, or some cannot be read yet.
	check       format.Decoder
	checkWriter *stream.RowWriter
	scratch     stream.Batch
}

func newReader(o *Options, declared, output *stream.Schema) (*reader, error) {
	decoder, err := o.Decoder(declared, output)
	if err != nil {
		return nil, err
	}
	r := &reader{declared: declared, decoder: decoder, writer: stream.NewRowWriter(output)}
	if output.Equal(declared) {
		return r, nil
	}
	if all, err := o.Decoder(declared, declared); err == nil {
		r.check, r.checkWriter = all, stream.NewRowWriter(declared)
	}
	return r, nil
}

// read appends a row to the batch; at gives its event time.
func (r *reader) read(b *stream.Batch, text string, change stream.ChangeKind, at func(stream.Row) stream.EventTime) error {
	r.writer.Begin(b, change)
	if err := r.decoder.Decode([]byte(text), r.writer); err != nil {
		return plain(err)
	}
	r.writer.End(at(r.writer.Row()))
	if r.check != nil {
		r.scratch.Reset()
		r.checkWriter.Begin(&r.scratch, change)
		if err := r.check.Decode([]byte(text), r.checkWriter); err != nil {
			return plain(err)
		}
	}
	return r.known(text)
}

// known refuses fields that the schema does not have: in a script they are
// misspelt.
func (r *reader) known(text string) error {
	var fields map[string]stdjson.RawMessage
	if err := stdjson.Unmarshal([]byte(text), &fields); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if r.declared.Index(name) < 0 {
			return fmt.Errorf("there is no column %q in %s%s", name, r.declared, meant(stream.Nearest(name, r.declared.Names())))
		}
	}
	return nil
}

// plain says what is wrong with a record without the engine's words for it.
func plain(err error) error {
	var fault *format.Error
	if !errors.As(err, &fault) {
		return err
	}
	if fault.Column == "" {
		return fmt.Errorf("the record is not valid at byte %d: %s", fault.Offset, fault.Reason)
	}
	return fmt.Errorf("the record's column %q is not valid: %s", fault.Column, fault.Reason)
}

// outlet is what the scenario knows of a sink: how its rows read and are written.
type outlet struct {
	name    string
	number  int // in the job's order
	reader  *reader
	encoder format.Encoder
	floats  []int // by column: the bits of a FLOAT or DOUBLE, else 0; nil: there are none
	buf     []byte
}

func newOutlet(o *Options, name string, number int, schema *stream.Schema) (*outlet, error) {
	r, err := newReader(o, schema, schema)
	if err != nil {
		return nil, err
	}
	encoder, err := o.Encoder(schema)
	if err != nil {
		return nil, err
	}
	out := &outlet{name: name, number: number, reader: r, encoder: encoder}
	for i, f := range schema.Fields() {
		bits := map[stream.TypeKind]int{stream.Float: 32, stream.Double: 64}[f.Type.Kind]
		if bits == 0 {
			continue
		}
		if out.floats == nil {
			out.floats = make([]int, schema.Len())
		}
		out.floats[i] = bits
	}
	return out, nil
}

// line is a row that the sink received, as a want line claims it. Equal rows
// give equal lines.
func (out *outlet) line(r stream.Row, t stream.EventTime) string {
	b := append(append(out.buf[:0], "want "...), out.name...)
	if change := r.Change(); change != stream.Insert {
		b = append(append(b, ' '), change.String()...)
	}
	b = append(b, ' ')
	if out.floats == nil {
		b = out.encoder.Append(b, r)
	} else {
		b = spellFloats(b, out.encoder.Append(nil, r), out.floats)
	}
	if t != stream.MinTime {
		b = append(append(b, " @"...), t.String()...)
	}
	out.buf = b
	return string(b)
}
