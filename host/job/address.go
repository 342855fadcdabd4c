package job

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"
)

// addressProblem wants host:port; an IPv6 host is in brackets.
func addressProblem(n *node) string {
	colon := strings.LastIndexByte(n.text, ':')
	host, port := n.text[:max(0, colon)], n.text[colon+1:]
	bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	bracketed := len(bare) == len(host)-len("[]")
	if bare == "" || !bracketed && len(bare) != len(host) || strings.Contains(bare, ":") != bracketed || strings.ContainsAny(bare, "[]/, \t") {
		return fmt.Sprintf("must be an address as host:port; it is %s", quote(n.written))
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return fmt.Sprintf("must have a port from 1 to 65535 behind the host; it is %s", quote(n.written))
	}
	return ""
}

// topicProblem holds a topic's name to Kafka's rules.
func topicProblem(n *node) string {
	switch {
	case n.text == "" || n.text == "." || n.text == "..":
		return fmt.Sprintf("cannot be %s: Kafka has no topic of that name", quote(n.written))
	case len(n.text) > TopicBytesMax:
		return fmt.Sprintf("is longer than %d bytes, the most that a topic's name can have", TopicBytesMax)
	}
	for _, r := range n.text {
		if r != '.' && nameProblem(string(r), false) != "" {
			return fmt.Sprintf("must be a topic; %s is none: it has %q in it, and only letters, digits, ., _ and - are allowed", quote(n.written), r)
		}
	}
	return ""
}

// pattern compiles a regular expression of whole names. What repeats counts in
// it takes long to compile, so texts and their number have bounds (invariant L).
func (c *checker) pattern(n *node) string {
	switch {
	case n.text == "":
		return "must not be empty"
	case len(n.text) > PatternBytesMax:
		return fmt.Sprintf("is longer than %d bytes", PatternBytesMax)
	case c.patterns[n.text] != nil:
		n.pattern = c.patterns[n.text]
		return ""
	case len(c.patterns) == PatternsMax:
		return fmt.Sprintf("is one too many: a job has at most %d different regular expressions", PatternsMax)
	}
	_, err := syntax.Parse(n.text, syntax.Perl) // alone, since a)|(b would be sound within the anchors
	if err == nil {
		n.pattern, err = regexp.Compile("^(?:" + n.text + ")$")
	}
	if err != nil {
		return fmt.Sprintf("must be a regular expression (RE2); %s is none: %s", quote(n.written), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if c.patterns == nil {
		c.patterns = map[string]*regexp.Regexp{}
	}
	c.patterns[n.text] = n.pattern
	return ""
}

// instantProblem wants a time that is not before the epoch: Kafka takes negative
// times for something else.
func instantProblem(n *node, s *shape) string {
	wrong := fmt.Sprintf("must be a time, such as %s, or milliseconds since the epoch; it is %s", s.example, n.shown())
	switch n.form {
	case intForm, textForm:
	default:
		return wrong
	}
	ms, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil {
		t, err := time.Parse(time.RFC3339, n.text)
		if err != nil {
			return wrong
		}
		ms = t.UnixMilli()
	}
	if ms < 0 {
		return "must not be before the epoch, 1970; it is " + n.shown()
	}
	n.number = ms
	return ""
}
