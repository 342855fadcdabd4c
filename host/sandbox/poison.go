package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wasmstream/wasmstream/host/stream"
)

// poisonedFile says that compiling the module killed a process, and how: a reason, and
// before it "slow N: " if it was the N-th time that its time was up. That alone is no
// proof against a module, since a busy machine is a slow one: it is compiled again after a
// while, in twice the time, and after some such tries never.
const poisonedFile = "poisoned"

// How often a module is compiled whose time is up, and how long it is refused in between.
const (
	slowTries = 3
	slowRests = time.Hour
)

// mark is what is known against a module.
type mark struct {
	reason string // "": nothing
	slow   int    // times that its time was up; 0: it was something else
	at     time.Time
	path   string
}

// readMark reads a module's mark.
func readMark(dir string) (m mark) {
	m.path = filepath.Join(dir, poisonedFile)
	file, err := os.Open(m.path)
	if err != nil {
		return m
	}
	text, err := io.ReadAll(io.LimitReader(file, 1000))
	info, statErr := file.Stat()
	if err = errors.Join(err, statErr, file.Close()); err != nil || len(text) == 0 {
		m.reason = "its mark cannot be read"
		return m
	}
	m.reason, m.at = stream.Printable(string(text)), info.ModTime()
	if n, err := fmt.Sscanf(m.reason, "slow %d: ", &m.slow); n == 1 && err == nil && m.slow > 0 {
		_, m.reason, _ = strings.Cut(m.reason, ": ")
	} else {
		m.slow = 0
	}
	return m
}

// isOver tells that the module is to be compiled again.
func (m *mark) isOver(now func() time.Time) bool {
	return m.slow > 0 && m.slow < slowTries && now != nil && now().Sub(m.at) >= slowRests
}

// forget removes the mark, unless another process has.
func (m *mark) forget() error {
	if err := os.Remove(m.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// text is what the mark means for people.
func (m *mark) text() string {
	if m.slow == 0 || m.slow >= slowTries {
		return m.reason + "; it is remembered in " + m.path
	}
	return fmt.Sprintf("%s; it is remembered in %s, and tried again in twice the time %s after that, since the machine may have been busy", m.reason, m.path, slowRests)
}

// markPoisoned remembers why a module killed its process; slow is as in a mark.
func markPoisoned(dir, reason string, slow int, now func() time.Time) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if slow > 0 {
		reason = fmt.Sprintf("slow %d: %s", slow, reason)
	}
	path := filepath.Join(dir, poisonedFile)
	if err := os.WriteFile(path, []byte(reason), 0o600); err != nil || now == nil {
		return err
	}
	return os.Chtimes(path, now(), now())
}
