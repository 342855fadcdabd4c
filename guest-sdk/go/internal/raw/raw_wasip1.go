//go:build wasip1

package raw

import "unsafe"

// Checked is whether rows and columns are checked against each other at each access: natively, where tests run.
const Checked = false

// Log writes a line to the job's log.
func Log(level uint32, line string) {
	importLog(level, unsafe.Pointer(unsafe.StringData(line)), uint32(len(line)))
}

// Fail ends the call; it does not return. The panic is for hosts that break the contract: to go on would be worse.
func Fail(message string) {
	importFail(unsafe.Pointer(unsafe.StringData(message)), uint32(len(message)))
	panic("wasmstream: the host's fail returned")
}
