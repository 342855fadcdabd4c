package reference

import "strings"

// Minimize drops lines of a scenario's script as long as it still fails, and
// returns what is left, with the reference's answers to it.
func Minimize(scenario string, fails func(scenario string) bool) string {
	before, script, after := cut(scenario)
	var actions []string
	for line := range strings.Lines(script) {
		if !strings.HasPrefix(line, "want ") && !strings.HasPrefix(line, "want-error ") {
			actions = append(actions, line)
		}
	}
	text := func(lines []string) (string, bool) {
		answer, err := Fill(before+strings.Join(lines, "")+after, false)
		return answer.Text, err == nil && answer.Doubts == nil
	}
	for size := len(actions) / 2; size > 0; size /= 2 {
		for from := 0; from < len(actions); {
			rest := append(append([]string{}, actions[:from]...), actions[min(from+size, len(actions)):]...)
			if shorter, ok := text(rest); ok && fails(shorter) {
				actions = rest
			} else {
				from += size
			}
		}
	}
	shortest, _ := text(actions)
	return shortest
}
