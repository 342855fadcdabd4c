//go:build darwin || freebsd || netbsd || openbsd

package sandbox

// preferHugePages has nothing to ask for here.
func preferHugePages([]byte) {}
