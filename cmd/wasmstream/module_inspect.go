package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/sandbox"
)

// InspectCommand shows modules.
type InspectCommand struct {
	Files []string `arg:"" name:"file" help:"Files of Wasm." placeholder:"FILE"`
	JSON  bool     `name:"json" help:"Print one JSON object for each module."`
	Play  bool     `name:"run" help:"Run the modules' functions too, in the sandbox, and show what they cost: by the cases.txt beside the file or in the folder above it, else on rows that are made up."`
	Cases string   `help:"With --run, the cases to run the functions on." placeholder:"CASES.txt"`
	SandboxFlags
	CompileFlag
}

// Validate implements kong's check of a command's flags.
func (c *InspectCommand) Validate() error {
	if c.Cases != "" && !c.Play {
		return errors.New("--cases needs --run")
	}
	return c.CompileFlag.Validate()
}

// inspection is what `module inspect --json` prints of a module.
type inspection struct {
	File     string          `json:"file"`
	SHA256   string          `json:"sha256"`
	Bytes    int             `json:"bytes"`
	ABI      []string        `json:"abi_versions"`
	Memory   memoryPlan      `json:"memory"`
	Table    uint32          `json:"table_elements"`
	Defined  int             `json:"functions"`
	Imports  []importPlan    `json:"imports"`
	Exports  []exportPlan    `json:"exports"`
	Custom   []customPlan    `json:"custom_sections"`
	Manifest json.RawMessage `json:"manifest"` // null if there is none, or a broken one
	Refused  *refusalPlan    `json:"refused,omitempty"`
	Run      *runCosts       `json:"run,omitempty"`

	manifest *abi.Manifest
}

type memoryPlan struct {
	BytesMin int64 `json:"bytes_min"`
	BytesMax int64 `json:"bytes_max"`
}

type importPlan struct {
	Module    string `json:"module"`
	Name      string `json:"name"`
	Signature string `json:"signature"`
}

type exportPlan struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Signature string `json:"signature,omitempty"`
}

type customPlan struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

type refusalPlan struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
	Offset *int   `json:"offset,omitempty"` // the byte in the module, if it is about one
}

// pageBytes is the size of one page of Wasm memory.
const pageBytes = 1 << 16

// Run inspects all files, also behind one that is refused.
func (c *InspectCommand) Run(e *Env) error {
	var errs []error
	for i, path := range c.Files {
		found, err := inspect(path, c.on(sandbox.Options{ModuleBytesMax: moduleBytesMax}))
		if err == nil && c.Play {
			found.Run, err = c.costs(e, path)
		}
		if err != nil {
			errs = append(errs, err)
		}
		switch {
		case found == nil:
		case c.JSON:
			if err := printJSON(e.Stdout, found); err != nil {
				return err
			}
		default:
			if i > 0 {
				fmt.Fprintln(e.Stdout)
			}
			found.tell(e.Stdout)
			found.Run.tell(e.Stdout)
		}
	}
	return errors.Join(errs...)
}

// inspect reads one module. For one that is refused there is an inspection, of
// what could be read, and an error.
func inspect(path string, o sandbox.Options) (*inspection, error) {
	wasm, err := readModule(path)
	var refused *sandbox.RefusedError
	if errors.As(err, &refused) {
		return nil, &exitError{exitRefused, &fileError{path, errors.New("refused: " + refused.Reason)}}
	}
	if err != nil {
		return nil, &exitError{exitBadInput, &fileError{path, err}}
	}
	info, err := sandbox.Inspect(wasm, o)
	found, shown := inspected(path, wasm, info)
	if shown != nil {
		return nil, shown
	}
	if errors.As(err, &refused) {
		found.Refused = &refusalPlan{Kind: string(refused.Kind), Reason: refused.Reason}
		if refused.Offset >= 0 {
			found.Refused.Offset = &refused.Offset
		}
		return found, &exitError{exitRefused, &fileError{path, errors.New("refused: " + refused.Reason)}}
	}
	return found, err
}

func inspected(path string, wasm []byte, info sandbox.Info) (*inspection, error) {
	digest := sha256.Sum256(wasm)
	found := &inspection{
		File: path, SHA256: hex.EncodeToString(digest[:]), Bytes: len(wasm), ABI: info.ABIVersions,
		Memory: memoryPlan{int64(info.MemoryPagesMin) * pageBytes, int64(info.MemoryPagesMax) * pageBytes},
		Table:  info.TableElements, Defined: info.Functions, Manifest: json.RawMessage("null"), manifest: info.Manifest,
	}
	for _, i := range info.Imports {
		found.Imports = append(found.Imports, importPlan(i))
	}
	for _, e := range info.Exports {
		found.Exports = append(found.Exports, exportPlan(e))
	}
	for _, c := range info.Custom {
		found.Custom = append(found.Custom, customPlan{c.Name, c.Bytes})
	}
	if info.Manifest != nil {
		text, err := protojson.Marshal(info.Manifest)
		if err != nil {
			return nil, err
		}
		found.Manifest = text
	}
	return found, nil
}

// listMax bounds the lines of a list that people read; --json has all.
const listMax = 20

