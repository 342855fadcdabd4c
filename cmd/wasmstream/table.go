package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// columnKind says to which side a table's column is aligned.
type columnKind uint8

const (
	textColumn   columnKind = iota // left
	numberColumn                   // right
)

// table is rows of cells, aligned when all are there.
type table struct {
	kinds []columnKind
	rows  [][]string
}

func newTable(kinds ...columnKind) *table { return &table{kinds: kinds} }

// add adds a row, with a cell for each column. What a cell says may come from a module or a record.
func (t *table) add(cells ...string) {
	for i, cell := range cells {
		cells[i] = oneLine(cell)
	}
	t.rows = append(t.rows, cells)
}

// write writes the table, indented, without spaces at the ends of lines.
func (t *table) write(w io.Writer) {
	widths := make([]int, len(t.kinds))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			line.WriteString("  ")
			if t.kinds[i] == numberColumn {
				cell, padding = padding, cell
			}
			line.WriteString(cell + padding)
		}
		_, _ = io.WriteString(w, strings.TrimRight(line.String(), " ")+"\n")
	}
}
