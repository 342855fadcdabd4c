package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/scenario"
)

// TestEnrichScenarios runs scripts that answer requests, in every way that may not
// matter.
func TestEnrichScenarios(t *testing.T) {
	paths := find(t, "testdata/enrich")
	if len(paths) < 2 {
		t.Fatal(paths)
	}
	for _, path := range paths {
		for _, restart := range []bool{false, true} {
			if restart && strings.Contains(path, "restart-sensitive") {
				continue
			}
			for _, batch := range []int{0, 1, 4096} {
				for _, parallelism := range []int{1, 4} {
					if parallelism > 1 && strings.Contains(path, "watermarks") {
						continue // what one task holds back behind a watermark another does not, as in Flink
					}
					o := options()
					o.Batch, o.Parallelism, o.RestartEvery = batch, parallelism, restart
					if r := parse(t, path, read(t, path)).Run(o); r.Outcome != scenario.Pass {
						t.Fatal(fmt.Sprintf("restart=%t/batch=%d/parallelism=%d: ", restart, batch, parallelism), r)
					}
				}
			}
		}
		o := options()
		o.Guest = fresh
		if r := parse(t, path, read(t, path)).Run(o); r.Outcome != scenario.Pass {
			t.Fatal("fresh instances: ", r)
		}
	}
}

// TestWrongAnswers: an answer that is none, and one that nobody waits for.
func TestWrongAnswers(t *testing.T) {
	const path = "testdata/enrich/orders.scenario"
	whole := string(read(t, path))
	job := whole[:strings.Index(whole, "-- script --\n")] + "-- script --\n"
	const asked = "emit in {\"key\": \"EUR\"} @1000\nwant elsewhere {\"key\": \"EUR\", \"error\": \"not allowed: the URL https://rates.example/v2/EUR is none of those that the job allows\"} @1000\n"
	for line, want := range map[string]string{
		`answer orderd {"url": "u", "status": 200}`:          "no step with enrich orderd; did you mean ordered?",
		`answer ordered {"url": "u"}`:                        "needs a status, or an error",
		`answer ordered {"status": 200}`:                     "has no url",
		`answer ordered {"url": "u", "statu": 200}`:          `an answer has no field "statu"; did you mean status?`,
		`answer ordered {"url": "u", "Status": 200}`:         `an answer has no field "Status"; did you mean status?`,
		`answer ordered`:                                     "lacks a part; the form is: answer STEP JSON",
		asked + `watermark in 5`:                             "the script ends, and requests wait for an answer:\n  missing    answer ordered {\"url\": \"https://rates.example/v1/EUR\", …}\n  missing    answer unordered {",
		`answer ordered {"url": "u", "status": 200} @5`:      "an answer is one object",
		asked + `answer ordered {"url": "u", "status": 200}`: "no request of the step ordered for u waits for an answer; there are those for https://rates.example/v1/EUR",
		`answer ordered {"url": "u", "status": 200}`:         "no request of the step ordered waits for an answer",
	} {
		s, err := scenario.Parse(path, []byte(job+line+"\n"))
		text := ""
		if err != nil {
			text = err.Error()
		} else {
			text = s.Run(options()).Message
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: %s; want %q", line, text, want)
		}
	}
}
