package sandbox

import (
	"fmt"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/sandbox/meter"
)

// Info is what a module shows of itself without running.
type Info struct {
	// Bytes is its size.
	Bytes int
	// MemoryPagesMin and MemoryPagesMax are its memory's sizes in pages of 64 KiB;
	// the greatest is the host's limit if the module sets none.
	MemoryPagesMin, MemoryPagesMax uint32
	// TableElements is the size of its table.
	TableElements uint32
	// Functions counts the functions that it defines.
	Functions int
	// Imports, Exports and Custom list its sections of these names, in order.
	Imports []Import
	Exports []Export
	Custom  []CustomSection
	// ABIVersions are those that it marks by an export.
	ABIVersions []string
	// Manifest is what its manifest says, or nil if there is none or it cannot be read.
	Manifest *abi.Manifest
}

// Import is a function that a module needs from its host.
type Import struct {
	Module, Name string
	// Signature reads like "(i32, i32) -> (i32)".
	Signature string
}

// Export is what a module offers.
type Export struct {
	Name string
	// Kind is function, table, memory or global.
	Kind string
	// Signature is empty unless it is a function.
	Signature string
}

// CustomSection is a section that has no meaning in Wasm.
type CustomSection struct {
	Name string
	// Bytes is the size of its content, which begins at Offset in the module.
	Bytes, Offset int
}

// Inspect reads a module without running or compiling it. The error is nil if
// the module may be loaded, else a RefusedError; Info then holds what was read
// up to the refusal. Inspect never takes a module whose decoding could harm the
// host; whether its code is valid is for Load to find out.
func Inspect(wasm []byte, options Options) (Info, error) {
	if err := options.Validate(); err != nil {
		return Info{}, err
	}
	info, _, refused := inspect(wasm, options.withDefaults(), true)
	if refused != nil {
		return info, refused
	}
	return info, nil
}

// inspect is Inspect; without needManifest the manifest is not looked at, as long
// as a module is not packed. It also tells what it costs to compile the module.
func inspect(wasm []byte, options Options, needManifest bool) (info Info, cost work, err *RefusedError) {
	s, refused := scan(wasm, options)
	info = s.info()
	if refused == nil {
		s.checkImports()
		s.checkMarker(info)
		s.checkExports()
		s.checkReserved()
		s.checkManifest(&info, needManifest)
	}
	return info, s.work, s.err
}

// info collects what the scanner read, which may be half of the module.
func (s *scanner) info() Info {
	info := Info{Bytes: len(s.data), Functions: len(s.functions), Custom: s.custom}
	if s.memory != nil {
		info.MemoryPagesMin = s.memory.least
		info.MemoryPagesMax = min(s.memory.most, s.options.MemoryPagesMax)
	}
	if s.table != nil {
		info.TableElements = s.table.least
	}
	info.Imports = make([]Import, 0, len(s.imports))
	for _, i := range s.imports {
		info.Imports = append(info.Imports, Import{string(i.module), string(i.name), s.spelt(i.typeIndex)})
	}
	info.Exports = make([]Export, 0, len(s.exports))
	for _, e := range s.exports {
		shown := Export{Name: string(e.name), Kind: externKind(e.kind)}
		if index, ok := s.typeOfFunction(e.index); ok && e.kind == 0 {
			shown.Signature = s.spelt(index)
		}
		if version, ok := strings.CutPrefix(shown.Name, markerPrefix); ok {
			info.ABIVersions = append(info.ABIVersions, version)
		}
		info.Exports = append(info.Exports, shown)
	}
	return info
}

// spelt returns a type as text; a long one, which no contract has, as its size:
// a module could export thousands of functions of one such type.
func (s *scanner) spelt(typeIndex uint32) string {
	if int64(typeIndex) >= int64(len(s.types)) {
		return ""
	}
	if t := s.types[typeIndex]; int(t.params)+int(t.results) > 16 {
		return fmt.Sprintf("(%d) -> (%d)", t.params, t.results)
	}
	return s.signatureOf(typeIndex).String()
}

// typeOfFunction returns the type's index of a function, imported or defined.
func (s *scanner) typeOfFunction(index uint32) (uint32, bool) {
	if int64(index) < int64(len(s.imports)) {
		return s.imports[index].typeIndex, true
	}
	if defined := int64(index) - int64(len(s.imports)); defined < int64(len(s.functions)) {
		return s.functions[defined], true
	}
	return 0, false
}

// checkImports holds the imports against the allow-list.
func (s *scanner) checkImports() {
	for _, i := range s.imports {
		allowed := findHostFunction(string(i.module), string(i.name))
		if allowed == nil {
			s.refuse(RefusedImport, i.offset, "it imports %s.%s, which this host does not give; %s",
				show(i.module), show(i.name), s.importHint(i))
			return
		}
		if got := s.signatureOf(i.typeIndex); got != allowed.signature {
			s.refuse(RefusedImport, i.offset, "it imports %s.%s as %s; its signature is %s", i.module, i.name, got, allowed.signature)
			return
		}
	}
}