// tell is the module for people. Whatever text it has of its own may be hostile.
func (f *inspection) tell(w io.Writer) {
	fmt.Fprintln(w, f.File)
	t := newTable(textColumn, textColumn)
	t.add("size", grouped(int64(f.Bytes))+" bytes")
	t.add("sha256", f.SHA256)
	if f.Refused != nil {
		t.add("refused", oneLine(f.Refused.Reason))
	}
	if f.Refused == nil || f.Refused.Kind != string(sandbox.RefusedNotWasm) {
		f.tellParts(t)
	}
	t.write(w)
}

// tellParts tells of what is in the module.
func (f *inspection) tellParts(t *table) {
	t.add("code", fmt.Sprintf("%s functions, table of %s", grouped(int64(f.Defined)), grouped(int64(f.Table))))
	t.add("memory", binaryBytes(f.Memory.BytesMin)+" to "+binaryBytes(f.Memory.BytesMax))
	if versions := strings.Join(f.ABI[:min(len(f.ABI), listMax)], ", "); versions != "" {
		t.add("ABI", "version "+cut(oneLine(versions), lineMax))
	}
	if m := f.manifest; m != nil {
		t.add("made by", strings.TrimSpace(cut(oneLine(m.GetSdk()+" "+m.GetSdkVersion()+" "+m.GetLanguage()), lineMax)))
		for _, function := range m.GetFunctions()[:min(len(m.GetFunctions()), listMax)] {
			tellFunction(t, function)
		}
	}
	imports, exports, custom := make([]string, 0, len(f.Imports)), make([]string, 0, len(f.Exports)), make([]string, 0, len(f.Custom))
	for _, i := range f.Imports {
		imports = append(imports, i.Module+"."+i.Name+" "+i.Signature)
	}
	for _, x := range f.Exports {
		exports = append(exports, strings.TrimSpace(x.Kind+" "+x.Name+" "+x.Signature))
	}
	for _, c := range f.Custom {
		custom = append(custom, fmt.Sprintf("%s, %s bytes", c.Name, grouped(int64(c.Bytes))))
	}
	tellList(t, "imports", imports)
	tellList(t, "exports", exports)
	tellList(t, "custom", custom)
}

// lineMax bounds the characters of a line that a module's own text makes long.
const lineMax = 200

func tellFunction(t *table, f *abi.Function) {
	t.add("function", cut(oneLine(f.GetName()+" ("+f.GetRole()+") "+f.GetDoc()), lineMax))
	tellSchema(t, "takes", f.GetInput())
	tellSchema(t, "and takes", f.GetSecondInput())
	tellSchema(t, "key", f.GetKey())
	tellSchema(t, "keeps", f.GetAccumulator())
	tellSchema(t, "gives", f.GetOutput())
	for _, o := range f.GetNamedOutputs()[:min(len(f.GetNamedOutputs()), listMax)] {
		tellSchema(t, "gives "+oneLine(o.GetName()), o.GetSchema())
	}
	for _, s := range f.GetStates()[:min(len(f.GetStates()), listMax)] {
		tellState(t, s)
	}
	if f.GetMerges() {
		t.add("", "  merges")
	}
	for _, p := range f.GetParameters()[:min(len(f.GetParameters()), listMax)] {
		text := "  parameter " + p.GetName() + " " + p.GetType()
		if p.Default != nil {
			text += " = " + p.GetDefault()
		}
		t.add("", cut(oneLine(text+" "+p.GetDoc()), lineMax))
	}
}

// owners are whose states of a scope are, in words.
var owners = map[string]string{abi.ScopeKey: "a key", abi.ScopeWindow: "a window", abi.ScopeBroadcast: "each task"}

func tellState(t *table, s *abi.State) {
	verb := fmt.Sprintf("state %s, %s of %s", s.GetName(), s.GetKind(), owners[s.ScopeOrDefault()])
	if s.GetTtl() != "" {
		verb += ", forgotten after " + s.GetTtl()
	}
	if s.GetKind() == abi.StateMap {
		verb += ": " + schemaText(s.GetKey()) + " to"
	} else {
		verb += ":"
	}
	tellSchema(t, cut(oneLine(verb), lineMax), s.GetValue())
}

func tellSchema(t *table, verb string, s *abi.Schema) {
	if s == nil {
		return
	}
	t.add("", "  "+verb+" "+cut(oneLine(schemaText(s)), lineMax))
}

func schemaText(s *abi.Schema) string {
	if s.GetAny() {
		return "any columns"
	}
	var columns []string
	for _, f := range s.GetFields() {
		columns = append(columns, f.GetName()+" "+f.GetType())
	}
	return strings.Join(columns, ", ")
}

func tellList(t *table, name string, list []string) {
	if len(list) == 0 {
		t.add(name, "none")
	}
	for i, item := range list {
		if i == listMax {
			t.add("", fmt.Sprintf("… and %d more", len(list)-i))
			return
		}
		if i > 0 {
			name = ""
		}
		t.add(name, cut(oneLine(item), lineMax))
	}
}

// binaryBytes writes the size of a memory, which is in pages of 64 KiB.
func binaryBytes(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
