package runtime

import (
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
)

// OutputsOf opens a function in an instance, which it closes, and tells what it answered
// of the columns of its outputs: job.Options.Open.
func OutputsOf(instance Guest, f *job.Function) (texts map[uint32]string, err error) {
	defer func() { err = errors.Join(err, instance.Close()) }()
	c := guests.NewCaller(instance, guests.Options{Function: uint32(f.Index), Role: f.Role}, nil)
	return c.Open(f.Parameters, f.Schemas())
}

// caller makes a function ready to be asked, in an instance of its own.
func (b *builder) caller(f *job.Function, role guests.Role) (*guests.Caller, error) {
	return b.callerFor(f, guests.Options{}, role)
}

// callerFor is caller with options of the role.
func (b *builder) callerFor(f *job.Function, o guests.Options, role guests.Role) (*guests.Caller, error) {
	instance, err := b.instance(f)
	if err != nil {
		return nil, err
	}
	return b.callerIn(instance, f, o, role)
}

// instance makes one of a function's module, which goes with the job.
func (b *builder) instance(f *job.Function) (Guest, error) {
	instance, err := b.config.Guest(f)
	if err == nil {
		b.job.guests = append(b.job.guests, instance)
	}
	return instance, err
}

// callerIn is caller for an instance that is there. Of the options it sets what the
// function says.
func (b *builder) callerIn(instance Guest, f *job.Function, o guests.Options, role guests.Role) (*guests.Caller, error) {
	o.Function, o.Role, o.Outputs, o.Slots = uint32(f.Index), f.Role, f.OutputSchemas(), f.Slots()
	o.Before = b.before()
	o.OpsMax = min(frameOpsMax, 4*b.config.Limits.BatchRows)
	c := guests.NewCaller(b.metered(instance, f), o, role)
	texts, err := c.Open(f.Parameters, f.Schemas())
	if err == nil {
		err = sameOutputs(f, texts)
	}
	if err != nil {
		return nil, &FunctionError{Function: f, Err: err}
	}
	return c, nil
}

// before is what comes before each frame of the functions of the task that is being built.
func (b *builder) before() func() error {
	stopped, waits := &b.job.sched.stopped, b.room
	return func() error {
		if stopped.Load() {
			return guests.ErrStopped
		}
		return waits.wait()
	}
}

// sameOutputs holds what a function says of its outputs against what it said when the
// job was planned.
func sameOutputs(f *job.Function, texts map[uint32]string) error {
	for output, text := range texts {
		if int(output) >= len(f.Outputs) {
			return answered("a schema for output %d, which it does not have", output)
		}
		if want := job.SchemaText(f.Outputs[output].Schema); text != want {
			return answered("the columns %q for output %d, and the job was planned with %q", text, output, want)
		}
	}
	return nil
}

func answered(format string, args ...any) error {
	return &abi.Fault{Kind: abi.FaultBadAnswer, Op: -1, Detail: "it answered its opening by " + fmt.Sprintf(format, args...)}
}
