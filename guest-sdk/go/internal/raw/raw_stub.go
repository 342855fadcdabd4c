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

// Fail panics with a Failure: it must not return, and the player of cases takes the panic for the fault that it is.
func Fail(message string) { panic(Failure{message}) }

// Store is list and map states, natively.
type Store interface {
	// Get returns the value of a map's entry.
	Get(op, state uint32, key []byte) (value []byte, ok bool)
	// Put sets a map's entry, or appends to a list: without a key.
	Put(op, state uint32, key, value []byte)
	// Delete deletes a map's entry; without a key all.
	Delete(op, state uint32, key []byte)
	// Scan is StateScan.
	Scan(op, state uint32, after, into []byte) int
}

// States is what StateGet and the others ask natively; a test sets it.
var States Store

// StateGet copies the value of a map's entry; it returns its length, -1 if there is none. One longer than into is not copied.
func StateGet(op, state uint32, key, into []byte) int {
	value, ok := States.Get(op, state, key)
	if !ok {
		return -1
	}
	if len(value) <= len(into) {
		copy(into, value)
	}
	return len(value)
}

// StatePut sets a map's entry, or appends to a list: without a key.
func StatePut(op, state uint32, key, value []byte) { States.Put(op, state, key, value) }

// StateDelete deletes a map's entry; without a key all of a list or map.
func StateDelete(op, state uint32, key []byte) { States.Delete(op, state, key) }

// StateScan copies entries behind one; it returns their bytes, 0 at the end, or minus what the next one needs.
func StateScan(op, state uint32, after, into []byte) int { return States.Scan(op, state, after, into) }
