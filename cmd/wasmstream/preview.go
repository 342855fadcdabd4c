package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

const (
	previewRows       = 5        // at each end of a file
	previewBytesMax   = 64 << 10 // read at each end of a file
	previewColumns    = 12
	previewCellMax    = 32 // characters
	windowStartColumn = "window_start"
	windowEndColumn   = "window_end"
)

// preview shows a sink's first and last rows as a table.
func (r *jobRun) preview(w io.Writer, s *job.Sink, result sinkResult) error {
	if s.Connector.File == nil || s.Connector.File.Rolling != nil {
		return nil
	}
	head, tail, err := ends(s.Connector.File.Path, result.Rows)
	if err != nil || len(head) == 0 {
		return err
	}
	fields := s.Input.Fields()
	fields = fields[:min(len(fields), previewColumns)]
	kinds := make([]columnKind, len(fields))
	for i, f := range fields {
		if isNumber(f) {
			kinds[i] = numberColumn
		}
	}
	rows := make([][]string, 0, len(head)+len(tail))
	for _, line := range slices.Concat(head, tail) {
		rows = append(rows, cells(line, fields))
	}
	shortenTimes(rows, fields)
	t := newTable(kinds...)
	names, gap := make([]string, len(fields)), make([]string, len(fields))
	for i, f := range fields {
		names[i], gap[i] = cut(oneLine(f.Name), previewCellMax), "…"
	}
	t.add(names...)
	for i, row := range rows {
		if i == len(head) {
			t.add(gap...)
		}
		t.add(row...)
	}
	fmt.Fprintf(w, "\n%s\n\n", result.Path)
	t.write(w)
	return nil
}

// ends reads the first and the last lines of a file of so many lines. If they are
// all of them, or the last are too long to be found, there is no tail.
func ends(path string, lines int64) (head, tail [][]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	first := make([]byte, previewBytesMax)
	n, err := io.ReadFull(f, first)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	head = wholeLines(first[:n])
	if lines <= 2*previewRows {
		return head, nil, nil
	}
	head = head[:min(len(head), previewRows)]
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	last := make([]byte, min(info.Size(), previewBytesMax))
	if _, err := f.ReadAt(last, info.Size()-int64(len(last))); err != nil {
		return nil, nil, err
	}
	tail = wholeLines(last)
	if int64(len(last)) < info.Size() {
		tail = tail[min(1, len(tail)):] // the first began before what was read
	}
	return head, tail[max(0, len(tail)-previewRows):], nil
}

// wholeLines are the lines of text that end in it.
func wholeLines(text []byte) (lines [][]byte) {
	for line := range bytes.Lines(text) {
		if bytes.HasSuffix(line, []byte("\n")) {
			lines = append(lines, line)
		}
	}
	return lines
}

func isNumber(f stream.Field) bool {
	switch f.Type.Kind {
	case stream.Int, stream.BigInt, stream.Float, stream.Double, stream.Decimal:
		return !isWindowTime(f)
	}
	return false
}

// isWindowTime tells of the columns that hold a window's bounds in milliseconds.
func isWindowTime(f stream.Field) bool {
	return f.Type.Kind == stream.BigInt && (f.Name == windowStartColumn || f.Name == windowEndColumn)
}

// cells are the values of a line, as text.
func cells(line []byte, fields []stream.Field) []string {
	var record map[string]json.RawMessage
	if json.Unmarshal(line, &record) != nil {
		return make([]string, len(fields)) // a change kind's line, perhaps; nothing to fail for
	}
	row := make([]string, len(fields))
	for i, f := range fields {
		value := record[f.Name]
		text := string(value)
		var s string
		if json.Unmarshal(value, &s) == nil && string(value) != "null" {
			text = s
		}
		var ms int64
		if isWindowTime(f) && json.Unmarshal(value, &ms) == nil {
			text = shownTime(stream.EventTime(ms))
		}
		if isTimestamp(f) {
			if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
				text = at.Format("2006-01-02 15:04:05.999999999")
			}
		}
		row[i] = cut(oneLine(text), previewCellMax)
	}
	return row
}

func isTimestamp(f stream.Field) bool {
	return f.Type.Kind == stream.Timestamp || f.Type.Kind == stream.TimestampLTZ
}

// shortenTimes leaves the seconds out of the columns of times where all are zero.
func shortenTimes(rows [][]string, fields []stream.Field) {
	const zero, length = ":00", len("2006-01-02 15:04:05")
	for i, f := range fields {
		if !isWindowTime(f) && !isTimestamp(f) {
			continue
		}
		if slices.ContainsFunc(rows, func(row []string) bool { return len(row[i]) != length || !strings.HasSuffix(row[i], zero) }) {
			continue
		}
		for _, row := range rows {
			row[i] = strings.TrimSuffix(row[i], zero)
		}
	}
}