func (s *scanner) importHint(i importedFunction) string {
	if string(i.module) == moduleWASI {
		return "a function has no files, sockets, clock or environment: leave out the code that needs them"
	}
	if near := nearest(string(i.module)+"."+string(i.name), hostFunctionNames); near != "" {
		return "the nearest that it gives is " + near
	}
	return fmt.Sprintf("allowed are %s.%s, %s.%s and the functions of %s that language runtimes need",
		abi.ImportModule, abi.ImportLog, abi.ImportModule, abi.ImportFail, moduleWASI)
}

// checkMarker looks for this host's version of the ABI.
func (s *scanner) checkMarker(info Info) {
	for _, e := range s.exports {
		if string(e.name) == abi.ExportMarker {
			return
		}
	}
	if len(info.ABIVersions) == 0 {
		s.refuse(RefusedABI, -1, "it does not export %s, which says that it speaks version %d of the ABI%s; build it with an SDK of wasmstream",
			abi.ExportMarker, abi.Version, s.exportHint(abi.ExportMarker))
		return
	}
	versions := strings.Join(info.ABIVersions[:min(len(info.ABIVersions), 8)], ", ")
	s.refuse(RefusedABI, -1, "it speaks version %s of the ABI, and this host takes version %d; build it with an SDK of that version",
		show([]byte(versions)), abi.Version)
}

// checkExports holds the exports against the contract.
func (s *scanner) checkExports() {
	memory := s.findExport(abi.ExportMemory)
	switch {
	case s.memory == nil:
		s.refuse(RefusedExport, -1, "it has no memory; it must define one and export it as %q", abi.ExportMemory)
	case memory == nil:
		s.refuse(RefusedExport, -1, "it does not export its memory; export it as %q%s", abi.ExportMemory, s.exportHint(abi.ExportMemory))
	case memory.kind != 2 || memory.index != 0:
		s.refuse(RefusedExport, memory.offset, "it exports %q as a %s with index %d; it must be its memory", memory.name, externKind(memory.kind), memory.index)
	}
	for _, want := range contractExports {
		e := s.findExport(want.name)
		if e == nil {
			if want.required {
				s.refuse(RefusedExport, -1, "it does not export the function %s %s%s", want.name, want.signature, s.exportHint(want.name))
			}
			continue
		}
		index, ok := s.typeOfFunction(e.index)
		if e.kind != 0 || !ok {
			s.refuse(RefusedExport, e.offset, "it exports %s as a %s; it must be a function %s", want.name, externKind(e.kind), want.signature)
			continue
		}
		if got := s.signatureOf(index); got != want.signature {
			s.refuse(RefusedExport, e.offset, "it exports %s as %s; its signature must be %s", want.name, s.spelt(index), want.signature)
		}
	}
}

// checkReserved keeps the names of meters free.
func (s *scanner) checkReserved() {
	for _, e := range s.exports {
		if strings.HasPrefix(string(e.name), meter.Reserved) {
			s.refuse(RefusedExport, e.offset, "it exports %s; names that begin with %s are the host's", show(e.name), meter.Reserved)
			return
		}
	}
}

func (s *scanner) findExport(name string) *exported {
	for i := range s.exports {
		if string(s.exports[i].name) == name {
			return &s.exports[i]
		}
	}
	return nil
}

// exportHint names the export that was probably meant to have the given name.
func (s *scanner) exportHint(name string) string {
	var names []string
	for _, e := range s.exports[:min(len(s.exports), 100)] {
		if len(e.name) <= abi.NameBytesMax {
			names = append(names, string(e.name))
		}
	}
	if near := nearest(name, names); near != "" {
		return fmt.Sprintf(" (the nearest that it exports is %s)", show([]byte(near)))
	}
	return ""
}

// checkManifest reads the manifest's section.
func (s *scanner) checkManifest(info *Info, needed bool) {
	if s.err != nil || !needed {
		return // one that is wrong may be about to be replaced
	}
	if s.manifestOffset < 0 {
		s.refuse(RefusedManifest, -1, "it has no section %q, which describes its functions; run `wasmstream module pack` to write it", abi.ManifestSection)
		return
	}
	if len(s.manifest) > abi.ManifestBytesMax {
		s.refuse(RefusedManifest, s.manifestOffset, "its manifest has %d bytes; the limit is %d", len(s.manifest), abi.ManifestBytesMax)
		return
	}
	manifest, err := abi.ParseManifest(s.manifest)
	if err != nil {
		s.refuse(RefusedManifest, s.manifestOffset, "its manifest is broken: %v; run `wasmstream module pack` to write it anew", err)
		return
	}
	info.Manifest = manifest // what is wrong with it is worth seeing
	if err := validateManifest(manifest); err != nil {
		s.refuse(RefusedManifest, s.manifestOffset, "its manifest is wrong: %s", oneReason(err))
	}
}
