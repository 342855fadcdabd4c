//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package sandbox

import "github.com/tetratelabs/wazero/experimental"

// allocateMemory takes memory from the heap where no address range can be
// reserved.
func allocateMemory(_, _ uint64) experimental.LinearMemory { return &heapMemory{} }
