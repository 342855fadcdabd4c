package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// NewCommands make what a user begins with.
type NewCommands struct {
	Function NewFunctionCommand `cmd:"" help:"Make a folder with a function that builds, is tested and runs at once."`
}

// NewFunctionCommand makes a folder for a function.
type NewFunctionCommand struct {
	Name     string  `arg:"" help:"The function's name, and the folder's." placeholder:"NAME"`
	Language string  `help:"go, c or rust." required:"" placeholder:"LANGUAGE"`
	Role     string  `help:"What the function is: a role of the ABI." default:"map" placeholder:"ROLE"`
	SDK      *string `name:"sdk" help:"The folder of the SDK; by default guest-sdk/LANGUAGE of this folder or one above, or of a wasmstream beside it." placeholder:"DIR"`
}

//go:embed templates
var templates embed.FS

// language is what differs between languages: where the source goes, which file the SDK's folder has, and a line of
// that file which no other folder's has.
type language struct{ source, mark, line string }

var languages = map[string]language{
	"go":   {"NAME.go", "go.mod", "module github.com/wasmstream/wasmstream/guest-sdk/go"},
	"c":    {"NAME.c", "wasmstream.h", "#ifndef WASMSTREAM_H"},
	"rust": {"src/lib.rs", "Cargo.toml", `name = "wasmstream"`},
}

// lacks says why a folder is not the SDK; "" if it is.
func (l *language) lacks(dir string) string {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is not there"
	case err != nil:
		return "cannot be read: " + notThere(err, dir).Error()
	case !info.IsDir():
		return "is a file, not a folder"
	}
	text, err := os.ReadFile(filepath.Join(dir, l.mark))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "has no " + l.mark
	case err != nil:
		return "has a " + l.mark + " that cannot be read: " + notThere(err, l.mark).Error()
	case !slices.Contains(strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' }), l.line):
		return fmt.Sprintf("has a %s that does not say %s", l.mark, l.line)
	}
	return ""
}

