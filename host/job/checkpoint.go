package job

import (
	"strings"
	"time"
)

// checkpoints reads where and how often the job's state is kept.
func (b *builder) checkpoints() {
	n := b.root.get("checkpoint")
	if n == nil || !n.ok {
		return
	}
	c := &Checkpoint{
		Interval:          milliseconds(number(n.get("interval"), checkpointIntervalDefault)),
		MinPause:          milliseconds(number(n.get("min-pause"), 0)),
		Timeout:           milliseconds(number(n.get("timeout"), checkpointTimeoutDefault)),
		TolerableFailures: int(number(n.get("tolerable-failures"), tolerableDefault)),
		Retained:          int(number(n.get("retained"), retainedDefault)),
		Mode:              Guarantee(wordIndex(n.get("mode"), guaranteeWords[:NoGuarantee])),
	}
	if isKnown(n.get("interval")) && isKnown(n.get("min-pause")) && isKnown(n.get("timeout")) && isKnown(n.get("mode")) {
		b.checkpoint = c
	}
	if !b.o.Test {
		b.job.Checkpoint = c
	}
	if b.checkpoint != nil && c.MinPause > c.Interval {
		b.warn(n.get("min-pause"), "checkpoint.min-pause", "min-pause is longer than interval, which is %s, so it alone says how often checkpoints are made", shownDuration(c.Interval))
	}
	dir := n.get("dir")
	if text(dir) == "" || !b.isFolder(dir) {
		return
	}
	c.Dir, c.Shown, c.Line, c.Column = b.resolve(dir.text), dir.written, dir.line, dir.column
	b.files = append(b.files, &fileUse{path: c.Dir, field: checkpointDir, node: dir, write: true, folder: true})
}

// isFolder refuses what is an address.
func (b *builder) isFolder(dir *node) bool {
	scheme, _, isURL := strings.Cut(dir.text, "://")
	switch {
	case !isURL:
		return true
	case scheme == "s3":
		b.later(dir.line, dir.column, "checkpoint.dir", "Checkpoints in s3:// are not offered yet; use a folder")
	default:
		b.wrong(dir, "checkpoint.dir", "Checkpoints cannot be kept at %s: dir is a folder, relative to the job file", quote(dir.written))
	}
	return false
}

// hasCheckpoint tells whether the job has checkpoints, or means to.
func (b *builder) hasCheckpoint() bool { return b.root.has("checkpoint") }

// checkpointDir is the field of the folder that checkpoints are kept in.
const checkpointDir = "checkpoint.dir"

func shownDuration(d time.Duration) string { return formatDuration(d.Milliseconds()) }

// restart reads what is done when the job fails.
func (b *builder) restart() {
	n := b.root.get("restart")
	r := Restart{}
	switch {
	case n == nil:
		if b.hasCheckpoint() {
			r = exponentialDelay(nil)
		}
	case !n.ok || len(n.entries) != 1:
		return
	case n.form == mappingForm:
		r = restartOf(n.entries[0])
		b.checkRestart(&r, n.entries[0])
		if !b.hasCheckpoint() {
			b.warn(n, "restart", "Without checkpoint a job that is started again begins from the beginning")
		}
	}
	if !b.o.Test {
		b.job.Restart = r
	}
}

// restartOf reads one strategy.
func restartOf(e entry) Restart {
	n := e.value
	delay := milliseconds(number(n.get("delay"), delayDefault))
	switch e.key {
	case restartWords[FixedDelay]:
		return Restart{Strategy: FixedDelay, Delay: delay, Attempts: int(number(n.get("attempts"), attemptsDefault))}
	case restartWords[FailureRate]:
		return Restart{
			Strategy: FailureRate, Delay: delay, MaxFailures: int(number(n.get("max-failures"), maxFailuresDefault)),
			Interval: milliseconds(number(n.get("interval"), failureIntervalDefault)),
		}
	}
	return exponentialDelay(n)
}

func exponentialDelay(n *node) Restart {
	return Restart{
		Strategy:   ExponentialDelay,
		Initial:    milliseconds(number(n.get("initial"), delayDefault)),
		Max:        milliseconds(number(n.get("max"), delayMaxDefault)),
		ResetAfter: milliseconds(number(n.get("reset-after"), resetAfterDefault)),
		Multiplier: fraction(n.get("multiplier"), multiplierDefault),
		Jitter:     fraction(n.get("jitter"), jitterDefault),
	}
}

// fraction is the value of a checked number.
func fraction(n *node, missing float64) float64 {
	if n == nil || !n.ok {
		return missing
	}
	return n.float
}

func (b *builder) checkRestart(r *Restart, e entry) {
	if r.Strategy != ExponentialDelay || r.Max >= r.Initial {
		return
	}
	n, field := e.value.get("max"), "max"
	if n == nil {
		n, field = e.value.get("initial"), "initial"
	}
	if n == nil || !n.ok {
		return // told already
	}
	b.wrong(n, "restart."+e.key+"."+field, "The first delay, %s, must not be longer than the longest one, %s", shownDuration(r.Initial), shownDuration(r.Max))
}
