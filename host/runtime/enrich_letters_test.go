package runtime_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/stream"
)

// noGuest performs the function none, which fails on all.
func noGuest(o *guesttest.Op) {
	if o.Kind == abi.OpOnRecord {
		o.Fail("no")
	}
}

// TestEnrichDeadLetters: what the function fails on leaves in its turn, once, though the
// job is restarted while it waits. Then it is not known any more where it was read.
func TestEnrichDeadLetters(t *testing.T) {
	const read2 = "failed k2 2, read at source in, line 3, byte 20: k2 as it was"
	for _, order := range []string{"ordered", "unordered"} {
		text := strings.Replace(fmt.Sprintf(enrichJob, order, 10), "from: in\n", "from: in\n    on-fault: dead-letter\n", 1)
		e := &enriched{t: t, plan: enrichPlan(t, text+"  failed: {from: told.failed, test: {}}\n"), store: newKept()}
		e.start()
		e.send(0, 1, 2, 3)
		e.mark(stream.MarkWatermark, 3)
		e.drive()
		bad := &connector.Answer{Status: 200, Body: []byte("bad")}
		e.asker.held[2].done(bad)
		e.drive()
		e.checkpoint()
		e.stop()
		if order == "unordered" {
			if d := cmp.Diff([]string{read2}, e.rows()); d != "" {
				t.Errorf("unordered, before the restart (-want +got):\n%s", d)
			}
		}
		e.start()
		for len(e.asker.held) > 0 {
			if h := e.asker.held[0]; numberOf(h.request.URL) != "2" {
				e.asker.answer(0)
				continue
			}
			e.asker.held[0].done(bad)
			e.asker.held = e.asker.held[1:]
		}
		e.drive()
		failed := map[string]string{"ordered": "failed k2 2", "unordered": read2}[order] // before the restart
		if d := cmp.Diff([]string{failed, "k0 0 @0", "k1 1 @1", "k3 3 @3"}, sorted(e.rows())); d != "" {
			t.Errorf("%s (-want +got):\n%s", order, d)
		}
		e.stop()
	}
}

// TestEnrichHandsOrigins: what an enrichment makes of a record is known to be of it, where
// a later step wants to know.
func TestEnrichHandsOrigins(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(enrichJob, "ordered", 10), "sinks:\n", "  judged: {from: told, filter: {wasm: m.none}, on-fault: dead-letter}\nsinks:\n  failed: {from: judged.failed, test: {}}\n", 1)
	e := &enriched{t: t, plan: enrichPlan(t, text), store: newKept()}
	e.start()
	e.send(1, 5)
	e.drive()
	e.asker.answer(0)
	e.drive()
	want := []string{
		"failed k1 1, read at source in, line 2, byte 10: k1 as it was",
		"failed k5 5, read at source in, line 6, byte 50: k5 as it was",
		"k1 1 @1", "k5 5 @5",
	}
	if d := cmp.Diff(want, sorted(e.rows())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	e.stop()
}
