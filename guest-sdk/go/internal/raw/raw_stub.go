//go:build !wasip1

package raw

// Checked is whether rows and columns are checked against each other at each access: natively, where tests run.
const Checked = true

// Failure is what Fail panics with natively.
type Failure struct{ Message string }

// Error makes a Failure an error.
func (f Failure) Error() string { return f.Message }

// LogLine is a line that was logged natively.
type LogLine struct {
	Level uint32
	Text  string
}

// Logged collects the lines logged natively, for tests.
var Logged []LogLine

// Log keeps the line in Logged.
func Log(level uint32, line string) { Logged = append(Logged, LogLine{level, line}) }

// Fail panics with a Failure.
func Fail(message string) { panic(Failure{message}) }
