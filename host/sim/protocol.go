package sim

import "bytes"

// protocol watches the order of calls of one sink in one process (promise C).
type protocol struct {
	recovered  bool
	opened     bool
	closed     bool
	handedOver bool // since the last commit
	final      bool // the last hand-over was
	last       []byte
}

// recover is a call of Recover: it comes first, with what the checkpoint has.
func (p *protocol) recover(l *life, sink string, handover []byte) {
	p.alive(l.world, sink, "Recover")
	if p.opened {
		l.world.find("sink %s: Recover after Open", sink)
	}
	p.recovered = true
	if m := l.recovery.Manifest; m != nil {
		l.world.committed = max(l.world.committed, m.Epoch)
	}
	p.goesOn(l, sink, "Recover", handover)
}

// open is a call of Open: what the checkpoint hands over was committed before.
func (p *protocol) open(l *life, sink string, handover []byte) {
	p.alive(l.world, sink, "Open")
	if p.opened {
		l.world.find("sink %s: it is opened twice", sink)
	}
	p.opened = true
	p.goesOn(l, sink, "Open", handover)
	if m := l.recovery.Manifest; m != nil && !l.recovery.Committed && !p.recovered {
		l.world.find("sink %s: Open without Recover, and no note says that checkpoint %d was committed", sink, m.Epoch)
	}
}

// goesOn wants the hand-over of the checkpoint that the process goes on from.
func (p *protocol) goesOn(l *life, sink, call string, handover []byte) {
	var want []byte
	if m := l.recovery.Manifest; m != nil {
		for _, s := range m.Sinks {
			if s.Name == sink {
				want = s.Handover
			}
		}
	}
	if !bytes.Equal(want, handover) || (handover == nil) != (l.recovery.Manifest == nil) {
		l.world.find("sink %s: %s with %q, and the checkpoint has %q", sink, call, handover, want)
	}
}

func (p *protocol) write(w *world, sink string) {
	p.ready(w, sink, "Write")
	if p.final {
		w.find("sink %s: Write after the final hand-over", sink)
	}
}

func (p *protocol) handOver(w *world, sink string, handover []byte, final bool) {
	p.ready(w, sink, "Handover")
	if p.final && !final {
		w.find("sink %s: a hand-over after the final one is not final", sink)
	}
	p.handedOver, p.final, p.last = true, final, handover
}

// commit is a call of Commit: the newest durable manifest has what was handed over last.
func (p *protocol) commit(l *life, sink string) {
	w := l.world
	p.ready(w, sink, "Commit")
	if !p.handedOver {
		w.find("sink %s: Commit, and nothing was handed over since the last one", sink)
	}
	p.handedOver = false
	if !w.checkpointed {
		return
	}
	promised, epoch := w.handover(sink)
	if epoch == 0 || !bytes.Equal(promised, p.last) {
		w.find("sink %s: Commit of %q, and the newest durable manifest, %d, has %q", sink, p.last, epoch, promised)
	}
	w.committed = max(w.committed, epoch)
}

func (p *protocol) ready(w *world, sink, call string) {
	p.alive(w, sink, call)
	if !p.opened {
		w.find("sink %s: %s before Open", sink, call)
	}
}

func (p *protocol) alive(w *world, sink, call string) {
	if p.closed {
		w.find("sink %s: %s after Close or Abort", sink, call)
	}
}

func (p *protocol) close() { p.closed = true }

// abort is a call of Abort, which would give up what a checkpoint has handed over.
func (p *protocol) abort(w *world, sink string) {
	p.close()
	if w.checkpointed {
		w.find("sink %s: Abort, and the job has checkpoints", sink)
	}
}
