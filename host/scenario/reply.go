package scenario

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// answered is what a script says that is answered to a URL.
type answered struct {
	url    string
	answer connector.Answer
}

// answerFields are the fields of an answer.
var answerFields = []string{"url", "status", "headers", "body", "error"}

// reply reads the answer of a line.
func (b *binder) reply(i int, a *action) error {
	var steps []*job.Step
	for _, s := range b.plan.Steps {
		if s.Enrich != nil {
			steps = append(steps, s)
		}
	}
	known := false
	for _, s := range steps {
		known = known || s.Name == a.name
	}
	if !known {
		return unknown("step with enrich", a.name, steps, func(s *job.Step) string { return s.Name })
	}
	var text struct {
		URL     string `json:"url"`
		Status  int32  `json:"status"`
		Headers string `json:"headers"`
		Body    string `json:"body"`
		Error   string `json:"error"`
	}
	fields := map[string]stdjson.RawMessage{}
	err := stdjson.Unmarshal([]byte(a.json), &fields)
	if err == nil {
		err = stdjson.Unmarshal([]byte(a.json), &text)
	}
	if err != nil {
		return errors.Join(err, errors.New(`an answer is one object: {"url": "…", "status": 200, "headers": "…", "body": "…"}, or {"url": "…", "error": "…"}`))
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(answerFields, name) {
			return fmt.Errorf("an answer has no field %q%s", name, meant(stream.Nearest(name, answerFields)))
		}
	}
	switch {
	case text.URL == "":
		return errors.New("the answer has no url: that of the request")
	case (text.Status == 0) == (text.Error == ""):
		return errors.New("the answer needs a status, or an error that says why there is none, and not both")
	}
	b.replies[i] = &answered{text.URL, connector.Answer{Status: text.Status, Headers: text.Headers, Body: []byte(text.Body), Err: text.Error}}
	return nil
}

// asker is the world outside of an enrichment: it answers when the script says so.
type asker struct {
	step    *job.Step
	waiting []question
}

type question struct {
	url  string
	done func(*connector.Answer)
}

// Ask implements connector.Asker.
func (a *asker) Ask(r connector.Request, done func(*connector.Answer)) {
	if _, err := connector.ParseAllowed(r.URL, a.step.Enrich.HTTP.Allow); err != nil {
		done(&connector.Answer{Err: err.Error()})
		return
	}
	a.waiting = append(a.waiting, question{r.URL, done})
}

// Close implements connector.Asker.
func (a *asker) Close() error { return nil }

// unanswered tells of the requests that wait when the script ends: a test that leaves them has not seen what becomes of
// their records.
func (r *runner) unanswered() *mismatch {
	if r.job == nil {
		return nil
	}
	var waiting []string
	for _, step := range slices.Sorted(maps.Keys(r.askers)) {
		for _, q := range r.askers[step].waiting {
			waiting = append(waiting, fmt.Sprintf("answer %s {\"url\": %q, …}", step, q.url))
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	last := max(r.from, 1)
	if n := len(r.actions); n > 0 {
		last = r.actions[n-1].line
	}
	return &mismatch{last, "the script ends, and requests wait for an answer:" + listed("missing   ", waiting)}
}

// answer answers the request for the URL that has waited longest.
func (a *asker) answer(what *answered) error {
	var urls []string
	for i, q := range a.waiting {
		if q.url == what.url {
			a.waiting = append(a.waiting[:i], a.waiting[i+1:]...)
			q.done(&what.answer)
			return nil
		}
		urls = append(urls, q.url)
	}
	if len(urls) == 0 {
		return fmt.Errorf("no request of the step %s waits for an answer", a.step.Name)
	}
	return fmt.Errorf("no request of the step %s for %s waits for an answer; there are those for %s", a.step.Name, what.url, strings.Join(urls, ", "))
}
