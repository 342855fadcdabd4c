package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// TestMemoryBehindTheFirstIsOfHugePages: the system is asked for them, which it notes in a
// mapping's flags; whether it has some is its own affair.
func TestMemoryBehindTheFirstIsOfHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this system has no huge pages") // a kernel without them: nothing can be asked for
	}
	memory := allocateMemory(0, 64<<20)
	defer memory.Free()
	whole := memory.Reallocate(64 << 20)
	for at, want := range map[int]bool{0: false, hugePage - 1: false, hugePage: true, len(whole) - 1: true} {
		if flags := mappingFlags(t, uintptr(unsafe.Pointer(&whole[at]))); slices.Contains(flags, "hg") != want {
			t.Errorf("byte %d is in a mapping with the flags %v; hg is to be there: %t", at, flags, want)
		}
	}
}

// mappingFlags are those of the mapping that an address is in.
func mappingFlags(t *testing.T, address uintptr) []string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err) // a system without /proc: what a mapping is like cannot be seen
	}
	within := false
	for line := range strings.Lines(string(text)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			within = from <= address && address < to
		}
		if flags, is := strings.CutPrefix(line, "VmFlags:"); is && within {
			return strings.Fields(flags)
		}
	}
	t.Fatalf("no mapping has %#x", address)
	return nil
}
