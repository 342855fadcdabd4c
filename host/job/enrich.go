package job

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/connector"
)

const enrichOperation = "enrich"

// Enrich asks the world outside about each record: the function makes a request of it,
// or has results at once, and makes results of the answer.
type Enrich struct {
	Function  *Function // role enrich
	Unordered bool      // results leave as they come, but none passes a watermark
	Capacity  int       // records and watermarks that wait at most
	HTTP      HTTP
}

// HTTP is what requests may reach, and how they are asked.
type HTTP struct {
	Allow          []connector.URLPattern
	Shown          []string       // Allow as the job file writes it
	Private        []netip.Prefix // that may be reached although they are not public
	InFlight       int
	Timeout        time.Duration // of a request, all attempts included
	AttemptTimeout time.Duration // of each
	Attempts       int           // in all
	Statuses       []int         // that are tried again
	Backoff        time.Duration // before the second attempt
	BackoffMax     time.Duration
	Budget         float64       // further attempts for each request
	Rate           float64       // attempts in a second; 0: no limit
	AnswerBytesMax int           // of a body
	CacheTTL       time.Duration // 0: there is no cache
	CacheBytes     int64
}

var enrichOrderWords = [...]string{"ordered", "unordered"}

// buildEnrich binds the function, and reads how its requests are asked.
func (b *builder) buildEnrich(p *producer) {
	n, at, s := p.node.get(enrichOperation), p.path+"."+enrichOperation, p.sides[0]
	p.timeless = s.timeless
	if s.changing != "" && !p.step.IgnoreChanges && !p.node.has("changes") {
		b.wrong(s.refs[0].node, s.path, "The step %s reads %s, which takes results back (-U, +U, -D), and a row that is asked about twice may get two answers, so that nothing would be taken back; say changes: ignore to take changes as plain records, or let that stream's output be append", p.name, s.changing)
	}
	e := &Enrich{Unordered: text(n.get("order")) == enrichOrderWords[1], Capacity: int(number(n.get("capacity"), enrichCapacityDefault))}
	sound := b.http(&e.HTTP, n.get("http"), at+".http", e.Capacity)
	e.Function = b.function(p, call{node: n, path: at, field: enrichOperation, roles: []string{abi.RoleEnrich}, sides: p.sides})
	if e.Function == nil || !sound {
		return
	}
	if p.node.has("key-by") && b.keyBy(p) == nil {
		return
	}
	p.step.Enrich, p.output = e, e.Function.Result()
	b.warnRate(p, e)
}

// queuedMax is how many records wait in front of one task of a step at the most, if they are
// small: four batches, as the runtime makes them.
const queuedMax = 4 * 2048

// warnRate warns of a rate at which a checkpoint is not to be expected: its barrier is behind
// what waits in front of the step.
func (b *builder) warnRate(p *producer, e *Enrich) {
	if b.checkpoint == nil || e.HTTP.Rate == 0 {
		return
	}
	queued := queuedMax
	if e.Unordered || p.node.has("key-by") {
		queued *= b.job.Parallelism
	}
	if takes := float64(queued) / e.HTTP.Rate; takes > b.checkpoint.Timeout.Seconds() {
		at := p.path + "." + enrichOperation + ".http.rate-limit"
		b.warn(p.node.get(enrichOperation).get("http").get("rate-limit"), at,
			"A checkpoint comes behind what waits in front of the step %s, which may be %d records. At %g in a second they take %s, and a checkpoint may take %s: while there is more to ask about than that, none is made. A longer timeout of checkpoint allows it",
			p.name, queued, e.HTTP.Rate, formatDuration(int64(takes)*1000), shownDuration(b.checkpoint.Timeout))
	}
}

// checkEnrich refuses what belongs to other steps.
func (b *builder) checkEnrich(p *producer) bool {
	if n := p.node.get("key-by"); n != nil && n.form == mappingForm {
		b.wrong(n, p.path+".key-by", "The key-by of an enrich says which records keep their order, and names columns; a function's columns would be among those that the enrich reads")
	}
	for _, name := range []string{"aggregate", "apply", "output"} {
		if n := p.node.get(name); n != nil {
			b.wrong(n, p.path+"."+name, "An enrich takes each record by itself, so it has no %s", name)
		}
	}
	return p.node.get(enrichOperation).ok
}

// http reads how requests are asked; false if that is not known.
func (b *builder) http(h *HTTP, n *node, at string, capacity int) bool {
	if n == nil || !n.ok {
		return false
	}
	sound := b.allowed(h, n.get("allow"), at+".allow")
	sound = b.private(h, n.get("private"), at+".private") && sound
	if sound {
		b.warnPrivate(h, n.get("allow"), at+".allow")
	}
	h.InFlight = int(number(n.get("in-flight"), int64(min(inFlightDefault, capacity))))
	if in := n.get("in-flight"); in != nil && in.ok && h.InFlight > capacity {
		b.wrong(in, at+".in-flight", "in-flight is %d, and no more than capacity, %d, can be under way", h.InFlight, capacity)
	}
	timeout := number(n.get("timeout"), enrichTimeoutDefault)
	attempt := number(n.get("attempt-timeout"), timeout)
	if a := n.get("attempt-timeout"); attempt > timeout {
		b.wrong(a, at+".attempt-timeout", "attempt-timeout is longer than timeout, which is %s for all attempts", formatDuration(timeout))
	}
	h.Timeout, h.AttemptTimeout = milliseconds(timeout), milliseconds(attempt)
	if r := n.get("rate-limit"); r != nil && r.ok {
		h.Rate = r.float
	}
	h.AnswerBytesMax = int(number(n.get("answer-bytes-max"), answerBytesDefault))
	if c := n.get("cache"); c != nil {
		h.CacheTTL, h.CacheBytes = milliseconds(number(c.get("ttl"), 0)), number(c.get("size"), cacheBytesDefault)
	}
	b.retry(h, n.get("retry"), at+".retry")
	return sound
}

