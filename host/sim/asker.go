package sim

import (
	"strings"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
)

// asker is a server that an enrichment asks: it says the same to each URL, in any order,
// between two steps of the job.
type asker struct {
	life    *life
	waiting []question
}

type question struct {
	url  string
	done func(*connector.Answer)
}

// Ask implements connector.Asker.
func (a *asker) Ask(r connector.Request, done func(*connector.Answer)) {
	a.waiting = append(a.waiting, question{r.URL, done})
}

// Close implements connector.Asker.
func (a *asker) Close() error { return nil }

// answer answers one request; false: there is none.
func (a *asker) answer() bool {
	if len(a.waiting) == 0 {
		return false
	}
	i := a.life.rand.IntN(len(a.waiting))
	q := a.waiting[i]
	a.waiting = append(a.waiting[:i], a.waiting[i+1:]...)
	answer := &connector.Answer{Status: 200, Body: []byte("about " + q.url[strings.LastIndexByte(q.url, '/')+1:])}
	if strings.HasSuffix(q.url, "1") {
		answer = &connector.Answer{Err: "nobody there"}
	}
	q.done(answer)
	return true
}

func (l *life) asker(*job.Step) (connector.Asker, error) {
	a := &asker{life: l}
	l.askers = append(l.askers, a)
	return a, nil
}

// answerOne has one of the servers answer; false: nobody waits.
func (l *life) answerOne() bool {
	for _, a := range l.askers {
		if a.answer() {
			return true
		}
	}
	return false
}
