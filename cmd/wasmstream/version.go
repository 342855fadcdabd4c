package main

import (
	"encoding/json"
	"fmt"
	"io"
	goruntime "runtime"
	"runtime/debug"

	"github.com/wasmstream/wasmstream/abi"
)

// VersionCommand shows what this binary is.
type VersionCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// version is what `version --json` prints.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source, if it was known when built
	Time     string `json:"time,omitempty"`     // of the revision
	Modified bool   `json:"modified,omitempty"` // whether the source had changes besides
	Go       string `json:"go"`
	Platform string `json:"platform"`
	ABI      int    `json:"abi"` // what modules must speak
}

// Run prints the version.
func (c *VersionCommand) Run(e *Env) error {
	v := readVersion()
	if c.JSON {
		return printJSON(e.Stdout, v)
	}
	fmt.Fprintf(e.Stdout, "wasmstream %s\n", v.Version)
	if v.Revision != "" {
		modified := ""
		if v.Modified {
			modified = ", modified"
		}
		fmt.Fprintf(e.Stdout, "revision %.12s of %s%s\n", v.Revision, v.Time, modified)
	}
	fmt.Fprintf(e.Stdout, "%s on %s; takes modules of ABI version %d\n", v.Go, v.Platform, v.ABI)
	return nil
}

func readVersion() version {
	v := version{Version: "unknown", Go: goruntime.Version(), Platform: goruntime.GOOS + "/" + goruntime.GOARCH, ABI: abi.Version}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// printJSON prints one JSON object with indentation.
func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
