package job

import (
	"time"

	"github.com/wasmstream/wasmstream/abi"
)

// Options is what Parse needs to know beside the text.
type Options struct {
	// File is the job file's name, for messages.
	File string
	// Dir is the folder that paths in the job are relative to; best absolute.
	Dir string
	// Getenv looks up the variable of a ${NAME}; nil: none is set.
	Getenv func(name string) (string, bool)
	// Manifest reads the manifest of a module without running it; only Name, Path,
	// Shown, Digest and Line of m are set. nil: modules are refused.
	Manifest func(m Module) (*abi.Manifest, error)
	// Open has a function opened in the sandbox, whose input is any, and tells what it
	// answered of the columns of its outputs: see SchemaText. f has all but what is to be
	// answered. nil: functions that answer some are refused.
	Open func(f *Function) (map[uint32]string, error)
	// Zone looks up a time zone by its name; nil: windows with a time-zone are refused.
	Zone func(name string) (*time.Location, error)
	// Test is the mode of scenarios: the script stands in for every connector, so
	// all of them are Connector.Test in the plan, also those that are not offered
	// yet, and `test: {}` is allowed.
	Test bool
}

// Parse reads and validates a job file. The error is of type Problems.
func Parse(text []byte, o Options) (*Job, error) {
	c := &checker{o: o}
	if root := c.readTree(text); root != nil {
		c.check(root, jobShape, "")
		if root.ok {
			b := newBuilder(c, root)
			b.build()
			if len(c.problems) == 0 {
				b.job.Warnings = sortProblems(c.warnings)
				return b.job, nil
			}
		}
	}
	return nil, Problems(sortProblems(c.problems))
}