// Run writes the folder, which must not be there.
func (c *NewFunctionCommand) Run(e *Env) error {
	if err := c.check(); err != nil {
		return &exitError{exitBadInput, err}
	}
	sdk, err := c.findSDK()
	if err != nil {
		return &exitError{exitBadInput, err}
	}
	files, err := c.files(sdk)
	if err != nil {
		return &exitError{exitBadInput, err}
	}
	if err := os.Mkdir(c.Name, 0o755); err != nil {
		return &exitError{exitBadInput, err}
	}
	for _, f := range files {
		path := filepath.Join(c.Name, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(e.Stdout, filepath.ToSlash(path))
	}
	fmt.Fprintf(e.Stdout, "\ncd %s, then make, make test", c.Name)
	if slices.ContainsFunc(files, func(f txtar.File) bool { return f.Name == "job.yaml" }) {
		fmt.Fprint(e.Stdout, ", make run")
	}
	fmt.Fprintln(e.Stdout)
	if _, err := exec.LookPath("wasmstream"); err != nil {
		fmt.Fprintln(e.Stdout, "make calls wasmstream, which is not on the path: put it there, or say make WASMSTREAM=/path/to/wasmstream")
	}
	return nil
}

func (c *NewFunctionCommand) check() error {
	if !isFunctionName(c.Name) {
		return fmt.Errorf("%q is no name for a function here: lower-case letters, digits and -, a letter first", c.Name)
	}
	if _, known := languages[c.Language]; !known {
		return fmt.Errorf("there is no SDK in %q; there are go, c and rust", c.Language)
	}
	if _, err := os.Lstat(c.Name); err == nil {
		return fmt.Errorf("%s is there already: the folder is made anew, or not at all", c.Name)
	}
	if slices.Contains(abi.Roles, c.Role) {
		return nil
	}
	if near := stream.Nearest(c.Role, abi.Roles); near != "" {
		return fmt.Errorf("there is no role %q; did you mean %q?", c.Role, near)
	}
	return fmt.Errorf("there is no role %q; there are %s", c.Role, strings.Join(abi.Roles, ", "))
}

// isFunctionName holds the name to what is one in a job file, and a name of files in every language.
func isFunctionName(name string) bool {
	for i, r := range name {
		letter := r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return name != ""
}

// findSDK returns the SDK's folder as seen from the new one.
func (c *NewFunctionCommand) findSDK() (string, error) {
	l := languages[c.Language]
	folder, err := filepath.Abs(c.Name)
	if err != nil {
		return "", err
	}
	var candidates []string
	if c.SDK != nil {
		candidates = append(candidates, *c.SDK)
	} else {
		for dir := filepath.Dir(folder); ; dir = filepath.Dir(dir) {
			candidates = append(candidates, filepath.Join(dir, "guest-sdk", c.Language), filepath.Join(dir, "wasmstream", "guest-sdk", c.Language))
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	for _, dir := range candidates {
		absolute, err := filepath.Abs(dir)
		if err != nil || l.lacks(absolute) != "" {
			continue
		}
		return c.named(folder, absolute)
	}
	if c.SDK == nil {
		return "", fmt.Errorf("there is no guest-sdk/%s in this folder or one above: the SDK comes with the source of wasmstream; "+
			"get that, and say --sdk FOLDER/guest-sdk/%s", c.Language, c.Language)
	}
	return "", l.notTheSDK(*c.SDK, c.Language)
}

// notTheSDK says what is wrong with a folder that --sdk names.
func (l *language) notTheSDK(dir, name string) error {
	if dir == "" {
		return fmt.Errorf("--sdk is empty: it names the folder of the SDK, such as wasmstream/guest-sdk/%s", name)
	}
	wrong := fmt.Sprintf("--sdk %s: it %s, so it is not the SDK in %s", dir, l.lacks(dir), name)
	for _, below := range []string{name, filepath.Join("guest-sdk", name)} {
		if dir := filepath.Join(dir, below); l.lacks(dir) == "" {
			return fmt.Errorf("%s; did you mean %s?", wrong, dir)
		}
	}
	return errors.New(wrong)
}

// named is the SDK's folder as the new one's build files name it. They can quote all but a few characters.
func (c *NewFunctionCommand) named(folder, sdk string) (string, error) {
	sdk, err := filepath.Rel(folder, sdk)
	if err != nil {
		return "", err
	}
	sdk = filepath.ToSlash(sdk)
	if strings.ContainsRune(sdk, '\\') || !utf8.ValidString(sdk) || strings.ContainsFunc(sdk, unicode.IsControl) {
		return "", fmt.Errorf("the SDK's folder is %q, which go.mod, make or cargo cannot take: rename it, or link to it from elsewhere", sdk)
	}
	return sdk, nil
}

// files are those of the folder, in the order of their names.
func (c *NewFunctionCommand) files(sdk string) ([]txtar.File, error) {
	role, err := readTemplate(c.Role)
	if err != nil {
		return nil, err
	}
	common, err := readTemplate(c.Language)
	if err != nil {
		return nil, err
	}
	input, err := readTemplate("input")
	if err != nil {
		return nil, err
	}
	source := section(role, c.Language)
	if source == "" {
		return nil, fmt.Errorf("there is no template for %s in %s yet", c.Role, c.Language)
	}
	var out []txtar.File
	add := func(name, text string) {
		text = strings.NewReplacer("NAME", c.Name, "IDENT", strings.ReplaceAll(c.Name, "-", "_"), "=> SDK", "=> "+inGoMod(sdk), "?= SDK", "?= "+inMakefile(sdk), `"SDK"`, inTOML(sdk)).Replace(text)
		out = append(out, txtar.File{Name: strings.ReplaceAll(name, "NAME", c.Name), Data: []byte(text)})
	}
	add("cases.txt", section(role, "cases.txt"))
	add(languages[c.Language].source, source)
	if c.Language == "c" {
		add("manifest.json", section(role, "manifest.json"))
	}
	for _, f := range common.Files {
		if f.Name != "build" && f.Name != "test" {
			add(f.Name, string(f.Data))
		}
	}
	job, script := section(role, "job.yaml"), section(role, "script")
	if job != "" {
		add("job.yaml", job)
		for _, f := range slices.Concat(input.Files, role.Files) {
			if !isPart(f.Name) && strings.Contains(job, f.Name) {
				add(f.Name, string(f.Data))
			}
		}
	}
	if script != "" {
		add("NAME.scenario", "The job, with a script in the place of its files.\n-- job --\njob.yaml\n-- script --\n"+script)
	}
	add("Makefile", makefile(common, job != "", script != ""))
	slices.SortFunc(out, func(a, b txtar.File) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// inGoMod, inMakefile and inTOML write a path into a file. It has no backslashes and no control characters.
func inGoMod(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !strings.ContainsRune("./-_+", r) && !isLetterOrDigit(r) }) {
		return strconv.Quote(path)
	}
	return path
}

func isLetterOrDigit(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func inMakefile(path string) string { return strings.NewReplacer("$", "$$", "#", `\#`).Replace(path) }

func inTOML(path string) string { return `"` + strings.ReplaceAll(path, `"`, `\"`) + `"` }

// isPart tells sections of a role's template that are not files of their own, or that every job has.
func isPart(section string) bool {
	_, isSource := languages[section]
	return isSource || slices.Contains([]string{"cases.txt", "job.yaml", "manifest.json", "script"}, section)
}

// makefile has what all languages have, and what is the language's own.
func makefile(common *txtar.Archive, hasJob, hasScript bool) string {
	text := "# The command: where it is not on the path, make WASMSTREAM=/path/to/wasmstream, or set it in the environment.\n" +
		"WASMSTREAM ?= wasmstream\n\n" + section(common, "build") +
		"\ntest: NAME.wasm\n" + section(common, "test") + "\t$(WASMSTREAM) module conform NAME.wasm --cases cases.txt\n"
	if hasScript {
		text += "\t$(WASMSTREAM) test NAME.scenario\n"
	}
	if hasJob {
		text += "\nrun: NAME.wasm\n\t$(WASMSTREAM) run job.yaml\n"
	}
	return text + "\n.PHONY: test run\n"
}

func readTemplate(name string) (*txtar.Archive, error) {
	text, err := templates.ReadFile("templates/" + name + ".txtar")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no template for %s yet", name)
	}
	return txtar.Parse(text), err
}

// section is a file of a template, "" if it has none.
func section(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}
