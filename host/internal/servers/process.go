package servers

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is a program that ends when we do. Two pipes tie it to us. We hold the writing end of its lifeline and write
// nothing: a watcher beside it reads, and kills it when there is nobody left who could write. The program inherits the
// writing end of its pulse: reading there ends when it has ended, which a look can tell without a goroutine that waits.
type process struct {
	command  *exec.Cmd
	lifeline *os.File
	pulse    *os.File
}

// watched runs its arguments but the first, a folder, in place of the shell, with a watcher: if the lifeline, descriptor 3,
// ends without a word, the program is killed and the folder removed. Then the program's number is still its own; after a
// word it has ended, and its number may be another's.
const watched = `{
  trap '' HUP INT TERM
  read -r word <&3 && exit
  kill -9 $$
  for again in 1 2 3 4 5; do rm -rf "$0" && break; done
} 4>&- </dev/null >/dev/null 2>&1 &
exec "$@" 3<&-`

// startProcess starts a program in a folder, which is removed if we die. What the program says goes to log.
func startProcess(dir, log, program string, arguments ...string) (p *process, err error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	lifeRead, lifeline, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer lifeRead.Close()
	pulse, pulseWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, lifeline.Close())
	}
	defer pulseWrite.Close()
	p = &process{command: exec.Command("sh", append([]string{"-c", watched, dir, program}, arguments...)...), lifeline: lifeline, pulse: pulse}
	p.command.Dir = dir
	p.command.Stdout, p.command.Stderr = out, out
	p.command.ExtraFiles = []*os.File{lifeRead, pulseWrite} // descriptors 3 and 4
	if err := p.command.Start(); err != nil {
		return nil, errors.Join(err, lifeline.Close(), pulse.Close())
	}
	return p, nil
}

// ended tells whether the program has ended.
func (p *process) ended() bool { return p.endsBy(time.Now()) }

// endsBy waits until the program ends, or a time comes, and tells which it was.
func (p *process) endsBy(t time.Time) bool {
	if err := p.pulse.SetReadDeadline(t); err != nil {
		return false
	}
	_, err := p.pulse.Read(make([]byte, 1))
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// stop asks the program to end, and kills it if it does not.
func (p *process) stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	p.endsBy(time.Now().Add(stopMax))
	return p.kill()
}

// kill ends the program at once, and sends the watcher home.
func (p *process) kill() error {
	if err := p.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	// How it ended is no news. It can only say that it was waited for already, which it was not.
	_ = p.command.Wait()
	_, err := p.lifeline.WriteString("ended\n")
	return errors.Join(err, p.lifeline.Close(), p.pulse.Close())
}
