package sim

import (
	"embed"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/job"
)

//go:embed jobs/*.yaml
var jobFiles embed.FS

// Spec is a job with what its input may be like, so that its output is a function of that.
type Spec struct {
	Name string // of the file in jobs, without its ending
	// SplitsMax is how many splits a source has at most. With more than one, no record is late, since which are would hang
	// on how splits are read.
	SplitsMax int
	// Late is how many records of 100 come later than the watermark may allow for.
	Late int
	// Ordered says that the lines of each key come in one order. Without, they are compared as a set.
	Ordered bool
	// Unordered are sinks that are exceptions: streams meet before them, or their lines are of other keys.
	Unordered []string
	// Faulty is how many records of 100 cannot be decoded or delivered.
	Faulty  int
	Records int // of each source
}

// Specs are the jobs that are run.
var Specs = []Spec{
	{Name: "tumbling", SplitsMax: 3, Ordered: true, Records: 800},
	{Name: "tumbling-late", SplitsMax: 1, Late: 6, Ordered: true, Records: 800},
	{Name: "sliding", SplitsMax: 1, Late: 10, Ordered: true, Records: 480},
	{Name: "sessions", SplitsMax: 1, Late: 6, Ordered: true, Records: 640},
	{Name: "sessions-by-gap", SplitsMax: 1, Ordered: true, Records: 640},
	{Name: "evictors", SplitsMax: 1, Late: 8, Ordered: true, Records: 480},
	{Name: "triggers", SplitsMax: 1, Ordered: true, Records: 640},
	{Name: "interval-join", SplitsMax: 2, Records: 400},
	{Name: "window-join", SplitsMax: 2, Records: 400},
	{Name: "steps", SplitsMax: 2, Ordered: true, Unordered: []string{"by-count"}, Records: 480},
	{Name: "late-steps", SplitsMax: 1, Late: 15, Ordered: true, Unordered: []string{"all-late"}, Records: 640},
	{Name: "wasm", SplitsMax: 2, Ordered: true, Records: 640},
	{Name: "functions", SplitsMax: 1, Late: 8, Ordered: true, Unordered: []string{"contents"}, Records: 480},
	{Name: "bad-records", SplitsMax: 1, Faulty: 10, Ordered: true, Records: 640},
	{Name: "aligned", SplitsMax: 2, Ordered: true, Records: 400},
	{Name: "process", SplitsMax: 2, Ordered: true, Unordered: []string{"ticks"}, Records: 400},
	{Name: "stores", SplitsMax: 1, Ordered: true, Unordered: []string{"amounts", "idles"}, Records: 640},
	{Name: "enrich", SplitsMax: 2, Unordered: []string{"ordered"}, Ordered: true, Records: 480},
}

// specOf is the job of a name.
func specOf(name string) (*Spec, error) {
	for i := range Specs {
		if Specs[i].Name == name {
			return &Specs[i], nil
		}
	}
	return nil, fmt.Errorf("there is no job %q", name)
}

// plan parses the job.
func (s *Spec) plan(manifest func(job.Module) (*abi.Manifest, error)) (*job.Job, error) {
	file := "jobs/" + s.Name + ".yaml"
	text, err := jobFiles.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return job.Parse(text, job.Options{File: file, Dir: "/jobs", Manifest: manifest})
}
