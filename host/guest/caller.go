package guest

import (
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Instance is an instance of a module; *sandbox.Instance is one.
type Instance interface {
	// Open performs the opening call of a function.
	Open(function uint32, frame []byte) (effects []byte, err error)
	// In gives room for a frame in the guest's memory.
	In(size int) (frame []byte, pointer uint32, err error)
	// Call performs the frame at pointer, and Frame is what it is like after.
	Call(function, pointer uint32, length int) (effects []byte, err error)
	Frame() []byte
	// Rebuild makes a dead instance usable again; it opens what was open.
	Rebuild() error
	Close() error
}

// Role is who asks a function: it knows where slots live and what effects do.
type Role interface {
	// Load appends what slot i of a group holds; nothing, if it holds no value.
	Load(dst []byte, group uint32, i int) []byte
	// Store takes a slot over as the guest left it; an empty row: it holds no value. One
	// of fixed width may be as it was. The row is a view.
	Store(group uint32, i int, row stream.Row) error
	// Take carries out an effect of op i, counted from the first that was added since
	// Perform. Done follows the last effect of each op.
	Take(i int, e abi.Effect) error
	Done(i int) error
	// Fault says what an op costs that cannot be performed: nil, if it is left out. Done
	// does not follow it.
	Fault(i int, err error) error
}

// Framed is a Role whose function calls the host: it must know which ops the frame has
// that is being performed, and undo what the calls did if the frame comes to nothing.
type Framed interface {
	// Begin comes before the frame of ops from..to is called.
	Begin(from, to int)
	// End comes after its answer was checked, and before anything is taken from it. If
	// it is not sound, parts of the frame are begun again, or a role's Fault follows.
	End(sound bool)
}

// Fueled is an Instance that counts what calls cost.
type Fueled interface {
	// Ops tells how many ops the next frame has, which bounds what it may spend.
	Ops(n int)
	// Fuel is what the last call has spent, in units of about one instruction.
	Fuel() int64
}

// Watching is an Instance that is told of each op that is found at fault.
type Watching interface {
	// Faulted comes before the role's Fault.
	Faulted(kind abi.FaultKind)
}

// frameFuel is what a frame is to cost: about a millisecond.
const frameFuel = 2_000_000

// Options say which function is asked, and what its rows are like.
type Options struct {
	Function uint32 // its index in the manifest
	Role     string
	// Outputs are the schemas of what it may emit, the main one first.
	Outputs []*stream.Schema
	// Slots are the schemas of an op's slots: an accumulator, or states.
	Slots []*stream.Schema
	// Written: slots are answered by set-slot though they are of fixed width, since it
	// counts that one was written, even if what stands there is the same.
	Written bool
	// OpsMax bounds the ops of a frame, so that a call stays short: guest code cannot be
	// interrupted. 0 means 8192. It is less where ops are seen to cost more fuel.
	OpsMax int
	// FrameBytesMax bounds a frame's rows and contexts, 0 means 1 MiB.
	FrameBytesMax int
	// Before comes before each frame. It may wait until there is room for what the frame
	// leads to; its error ends the asking: ErrStopped, if nobody wants answers any more.
	// nil: nothing comes.
	Before func() error
	// Enough tells that the ops of a Perform that are left are to be left out, since what
	// was answered is enough for now. See Performed. nil: none ever are.
	Enough func() bool
}

const (
	opsMaxDefault        = 8192
	frameBytesMaxDefault = 1 << 20
)

// ErrStopped says that what was asked was given up, and that nothing of it counts.
var ErrStopped = errors.New("the job is stopping")

// NoGroup is the group of an op without slots.
const NoGroup = ^uint32(0)

// noRow and noContext stand for none.
const noRow, noContext = ^uint32(0), -1

// Context is what an op is about, besides its slots and its row. Key and Second are
// what Row returned.
type Context struct {
	Time, Watermark, Clock int64
	Key                    uint32
	Detail                 uint32
	Start, End             int64
	Second                 uint32
}

// context is a context that was taken in: its bytes, but for the places of rows and
// lists, are in ctx.
type context struct {
	at          uint32 // in ctx
	bytes       int32  // of its kind
	key, second uint32 // rows
	list        listRange
}

// listRange is which of the elements, or of the merged groups, a context has.
type listRange struct {
	from, to int
	merged   bool
}

// op is an op before its frame is laid out.
type op struct {
	kind    abi.OpKind
	copied  bool // merge: of a copy of what the second group holds
	group   uint32
	second  uint32 // merge: the second group
	row     uint32 // in rows
	context int32
	arg     uint32 // where the context is, in ctx
	rows    uint32 // where its rows, and those of its context, begin
	place   uint32 // of group in the present frame
	other   uint32 // of second
}

// Element is a record of a window's content; Row is what Row returned.
type Element struct {
	Time  int64
	Row   uint32
	Input uint32
}

// Caller asks one function.
type Caller struct {
	instance Instance
	options  Options
	role     Role
	framed   Framed  // nil: the role is not
	limited  Limited // nil: the role is not
	sifting  Sifting // nil: the role is not
	rules    *rules
	outputs  []*stream.Checker
	slots    []*stream.Checker
	widths   []int // of slots, if all are of fixed width
	stride   int   // of slots; 0: some are of variable width, or there are none
	states   bool  // slots may hold no value
	plain    bool  // all ops are to emit one row, and have no slots

	ops      []op
	rows     []byte
	contexts []context
	ctx      []byte  // the contexts' area, see context
	last     Context // what the last context was made of; of those without rows and lists
	placed   bool    // some context has places of rows or lists
	elements []Element
	merged   []uint32
	opRows   uint32 // where the rows of the op that is being put together begin
	listed   int    // elements, and merged groups, that are in a list
	mergedIn int
	told     Context // what ContextOf returned

	frame     frame
	fueled    Fueled  // nil: it does not count
	perOp     float64 // fuel
	opsMax    int     // of a frame
	spent     int64   // fuel of the last call; 0: there was none
	costly    int64   // see CostlyRebuilds
	asked     int64   // ops so far, those at hand included
	performed int     // ops of the last Perform that were performed
	failed    bool    // the last call failed, by the guest's fault
	faulty    int     // the op of the frame that is known to be at fault, -1
	held      []byte  // scratch of withinLimits
	lengths   []int   // the same: of what slots of the frame hold; -1: not looked at

	probing bool // nothing is to be taken of what the guest answers
}

// NewCaller makes a caller; Open comes before all else.
func NewCaller(instance Instance, o Options, role Role) *Caller {
	if o.OpsMax == 0 {
		o.OpsMax = opsMaxDefault
	}
	if o.FrameBytesMax == 0 {
		o.FrameBytesMax = frameBytesMaxDefault
	}
	c := &Caller{instance: instance, options: o, role: role, rules: rulesOf(o.Role), opsMax: o.OpsMax}
	c.framed, _ = role.(Framed)
	c.fueled, _ = instance.(Fueled)
	c.limited, _ = role.(Limited)
	c.sifting, _ = role.(Sifting)
	if !o.Written {
		c.stride, c.widths = strideOf(o.Slots)
	}
	c.plain = len(o.Slots) == 0 && c.rules.areAll(oneEmit)
	c.states = o.Role != abi.RoleAggregate && o.Role != abi.RoleReduce
	c.outputs, c.slots = checkers(o.Outputs), checkers(o.Slots)
	return c
}

func checkers(schemas []*stream.Schema) []*stream.Checker {
	list := make([]*stream.Checker, len(schemas))
	for i, s := range schemas {
		list[i] = stream.NewChecker(s)
	}
	return list
}

// Row takes in a row of the op that is added next, from what appends it.
func (c *Caller) Row(p *stream.Projection, row stream.Row) uint32 {
	at := uint32(len(c.rows))
	c.rows = p.AppendTo(c.rows, row, stream.Insert)
	return at
}

// WholeRow takes in a row as it is.
func (c *Caller) WholeRow(row stream.Row) uint32 {
	at := uint32(len(c.rows))
	c.rows = append(c.rows, row...)
	for len(c.rows)%8 != 0 {
		c.rows = append(c.rows, 0)
	}
	return at
}

// NoRow is a context's row that is not there.
func NoRow() uint32 { return noRow }

// Element takes in an element of the list of the context that is added next.
func (c *Caller) Element(e Element) { c.elements = append(c.elements, e) }

// Merged takes in a group of the list of the context that is added next.
func (c *Caller) Merged(group uint32) { c.merged = append(c.merged, group) }

// Add adds an op of a group of slots. row is what Row returned, or NoRow. A context may
// be nil; one that has no rows and no list, and is like that of the op before, is shared.
// A group that is created is another from then on: what it held is not looked at.
// Nothing may be added while ops are performed.
func (c *Caller) Add(kind abi.OpKind, group, row uint32, ctx *Context) {
	n := len(c.ops)
	if n == cap(c.ops) {
		c.ops = append(c.ops, op{})
	}
	c.ops = c.ops[:n+1]
	o := &c.ops[n] // in its place: to copy it would cost as much as to make it
	o.kind, o.copied, o.group, o.row, o.context, o.rows = kind, false, group, row, noContext, c.opRows
	if ctx != nil {
		o.context = c.context(kind, ctx)
		o.arg = c.contexts[o.context].at
	}
	c.opRows = uint32(len(c.rows))
}

// AddMerge adds an op that merges a second group's slot into a group's. The guest may
// use the second up, unless it is copied: it then is what the group holds when the frame
// begins, so ops before this one on the second must have been performed.
func (c *Caller) AddMerge(group, second uint32, copied bool) {
	c.ops = append(c.ops, op{kind: abi.OpMerge, copied: copied, group: group, second: second, row: noRow, context: noContext, rows: c.opRows})
}

func (c *Caller) context(kind abi.OpKind, ctx *Context) int32 {
	n, bytes := len(c.contexts), c.rules.contextBytes(kind)
	if bytes == abi.ContextRecordBytes {
		if l := &c.last; n > 0 && c.contexts[n-1].bytes == int32(bytes) && l.Time == ctx.Time && l.Watermark == ctx.Watermark && l.Clock == ctx.Clock {
			return int32(n - 1)
		}
		c.last.Time, c.last.Watermark, c.last.Clock = ctx.Time, ctx.Watermark, ctx.Clock
	}
	if n == cap(c.contexts) {
		c.contexts = append(c.contexts, context{})
	}
	c.contexts = c.contexts[:n+1]
	x := &c.contexts[n] // in its place, as ops are
	x.at, x.bytes, x.key, x.second = uint32(len(c.ctx)), int32(bytes), noRow, noRow
	c.newList(&x.list)
	c.ctx = appendContext(c.ctx, bytes, ctx)
	if bytes > abi.ContextRecordBytes {
		x.key = ctx.Key
		if bytes > abi.ContextWindowBytes {
			x.second = ctx.Second
		}
		c.placed = c.placed || bytes > abi.ContextWindowBytes || x.key != noRow
	}
	if more := x.list.bytes(); more > 0 {
		c.ctx = append(c.ctx, make([]byte, more)...)
	}
	return int32(n)
}

// newList is the list of a new context: all that came since the one before.
func (c *Caller) newList(l *listRange) {
	if len(c.merged) > c.mergedIn {
		l.from, l.to, l.merged = c.mergedIn, len(c.merged), true
		c.mergedIn = len(c.merged)
		return
	}
	l.from, l.to, l.merged = c.listed, len(c.elements), false
	c.listed = len(c.elements)
}

func (l listRange) bytes() int {
	if l.merged {
		return abi.Align(4 * (l.to - l.from))
	}
	return abi.ElementBytes * (l.to - l.from)
}

// Len is the number of ops that were added.
func (c *Caller) Len() int { return len(c.ops) }

// Op is what op i asks, and of which group.
func (c *Caller) Op(i int) (kind abi.OpKind, group uint32) { return c.ops[i].kind, c.ops[i].group }

// RowOf is the row of op i, of a schema; nil if it has none. It is a view.
func (c *Caller) RowOf(i int, s *stream.Schema) stream.Row {
	o := &c.ops[i]
	if o.row == noRow {
		return nil
	}
	row := stream.Row(c.rows[o.row:])
	return row[:s.RowBytes(row)]
}

// ContextOf is the context of op i, nil if it has none, and the key in it, nil if there
// is none. They are views, good until it is asked again; the key may be longer than it
// is. Of what is not in a context of its kind nothing is known.
func (c *Caller) ContextOf(i int) (*Context, stream.Row) {
	o := &c.ops[i]
	if o.context == noContext {
		return nil, nil
	}
	x := &c.contexts[o.context]
	c.told = readContext(c.ctx[x.at:][:x.bytes])
	c.told.Key, c.told.Second = x.key, x.second
	if x.key == noRow {
		return &c.told, nil
	}
	return &c.told, stream.Row(c.rows[x.key:])
}

// Due says that it is time to perform.
func (c *Caller) Due() bool {
	return len(c.ops) >= c.opsMax || len(c.rows)+len(c.ctx) >= c.options.FrameBytesMax
}

// Perform has all ops performed, and forgets them; those at the end that were left out
// for Options.Enough, too.
func (c *Caller) Perform() error {
	var err error
	c.performed = 0
	if len(c.ops) > 0 {
		before := c.asked
		c.asked += int64(len(c.ops))
		err = c.run(0, len(c.ops))
		c.asked = before + int64(c.performed)
	}
	c.ops, c.rows, c.contexts, c.ctx = c.ops[:0], c.rows[:0], c.contexts[:0], c.ctx[:0]
	c.elements, c.merged, c.opRows = c.elements[:0], c.merged[:0], 0
	c.listed, c.mergedIn, c.placed = 0, 0, false
	return err
}

// Performed is how many ops the last Perform has performed: all, or those before the
// first that was left out. It is one at least, if there was one.
func (c *Caller) Performed() int { return c.performed }

// run performs ops from..to: in halves, if the guest has no room for all, or if one of
// them is at fault.
func (c *Caller) run(from, to int) error {
	if from > c.performed || from > 0 && c.options.Enough != nil && c.options.Enough() {
		return nil // ops before these were left out, or these are the first
	}
	err := c.call(from, to)
	if err == nil {
		c.performed = to
		return nil
	}
	middle, faulty := from+(to-from)/2, c.faulty
	fault, err := c.mend(err)
	switch {
	case err != nil:
		return err
	case to-from == 1:
		if err := c.blame(from, fault); err != nil {
			return err
		}
		c.performed = to
		return nil
	case faulty >= 0:
		// It is known: the ops before it come out alone, then it fails alone.
		middle = from + max(faulty, 1)
	}
	if err := c.run(from, middle); err != nil {
		return err
	}
	return c.run(middle, to)
}

// mend makes the instance usable again after a call that failed, and tells the guest's
// fault from what happened to us, where we cannot go on.
func (c *Caller) mend(failed error) (fault, err error) {
	var large *sandbox.TooLargeError
	switch {
	case !c.failed:
		return nil, failed
	case errors.As(failed, &large):
		return fmt.Errorf("one op alone is too large: %w", failed), nil
	}
	if err := c.instance.Rebuild(); err != nil {
		return nil, &OpenError{Again: true, Err: err}
	}
	if r, ok := c.instance.(Rebuilt); ok && r.RebuildFuel() > costlyRebuild {
		c.costly++
	}
	return failed, nil
}

// isFault tells what the guest did from what happened to us.
func isFault(err error) bool {
	var code *sandbox.Fault
	var answer *abi.Fault
	var large *sandbox.TooLargeError
	return errors.As(err, &code) || errors.As(err, &answer) || errors.As(err, &large)
}

// KindOf is the kind of a fault that Role.Fault got; 0 if it is none.
func KindOf(err error) abi.FaultKind {
	var code *sandbox.Fault
	var answer *abi.Fault
	var large *sandbox.TooLargeError
	switch {
	case errors.As(err, &large):
		return abi.FaultTooLarge
	case errors.As(err, &code):
		return code.Kind
	case errors.As(err, &answer):
		return answer.Kind
	}
	return 0
}

// call performs ops from..to in one frame.
func (c *Caller) call(from, to int) error {
	effects, edited, err := c.pose(from, to)
	if err != nil {
		return err
	}
	return c.take(effects, edited)
}

// pose asks about ops from..to in one frame. Nothing is taken of the answer yet.
func (c *Caller) pose(from, to int) (effects, edited []byte, err error) {
	f := &c.frame
	if c.options.Before != nil {
		if err := c.options.Before(); err != nil {
			c.failed = false
			return nil, nil, err
		}
	}
	c.failed, c.faulty, c.spent = true, -1, 0
	f.plan(c, from, to)
	if c.fueled != nil {
		c.fueled.Ops(to - from)
	}
	b, pointer, err := c.instance.In(int(f.header.Total))
	if err != nil {
		c.failed = isFault(err)
		return nil, nil, err
	}
	f.fill(c, b)
	if c.framed != nil {
		c.framed.Begin(from, to)
	}
	effects, edited, err = c.ask(pointer)
	if c.framed != nil {
		c.framed.End(err == nil && !c.probing)
	}
	if err == nil {
		c.failed = false // what the role does with it is not the guest's fault
	}
	return effects, edited, err
}

// ask calls the guest, and checks its answer.
func (c *Caller) ask(pointer uint32) (effects, edited []byte, err error) {
	effects, err = c.instance.Call(c.options.Function, pointer, int(c.frame.header.Total))
	if c.fueled != nil {
		c.spent = c.fueled.Fuel()
	}
	if err != nil {
		c.failed = isFault(err)
		return nil, nil, err
	}
	edited = c.instance.Frame()
	if c.fueled != nil {
		c.measure(c.fueled.Fuel(), c.frame.to-c.frame.from)
	}
	if err = c.check(effects, edited); err == nil {
		err = c.withinLimits(effects, edited)
	}
	if err != nil {
		var answer *abi.Fault
		if errors.As(err, &answer) {
			c.faulty = answer.Op
		}
		return nil, nil, err
	}
	return effects, edited, nil
}

// Spent is the fuel of an op that Fault is told of, if the function was called; else 0.
func (c *Caller) Spent() int64 { return c.spent }

// Asked is how many ops the function was asked about so far.
func (c *Caller) Asked() int64 { return c.asked }

// measure has frames cost about as much as one may, going by the last one and, less and
// less, by those before.
func (c *Caller) measure(fuel int64, ops int) {
	if fuel <= 0 {
		return
	}
	perOp := float64(fuel) / float64(ops)
	if c.perOp == 0 {
		c.perOp = perOp
	}
	c.perOp += (perOp - c.perOp) / 4
	c.opsMax = max(1, min(c.options.OpsMax, int(frameFuel/c.perOp)))
}

// Slot says whose slot an effect's aux is, and which one; the effect was checked.
func (c *Caller) Slot(aux uint32) (group uint32, i int) {
	n := uint32(len(c.options.Slots))
	return c.frame.groups[aux/n], int(aux % n)
}
