package runtime

import (
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// metadata fills the columns of a row that do not come from the record's bytes.
type metadata struct {
	columns         []job.MetadataColumn
	names, contents *stream.ArrayBuilder // of headers, one at a time
	name, content   stream.Column
	row             *stream.RowWriter
	buf             []byte
}

// newMetadata makes the filler of a source's columns; nil if it has none.
func newMetadata(s *job.Source) *metadata {
	if len(s.Metadata) == 0 {
		return nil
	}
	text, bytes := stream.Type{Kind: stream.String}, stream.Type{Kind: stream.Bytes}
	pair := stream.MustSchema(stream.Field{Name: "name", Type: text}, stream.Field{Name: "content", Type: bytes})
	return &metadata{
		columns: s.Metadata, names: stream.NewArrayBuilder(text), contents: stream.NewArrayBuilder(bytes),
		name: pair.Column(0), content: pair.Column(1), row: stream.NewRowWriter(pair),
	}
}

// fill sets the columns of the row that was begun on w, for a record of a topic's
// partition.
func (m *metadata) fill(w *stream.RowWriter, c *connector.Chunk, record int) {
	known := &c.Meta[record]
	for _, column := range m.columns {
		switch i := column.Column; column.Kind {
		case job.RecordTimestamp:
			w.SetInt64(i, known.Timestamp)
		case job.RecordKey:
			if known.Key == nil {
				w.SetNull(i)
			} else {
				w.SetBytes(i, known.Key)
			}
		case job.RecordHeaders:
			w.SetNested(i, m.headers(known.Headers))
		case job.RecordPartition:
			w.SetInt32(i, c.Partition)
		case job.RecordOffset:
			w.SetInt64(i, c.Offsets[record])
		case job.RecordTopic:
			m.buf = append(m.buf[:0], c.Topic...)
			w.SetBytes(i, m.buf)
		}
	}
}

// headers makes a map of them; of several of one name the last counts.
func (m *metadata) headers(headers []connector.Header) []byte {
	m.names.Reset()
	m.contents.Reset()
	for i, h := range headers {
		if repeats(headers[i+1:], h.Name) {
			continue
		}
		m.row.BeginIn(m.row.Buffer()[:0], stream.Insert)
		m.buf = append(m.buf[:0], h.Name...)
		m.row.SetBytes(0, m.buf)
		if h.Value == nil {
			m.row.SetNull(1)
		} else {
			m.row.SetBytes(1, h.Value)
		}
		m.names.Append(&m.name, m.row.Buffer())
		m.contents.Append(&m.content, m.row.Buffer())
	}
	return stream.AppendMapOf(nil, m.names, m.contents)
}

func repeats(headers []connector.Header, name string) bool {
	for _, h := range headers {
		if h.Name == name {
			return true
		}
	}
	return false
}