func (b *builder) retry(h *HTTP, n *node, at string) {
	h.Attempts = int(number(n.get("attempts"), askedDefault))
	h.Statuses, h.Budget = statusesDefault, budgetDefault
	if list := n.get("statuses"); list != nil && list.ok {
		h.Statuses = nil
		for _, item := range list.items {
			if item.ok && !slices.Contains(h.Statuses, int(item.number)) {
				h.Statuses = append(h.Statuses, int(item.number))
			}
		}
	}
	if budget := n.get("budget"); budget != nil && budget.ok {
		h.Budget = budget.float
	}
	most := number(n.get("backoff-max"), backoffMaxDefault)
	backoff := number(n.get("backoff"), min(backoffDefault, most))
	if set := n.get("backoff"); backoff > most {
		b.wrong(set, at+".backoff", "backoff is longer than backoff-max, which is %s", formatDuration(most))
	}
	h.Backoff, h.BackoffMax = milliseconds(backoff), milliseconds(most)
}

// allowed reads the patterns of URLs.
func (b *builder) allowed(h *HTTP, n *node, at string) bool {
	return b.eachText(n, at, func(item *node, place string) bool {
		p, err := connector.ParseURLPattern(item.text)
		if err != nil {
			b.wrong(item, place, "%s cannot be allowed: %s; write it like https://rates.example/v1/*", item.shown(), err)
			return false
		}
		h.Allow, h.Shown = append(h.Allow, p), append(h.Shown, item.written)
		return true
	})
}

// warnPrivate warns of what is allowed and will not be reached. Whoever lists one address of this
// machine may mean the other.
func (b *builder) warnPrivate(h *HTTP, n *node, at string) {
	for i, p := range h.Allow {
		if a, known := p.Address(); known && !connector.MayReach(a, h.Private) && !(a.IsLoopback() && connector.MayReach(netip.IPv6Loopback(), h.Private)) {
			b.warn(n.items[i], fmt.Sprintf("%s[%d]", at, i), "%s is at %s, which is no public address, and private does not list it: no request gets there. private: [%s] allows it", h.Shown[i], a, a)
		}
	}
}

// private reads networks.
func (b *builder) private(h *HTTP, n *node, at string) bool {
	return n == nil || b.eachText(n, at, func(item *node, place string) bool {
		p, err := netip.ParsePrefix(item.text)
		if a, other := netip.ParseAddr(item.text); err != nil && other == nil && a.Zone() == "" {
			p, err = a.Prefix(a.BitLen())
		}
		if err != nil {
			b.wrong(item, place, "%s is no network; write it like 10.1.0.0/16 or fd00::/8", item.shown())
			return false
		}
		h.Private = append(h.Private, p.Masked())
		return true
	})
}

// eachText goes through a checked list.
func (b *builder) eachText(n *node, at string, read func(item *node, place string) bool) bool {
	if n == nil || !n.ok {
		return false
	}
	sound := true
	for i, item := range n.items {
		sound = item.ok && read(item, fmt.Sprintf("%s[%d]", at, i)) && sound
	}
	return sound
}

func (e *Enrich) render(b *strings.Builder, s *Step) {
	h := &e.HTTP
	fmt.Fprintf(b, "  %s", enrichOrderWords[flagIndex(e.Unordered)])
	if s.KeyBy != nil {
		fmt.Fprintf(b, " by %s", columns(s.Input, s.KeyBy))
	}
	fmt.Fprintf(b, ", %d at most", e.Capacity)
	fmt.Fprintf(b, "\n  asks %s, %d at a time, for at most %s", strings.Join(h.Shown, ", "), h.InFlight, formatDuration(h.Timeout.Milliseconds()))
	if h.AttemptTimeout != h.Timeout {
		fmt.Fprintf(b, ", an attempt for %s", formatDuration(h.AttemptTimeout.Milliseconds()))
	}
	if h.Rate > 0 {
		fmt.Fprintf(b, ", %g in a second", h.Rate)
	}
	fmt.Fprintf(b, ", %s of an answer", formatBytes(int64(h.AnswerBytesMax)))
	for i, p := range h.Private {
		fmt.Fprintf(b, "%s %s", [...]string{", and private", ""}[min(i, 1)], p)
	}
	if h.Attempts == 1 {
		b.WriteString("\n  each once")
	} else {
		fmt.Fprintf(b, "\n  %d attempts for %v, after %s to %s, %g for a request", h.Attempts, h.Statuses, formatDuration(h.Backoff.Milliseconds()), formatDuration(h.BackoffMax.Milliseconds()), h.Budget)
	}
	if h.CacheTTL > 0 {
		fmt.Fprintf(b, "\n  answers are kept for %s, in %s", formatDuration(h.CacheTTL.Milliseconds()), formatBytes(h.CacheBytes))
	}
	b.WriteByte('\n')
	e.Function.render(b, s.Input)
}

func flagIndex(is bool) int {
	if is {
		return 1
	}
	return 0
}
