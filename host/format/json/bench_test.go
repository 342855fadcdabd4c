package json

import (
	"bytes"
	"testing"

	"github.com/wasmstream/wasmstream/host/stream"
)

var flightSchema = stream.MustSchema(
	stream.Field{Name: "flight", Type: stream.Type{Kind: stream.BigInt}},
	stream.Field{Name: "scheduled", Type: stream.Type{Kind: stream.Timestamp, Precision: 3}},
	stream.Field{Name: "delay", Type: stream.Type{Kind: stream.Int}},
	stream.Field{Name: "distance", Type: stream.Type{Kind: stream.Int}},
	stream.Field{Name: "origin", Type: stream.Type{Kind: stream.String}},
	stream.Field{Name: "destination", Type: stream.Type{Kind: stream.String}},
)

// flightLines are like the real flights: signs, lengths and airports change
// from line to line without a pattern, and the date now and then.
func flightLines(n int) [][]byte {
	e, err := NewEncoder(flightSchema, EncoderOptions{})
	if err != nil {
		panic(err)
	}
	airports := []string{"LAS", "OAK", "PHX", "DTW", "SFO", "JFK", "ORD", "ABE"}
	w := stream.NewRowWriter(flightSchema)
	lines := make([][]byte, n)
	seed := uint32(1)
	next := func(n uint32) uint32 {
		seed = seed*1664525 + 1013904223
		return (seed >> 8) % n
	}
	for i := range lines {
		w.BeginIn(nil, stream.Insert)
		w.SetInt64(0, int64(i))
		w.SetInt64(1, 978_310_800_000+int64(i)*60_000)
		w.SetInt32(2, int32(next(140))-20)
		w.SetInt32(3, int32(80+next(2500)))
		w.SetBytes(4, []byte(airports[next(8)]))
		w.SetBytes(5, []byte(airports[next(8)]))
		lines[i] = e.Append(nil, w.Row())
	}
	return lines
}

func BenchmarkDecodeFlights(b *testing.B) { benchmarkDecode(b, flightLines(20000), flightSchema) }

// BenchmarkDecodeProjected skips the columns that the hourly-delays job leaves
// alone.
func BenchmarkDecodeProjected(b *testing.B) {
	benchmarkDecode(b, flightLines(20000), flightSchema.Project([]int{1, 2, 4}))
}

// BenchmarkDecodeSpaced has a space after each comma and colon, as Python's
// json.dumps does.
func BenchmarkDecodeSpaced(b *testing.B) {
	lines := flightLines(20000)
	for i, line := range lines {
		line = bytes.ReplaceAll(line, []byte(`":`), []byte(`": `))
		lines[i] = bytes.ReplaceAll(line, []byte(`,"`), []byte(`, "`))
	}
	benchmarkDecode(b, lines, flightSchema)
}

func benchmarkDecode(b *testing.B, lines [][]byte, output *stream.Schema) {
	d, err := NewDecoder(flightSchema, output)
	if err != nil {
		b.Fatal(err)
	}
	w := stream.NewRowWriter(output)
	var batch stream.Batch
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if batch.Len() == 1024 {
			batch.Reset()
		}
		w.Begin(&batch, stream.Insert)
		if err := d.Decode(lines[n], w); err != nil {
			b.Fatal(err)
		}
		w.End(0)
		if n++; n == len(lines) {
			n = 0
		}
	}
}

var firingSchema = stream.MustSchema(
	stream.Field{Name: "origin", Type: stream.Type{Kind: stream.String}},
	stream.Field{Name: "flights", Type: stream.Type{Kind: stream.BigInt}},
	stream.Field{Name: "delay_sum", Type: stream.Type{Kind: stream.BigInt}},
	stream.Field{Name: "delay_max", Type: stream.Type{Kind: stream.Int}},
	stream.Field{Name: "window_start", Type: stream.Type{Kind: stream.BigInt}},
	stream.Field{Name: "window_end", Type: stream.Type{Kind: stream.BigInt}},
)

func firingRows(n int) []stream.Row {
	airports := []string{"LAS", "OAK", "PHX", "DTW", "SFO", "JFK", "ORD", "ABE"}
	w := stream.NewRowWriter(firingSchema)
	rows := make([]stream.Row, n)
	for i := range rows {
		w.BeginIn(nil, stream.Insert)
		w.SetBytes(0, []byte(airports[i*7%8]))
		w.SetInt64(1, int64(1+i*31%17))
		w.SetInt64(2, int64(i*7919%400-60))
		w.SetInt32(3, int32(i*6151%200-20))
		w.SetInt64(4, 984_816_000_000+int64(i)*3_600_000)
		w.SetInt64(5, 984_819_600_000+int64(i)*3_600_000)
		rows[i] = w.Row()
	}
	return rows
}

func BenchmarkEncodeFiring(b *testing.B) {
	rows := firingRows(4096)
	e, err := NewEncoder(firingSchema, EncoderOptions{})
	if err != nil {
		b.Fatal(err)
	}
	var out []byte
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if len(out) > 1<<16 {
			out = out[:0]
		}
		out = append(e.Append(out, rows[n&4095]), '\n')
		n++
	}
}

func BenchmarkEncodeFlight(b *testing.B) {
	d, err := NewDecoder(flightSchema, flightSchema)
	if err != nil {
		b.Fatal(err)
	}
	w := stream.NewRowWriter(flightSchema)
	var rows []stream.Row
	for _, line := range flightLines(4096) {
		w.BeginIn(nil, stream.Insert)
		if err := d.Decode(line, w); err != nil {
			b.Fatal(err)
		}
		rows = append(rows, w.Row())
	}
	e, err := NewEncoder(flightSchema, EncoderOptions{})
	if err != nil {
		b.Fatal(err)
	}
	var out []byte
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		out = e.Append(out[:0], rows[n&4095])
		n++
	}
}
