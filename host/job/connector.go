package job

import (
	"fmt"
	"path/filepath"
	"strings"
)

// connector reads what a source reads or a sink writes; the Kafka sink has a
// function of its own.
func (b *builder) connector(n *node, path string, write bool) Connector {
	connector := Connector{Test: b.o.Test}
	if n.get("test") != nil {
		if !b.o.Test {
			b.wrong(n.get("test"), path+".test", "test stands for the script of a scenario, which there is none of here: use a connector such as file, or run the job by wasmstream test")
		}
		connector.Test = true
	}
	file := b.file(n.get("file"), path+".file", write)
	if !connector.Test {
		connector.File = file
	}
	return connector
}

// file reads a connector of files; nil if there is none, or it is not right.
func (b *builder) file(n *node, path string, write bool) *FileConnector {
	shown := n.get("path")
	if text(shown) == "" {
		return nil
	}
	f := &FileConnector{Path: b.resolve(shown.text), Shown: shown.written, Format: formatOf(n.get("format")), Line: shown.line, Column: shown.column}
	if !write {
		f.RecordBytesMax = int(number(n.get("record-bytes-max"), recordBytesDefault))
	}
	if rolling := n.get("rolling"); rolling != nil {
		f.Rolling = &Rolling{
			SizeBytes: number(rolling.get("size"), rollingBytesDefault),
			Interval:  milliseconds(number(rolling.get("interval"), rollingIntervalDefault)),
		}
		if !b.hasCheckpoint() {
			b.wrong(rolling, path+".rolling", "rolling needs checkpoint: a file of the folder appears with the first checkpoint after it is full or old")
		}
	}
	b.files = append(b.files, &fileUse{path: f.Path, field: path + ".path", node: shown, write: write, folder: f.Rolling != nil})
	return f
}

// checkFiles refuses what would overwrite its own input or what another writes.
func (b *builder) checkFiles() {
	for i, f := range b.files {
		if !f.write || b.full() {
			continue
		}
		for _, g := range b.files[:i] {
			if f.meets(g) {
				b.wrong(f.node, f.field, "%s", f.clash(g))
				break
			}
		}
	}
}

// meets tells whether two uses are of one file, or a file in a folder.
func (f *fileUse) meets(g *fileUse) bool {
	return f.path == g.path || f.folder && f.holds(g.path) || g.folder && g.holds(f.path)
}

// holds tells whether a path is in a folder. Both are clean.
func (f *fileUse) holds(path string) bool {
	const separator = string(filepath.Separator)
	if f.path == "." {
		return !filepath.IsAbs(path) && path != ".." && !strings.HasPrefix(path, ".."+separator)
	}
	rest, inside := strings.CutPrefix(path, strings.TrimSuffix(f.path, separator))
	return inside && strings.HasPrefix(rest, separator)
}

// clash tells how what f writes meets what g reads or writes.
func (f *fileUse) clash(g *fileUse) string {
	what, needs := "file", "a sink needs a file of its own"
	if f.folder {
		what, needs = "folder", "a sink with rolling needs a folder of its own"
	}
	verb := "read"
	switch {
	case g.field == checkpointDir:
		verb, needs = "used", "checkpoints need a folder of their own"
	case g.write:
		verb = "also written"
	}
	owner := strings.TrimSuffix(g.field, ".file.path")
	if f.path == g.path {
		return fmt.Sprintf("The %s %s is %s by %s in line %d; %s", what, f.node.written, verb, owner, g.node.line, needs)
	}
	if f.folder && f.holds(g.path) {
		return fmt.Sprintf("The folder %s holds %s, which is %s by %s in line %d; %s", f.node.written, g.node.written, verb, owner, g.node.line, needs)
	}
	return fmt.Sprintf("The %s %s is in the folder %s, which is %s by %s in line %d; %s", what, f.node.written, g.node.written, verb, owner, g.node.line, needs)
}
