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

// StateGet copies the value of a map's entry; it returns its length, -1 if there is none. One longer than into is not copied.
func StateGet(op, state uint32, key, into []byte) int {
	return int(importStateGet(op, state, pointer(key), uint32(len(key)), pointer(into), uint32(len(into))))
}

// StatePut sets a map's entry, or appends to a list: without a key.
func StatePut(op, state uint32, key, value []byte) {
	importStatePut(op, state, pointer(key), uint32(len(key)), pointer(value), uint32(len(value)))
}

// StateDelete deletes a map's entry; without a key all of a list or map.
func StateDelete(op, state uint32, key []byte) {
	importStateDelete(op, state, pointer(key), uint32(len(key)))
}

// StateScan copies entries behind one; it returns their bytes, 0 at the end, or minus what the next one needs.
func StateScan(op, state uint32, after, into []byte) int {
	return int(importStateScan(op, state, pointer(after), uint32(len(after)), pointer(into), uint32(len(into))))
}

func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
