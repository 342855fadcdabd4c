package runtime_test

import (
	"io"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
)

// TestEndOfInputIsOfNoSplit: the chunk that says that nothing more comes makes no
// split known, which a source would then be asked to go on with, and it does not
// hang on one that has ended. What the split's identity is stays known meanwhile.
func TestEndOfInputIsOfNoSplit(t *testing.T) {
	text := strings.NewReplacer("file: {path: in, format: json}", `kafka: {brokers: ["b:1"], topics: [in], format: json, bounded: true}`).Replace(countJob)
	store := newKept()
	for _, chunks := range [][]connector.Chunk{{{Split: "in/0", Identity: "id"}, {Split: "in/0", Ended: true, Identity: "id"}}, {}} {
		next := 0
		c := with(t, newSource(func(c *connector.Chunk) error {
			if next == len(chunks) {
				return io.EOF
			}
			*c = chunks[next]
			if !c.Ended {
				appendLines(c, `{"k":"a","v":1,"t":5}`+"\n")
			}
			next++
			return nil
		}), func(string) connector.Sink { return &sinkFuncs{} })
		c.Checkpoints = store.config(t)
		run(t, countPlanOf(t, text, "", "fail", "on-event"), c)
		r, err := checkpoint.Recover(store)
		if err != nil {
			t.Fatal(err)
		}
		if s := r.Manifest.Sources[0]; !s.Ended || len(s.Splits) != 1 || s.Splits[0].Name != "in/0" || !s.Splits[0].Ended {
			t.Errorf("the last checkpoint has %+v", s)
		} else if at := s.Positions()[0]; at.Identity != "id" {
			t.Errorf("the source would be asked to go on at %+v", at)
		}
	}
}
