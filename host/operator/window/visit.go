package window

// visit is one window while its trigger is asked about it: what the trigger may
// look at, change and say.
type visit struct {
	effects
	window, contents Window
	now              *Now
	state            *State
}

// begin turns to a plain window. It sets field by field, as effects.add does.
func (v *visit) begin(dst []Effect, w Window, f *Facts) {
	v.effects, v.window, v.contents = dst, w, w
	v.now, v.state = &f.Now, &f.Trigger
}

// enter turns to a session.
func (v *visit) enter(s *InSet) { v.window, v.contents, v.state = s.Window, s.Contents, &s.Trigger }

// passed says that the watermark has reached the window's last millisecond.
func (v *visit) passed() bool { return v.window.MaxTimestamp() <= int64(v.now.Watermark) }

func (v *visit) set(d Domain, at int64)    { v.timer(SetTimer, v.window, d, at) }
func (v *visit) delete(d Domain, at int64) { v.timer(DeleteTimer, v.window, d, at) }

// stop deletes the timer whose moment a cell holds, and the cell.
func (v *visit) stop(cell int, d Domain) {
	if v.state.has(cell) {
		v.delete(d, v.state.Cells[cell])
		v.state.drop(cell)
	}
}

// carryOut says what a trigger's decision means. A purge clears the contents
// alone: the trigger's state, the timers and the merging set stay (FLINK-4994).
func (v *visit) carryOut(d decision) {
	if d&fire != 0 {
		v.add(Fire, v.window, v.contents)
	}
	if d&purge != 0 {
		v.add(Purge, v.window, v.contents)
	}
}
