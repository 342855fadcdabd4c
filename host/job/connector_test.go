package job

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestConnectorPlan looks at values of a plan that its text does not show.
func TestConnectorPlan(t *testing.T) {
	const text = `
version: 1
name: j
checkpoint: {dir: "state/${NAME}"}
sources:
  a:
    kafka: {brokers: ["h:1"], topic-pattern: 'clicks|b\d', format: json, start: {timestamp: "2026-01-31T12:00:00.250+01:00"}, tls: {ca: ca.pem}}
    schema: {k: STRING}
  b: {kafka: {brokers: ["h:1"], topics: ["b"], format: json, start: {timestamp: 1234}}, schema: {k: STRING}}
sinks:
  o: {from: [a, b], file: {path: "$${x}$$${y}-${NAME}$", format: json, rolling: {size: 1MiB}}}
`
	j, err := Parse([]byte(text), fuzzOptions(false))
	if err != nil {
		t.Fatal(err)
	}
	a, b := j.Sources[0].Connector.KafkaSource, j.Sources[1].Connector.KafkaSource
	for topic, want := range map[string]bool{"clicks": true, "b7": true, "xclicks": false, "clicksx": false, "b7x": false, "": false} {
		if got := a.TopicPattern.MatchString(topic); got != want {
			t.Errorf("%s matches %q: %t", a.TopicPattern, topic, got)
		}
	}
	type values struct {
		Dir, CA, Path     string
		Start, OtherStart int64
		Rolling           Rolling
	}
	got := values{j.Checkpoint.Dir, a.TLS.CA, j.Sinks[0].Connector.File.Path, a.StartTime, b.StartTime, *j.Sinks[0].Connector.File.Rolling}
	want := values{
		Dir: "/d/state/NAME", CA: "/d/ca.pem", Path: "/d/${x}$${y}-NAME$",
		Start: time.Date(2026, 1, 31, 11, 0, 0, 250e6, time.UTC).UnixMilli(), OtherStart: 1234,
		Rolling: Rolling{SizeBytes: 1 << 20, Interval: time.Minute},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestScenarioIgnores: in a scenario there are no checkpoints and restarts, and the
// script gives the columns of metadata like all others.
func TestScenarioIgnores(t *testing.T) {
	const text = `
version: 1
name: j
checkpoint: {dir: state}
restart: {fixed-delay: {}}
sources:
  a: {kafka: {brokers: ["h:1"], topics: [a], format: json, metadata: {at: timestamp}}, schema: {k: STRING}, event-time: at}
sinks:
  o: {from: a, kafka: {brokers: ["h:1"], topic: o, format: json}}
`
	j, err := Parse([]byte(text), fuzzOptions(true))
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, j)
	s := j.Sources[0]
	if j.Checkpoint != nil || j.Restart != (Restart{}) || s.Metadata != nil || s.RecordTime || !s.Connector.Test || s.Connector.KafkaSource != nil || j.Sinks[0].Connector.KafkaSink != nil {
		t.Errorf("a scenario's plan has connectors, or what goes with them: %+v %+v", j, s)
	}
	if got := s.Schema.String(); got != "(k STRING, at TIMESTAMP_LTZ(3))" || s.EventTime != 1 {
		t.Errorf("the script gives %s, event time in column %d", got, s.EventTime)
	}
}
