package scenario

import (
	"fmt"
	"strings"
)

// updater writes a script anew.
type updater struct {
	*runner
	out strings.Builder
}

// update performs the script and returns the file's text with the lines that the
// job led to, or nil if that is what it has. As flink-oracle does: want lines and
// want-error stand right behind their action, the rows by sink in the job's order,
// then time, then text; questions stay where they are and get their answers; all
// else stays as it is.
func (r *runner) update() ([]byte, *mismatch) {
	u := &updater{runner: r}
	for _, line := range r.text[:r.from] {
		u.out.WriteString(line)
	}
	r.begin()
	u.write(0, "\n")
	next := 0
	for i := r.from; i < r.to; i++ {
		line := r.text[i]
		if next == len(r.actions) || r.actions[next].line != i+1 {
			u.out.WriteString(line)
			continue
		}
		if bad := u.line(next, line); bad != nil {
			return nil, bad
		}
		next++
	}
	for _, line := range r.text[r.to:] {
		u.out.WriteString(line)
	}
	text := u.out.String()
	if text == strings.Join(r.text, "") {
		return nil, nil
	}
	return []byte(text), nil
}

// line performs one line of the script and writes what becomes of it.
func (u *updater) line(i int, line string) *mismatch {
	a := &u.actions[i]
	switch {
	case a.kind == want || a.kind == wantError:
		return nil // written behind its action
	case u.failure != nil && a.kind != restore:
		return &mismatch{a.line, fmt.Sprintf("the job has failed before this line, and only a restore may follow: %v", u.failure)}
	case a.isClaim():
		u.answerLine(a, line)
		return nil
	}
	ending := "\n"
	if strings.HasSuffix(line, "\r\n") {
		ending = "\r\n"
	}
	u.out.WriteString(strings.TrimRight(line, "\r\n") + ending)
	u.act(i, 1)
	u.write(i+1, ending)
	return nil
}

// answerLine writes a question with its answer. A right answer leaves the line
// alone.
func (u *updater) answerLine(a *action, line string) {
	given, rest := a.time.String(), ""
	if a.kind == wantLateDropped {
		given = fmt.Sprint(a.count)
	}
	answer := u.answer(a)
	if a.asked || answer != given {
		rest = line[len(strings.TrimRight(line, "\r\n")):]
		line = forms[a.kind].word + " " + a.name + " " + answer + rest
	}
	u.out.WriteString(line)
}

// write writes what the last action led to; the lines that spoke of it so far
// begin at number from.
func (u *updater) write(from int, ending string) {
	for _, got := range u.sorted() {
		u.out.WriteString(got.line + ending)
	}
	if u.failure == nil {
		return
	}
	phrase := strings.Join(strings.Fields(u.failure.Error()), " ")
	for i := from; i < len(u.actions) && u.actions[i].isClaim(); i++ {
		if a := &u.actions[i]; a.kind == wantError && strings.Contains(u.failure.Error(), a.phrase) {
			phrase = a.phrase // it says enough
		}
	}
	u.out.WriteString(forms[wantError].word + " " + phrase + ending)
}
