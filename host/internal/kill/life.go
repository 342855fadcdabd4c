package kill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Command is how a job is run.
type Command struct {
	Program   string
	Arguments []string
	Folder    string   // where it is run
	Env       []string // beside ours
}

// End is how a life ended.
type End int

// The ends.
const (
	Killed  End = iota // as was its fate
	Done               // the input was through before
	Failed             // with an error of its own
	Endless            // it did not meet its fate, nor end, in time
)

// String is the end as reports write it.
func (e End) String() string { return [...]string{"killed", "done", "failed", "endless"}[e] }

// Life is one run of the command, from its start to its end.
type Life struct {
	Fate Fate
	End  End
	At   time.Time // when it began
	Took time.Duration
	Said string // the end of what it said
	// Broker says that the broker was killed too.
	Broker bool
}

// String tells how the life ended, and how it was to end.
func (l Life) String() string {
	return fmt.Sprintf("%s %s after %s; to be killed %s", l.At.Format(time.StampMilli), l.End, l.Took.Round(time.Millisecond), l.Fate)
}

// LifeMax is how long a command may take to reach the point where it is to be killed, or to end if it is not to be. That
// can be after its broker has come back, on a machine that much else keeps busy.
const LifeMax = 5 * time.Minute

// Live runs the command to the end of its life. A broker that is part of its fate is killed by killBroker.
func (c Command) Live(ctx context.Context, fate Fate, killBroker func() error) (Life, error) {
	ctx, cancel := context.WithTimeout(ctx, LifeMax)
	defer cancel()
	r, err := c.start(fate)
	if err != nil {
		return Life{}, err
	}
	life := Life{Fate: fate, At: r.started}
	var fated <-chan time.Time
	if fate.After > 0 {
		fated = time.After(fate.After)
	}
	late := false
	select {
	case <-r.ended:
	case <-fated:
		if fate.Broker {
			life.Broker, err = true, killBroker()
			select {
			case <-r.ended:
			case <-time.After(fate.Linger):
			}
		}
		err = errors.Join(err, r.kill())
	case <-ctx.Done():
		late = true
		err = r.kill()
	}
	life.Took, life.Said = time.Since(r.started), r.said.String()
	life.End = r.end(late)
	return life, err
}

// run is a command that runs.
type run struct {
	command *exec.Cmd
	started time.Time
	said    *tail
	ended   chan struct{} // closed then
}

func (c Command) start(fate Fate) (*run, error) {
	r := &run{command: exec.Command(c.Program, c.Arguments...), said: &tail{}, started: time.Now(), ended: make(chan struct{})}
	r.command.Dir = c.Folder
	r.command.Env = append(os.Environ(), c.Env...)
	if fate.Point != "" {
		r.command.Env = append(r.command.Env, fmt.Sprintf("%s=%s:%d", Variable, fate.Point, fate.Nth))
	}
	r.command.Stdout, r.command.Stderr = r.said, r.said
	if err := r.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(r.ended)
		_ = r.command.Wait() // how it ended is in ProcessState
	}()
	return r, nil
}

// kill kills the command and waits until it has ended.
func (r *run) kill() error {
	err := r.command.Process.Kill()
	<-r.ended
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// stop asks the command to end, and waits until it has.
func (r *run) stop(ctx context.Context) error {
	if err := r.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-r.ended:
		return nil
	case <-ctx.Done():
		return errors.Join(errors.New("the command does not end when it is asked to"), r.kill())
	}
}

// end tells how the command has ended.
func (r *run) end(late bool) End {
	switch state := r.command.ProcessState; {
	case late:
		return Endless
	case state.Success():
		return Done
	case state.ExitCode() == -1: // by a signal
		return Killed
	}
	return Failed
}

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

const tailBytesMax = 4096

func (t *tail) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b...)
	if n := len(t.kept); n > tailBytesMax {
		t.kept = append(t.kept[:0], t.kept[n-tailBytesMax:]...)
	}
	return len(b), nil
}

// String is what was kept, without what it begins in the middle of.
func (t *tail) String() string {
	if len(t.kept) < tailBytesMax {
		return string(t.kept)
	}
	_, rest, _ := bytes.Cut(t.kept, []byte("\n"))
	return string(rest)
}

var _ io.Writer = (*tail)(nil)
