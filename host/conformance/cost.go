package conformance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/abi/conform"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/sandbox"
)

// Cost is what a function costs, as far as it came.
type Cost struct {
	Function string `json:"function"`
	Role     string `json:"role"`
	// Generated: nobody has written cases for it.
	Generated bool `json:"generated"`
	// Start is how long it takes to make an instance; Opening what its opening takes.
	Start   time.Duration `json:"start_ns"`
	Opening Spent         `json:"opening"`
	// MemoryBytes is how large the memory of an instance has become.
	MemoryBytes int `json:"memory_bytes"`
	// Ops are by kind, in the order in which they came; each in a frame of its own.
	Ops []OpCost `json:"ops"`
	// Together is what an op costs, whatever its kind, in frames of several; nil: no two
	// could be in one frame.
	Together *TogetherCost `json:"together,omitempty"`
	// Problem is what ended it: a fault, or an answer that is none.
	Problem string `json:"problem,omitempty"`
	// Skipped is why it was not run: what was made up for its opening is not what it
	// takes.
	Skipped string `json:"skipped,omitempty"`
}

// OpCost is of ops of one kind.
type OpCost struct {
	Op    string `json:"op"`
	Asked int    `json:"asked"`
	// Fuel is in units of about one instruction, of Instance.In and Call together.
	Fuel Range `json:"fuel"`
	// Time is of the median, with what a call costs.
	Time    time.Duration `json:"time_ns"`
	Effects Range         `json:"effect_bytes"`
}

// Range is the least, the one in the middle, and the most.
type Range struct {
	Least  int64 `json:"least"`
	Median int64 `json:"median"`
	Most   int64 `json:"most"`
}

// Spent is what one call has cost.
type Spent struct {
	Fuel int64         `json:"fuel"`
	Time time.Duration `json:"time_ns"`
}

// TogetherCost is of an op, on average.
type TogetherCost struct {
	OpsMax int     `json:"ops_max"` // of a frame
	Fuel   float64 `json:"fuel"`
	Nanos  float64 `json:"time_ns"`
}

// Everything is played often enough that a median says something: until so many ops were
// asked alone, but at least, and at most, so often.
const (
	aloneMin  = 500
	roundsMin = 5
	roundsMax = 100
)

// Costs plays a function's cases, or what is generated for it, without a look at whether
// the answers are right. now is a monotonic clock. An error is the host's, or that of the
// cases.
func Costs(m Module, function int, s *Suite, now func() time.Duration) (*Cost, error) {
	f := m.Manifest().GetFunctions()[function]
	r := &costing{module: m, function: f, index: uint32(function), now: now, cost: &Cost{Function: f.GetName(), Role: f.GetRole(), Ops: []OpCost{}}}
	vectors, err := r.vectors(s)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", f.GetName(), err)
	}
	for round := 0; round < roundsMin || round < roundsMax && r.asked < aloneMin; round++ {
		if err := r.round(vectors); err != nil {
			return nil, err
		}
		if r.cost.Problem != "" || r.cost.Skipped != "" {
			break
		}
		if round == 0 && r.cost.Generated && len(r.timers[0])+len(r.timers[1]) > 0 {
			if vectors, err = r.generated(); err != nil {
				return nil, fmt.Errorf("function %s: %w", f.GetName(), err)
			}
		}
	}
	r.sum()
	return r.cost, nil
}

// round plays all vectors once, as far as the guest comes.
func (r *costing) round(vectors []*conform.Vector) error {
	for _, v := range vectors {
		if err := r.play(v); err != nil || r.cost.Problem != "" || r.cost.Skipped != "" {
			return err
		}
	}
	return nil
}

// costing finds out what one function costs.
type costing struct {
	module   Module
	function *abi.Function
	index    uint32
	now      func() time.Duration
	cost     *Cost

	starts   []time.Duration
	openings []Spent
	kinds    []string
	alone    map[string][]sample
	asked    int // alone
	// timers are those that the function was seen to set, in frames of one op: the last one
	// of each domain. before is how many such frames the vector had before the one at hand.
	timers   [2][]timer
	before   int
	together struct {
		opsMax, ops int
		spent       Spent
	}
}

// sample is one op in a frame of its own.
type sample struct {
	spent   Spent
	effects int
}

// vectors are those of the suite for the function, without those that end in a fault as
// they must; or generated ones, if there are none.
func (r *costing) vectors(s *Suite) (list []*conform.Vector, err error) {
	if s != nil {
		list = r.vectorsOf(s)
	}
	if len(list) > 0 {
		return list, nil
	}
	r.cost.Generated = true
	return r.generated()
}

// generated are vectors that are made up, with the timers that the function was seen to
// set.
func (r *costing) generated() ([]*conform.Vector, error) {
	text, err := generate(r.function, slices.Concat(r.timers[0], r.timers[1]))
	if err != nil {
		return nil, err
	}
	generated, err := OfCases("generated", r.module.Manifest(), []byte(text))
	if err != nil {
		return nil, err
	}
	return r.vectorsOf(&generated), nil
}

func (r *costing) vectorsOf(s *Suite) (list []*conform.Vector) {
	for i := range s.Vectors {
		v := &s.Vectors[i]
		if f := s.Manifest.GetFunctions()[v.Function]; f.GetName() == r.function.GetName() && v.Fault == "" && !v.Refused {
			list = append(list, v)
		}
	}
	// An op in a frame of its own tells best what is wrong.
	slices.SortStableFunc(list, func(a, b *conform.Vector) int { return opsMax(a) - opsMax(b) })
	return list
}

// opsMax is how many ops a vector has in one frame; of more than one it does not matter.
func opsMax(v *conform.Vector) int {
	for i := range v.Frames {
		if len(v.Frames[i].Ops) > 1 {
			return 2
		}
	}
	return 1
}

// play plays a vector on a new instance; a guest's fault is the cost's problem.
func (r *costing) play(v *conform.Vector) (err error) {
	states, err := conform.NewStore(r.function)
	if err != nil {
		return err
	}
	r.before = 0
	began := r.now()
	instance, err := r.module.New()
	if err != nil {
		r.cost.Problem = "no instance could be made: " + err.Error()
		return nil
	}
	r.starts = append(r.starts, r.now()-began)
	defer func() { err = errors.Join(err, instance.Close()) }()
	instance.CallStates(states)
	g := &costed{player: player{i: instance, index: r.index, states: states}, r: r}
	if err := v.Walk(g); err != nil {
		r.ended(v, g, err)
	}
	if sized, ok := instance.(interface{ MemoryBytes() int }); ok {
		r.cost.MemoryBytes = max(r.cost.MemoryBytes, sized.MemoryBytes())
	}
	return nil
}

// ended says what it means that a guest did not come to the end of a vector. A frame of
// several ops may be too much for its buffers; hosts then ask fewer.
func (r *costing) ended(v *conform.Vector, g *costed, err error) {
	h, broken := abi.ReadHeader(g.frame)
	var large *sandbox.TooLargeError
	switch {
	case broken == nil && h.Ops > 1 && errors.As(err, &large):
	case r.cost.Generated && len(r.openings) == 0 && isMadeUp(r.function):
		r.cost.Skipped = fmt.Sprintf("it does not take the parameters and columns that are made up: %v", err)
	default:
		r.cost.Problem = fmt.Sprintf("%s: %s: %v", v.Name, g.asked(), err)
	}
}

// isMadeUp tells of a function whose opening has what nobody but a job can know.
func isMadeUp(f *abi.Function) bool {
	return f.GetInput().GetAny() || f.GetSecondInput().GetAny() ||
		slices.ContainsFunc(f.GetParameters(), func(p *abi.Parameter) bool { return p.Default == nil })
}

// costed is an instance whose calls are measured.
type costed struct {
	player
	r     *costing
	frame []byte // the last one
}

// Perform implements conform.Guest.
func (g *costed) Perform(function uint32, frame []byte, owners []conform.Owner) (effects, after []byte, err error) {
	g.frame = frame
	h, err := abi.ReadHeader(frame)
	if err != nil {
		return nil, nil, err
	}
	fueled, counts := g.i.(guest.Fueled)
	if counts && g.opened {
		fueled.Ops(int(h.Ops))
	}
	isOpening := !g.opened
	began := g.r.now()
	effects, after, err = g.player.Perform(function, frame, owners)
	spent := Spent{Time: g.r.now() - began}
	if counts {
		spent.Fuel = fueled.Fuel()
	}
	if err == nil {
		g.r.note(&h, frame, isOpening, sample{spent, len(effects)})
		if h.Ops == 1 && !isOpening {
			g.r.noteTimers(effects)
		}
	}
	return effects, after, err
}

// asked says what the last frame asked.
func (g *costed) asked() string {
	h, err := abi.ReadHeader(g.frame)
	switch {
	case err != nil:
		return "nothing was asked"
	case h.Ops == 1:
		return kindIn(&h, g.frame)
	}
	return fmt.Sprintf("%d ops from %s on", h.Ops, kindIn(&h, g.frame))
}

// kindIn is the kind of a frame's first op.
func kindIn(h *abi.Header, frame []byte) string {
	return abi.ReadOp(frame, int(h.OpsOffset)).Kind.String()
}

func (r *costing) note(h *abi.Header, frame []byte, isOpening bool, s sample) {
	switch {
	case isOpening:
		r.openings = append(r.openings, s.spent)
	case h.Ops == 1:
		kind := kindIn(h, frame)
		if r.alone == nil {
			r.alone = map[string][]sample{}
		}
		if r.alone[kind] == nil {
			r.kinds = append(r.kinds, kind)
		}
		r.alone[kind] = append(r.alone[kind], s)
		r.asked++
	default:
		t := &r.together
		t.opsMax = max(t.opsMax, int(h.Ops))
		t.ops += int(h.Ops)
		t.spent.Fuel += s.spent.Fuel
		t.spent.Time += s.spent.Time
	}
}

// noteTimers keeps the last timers that an op alone in its frame sets.
func (r *costing) noteTimers(effects []byte) {
	list := abi.ReadEffects(effects, 1)
	for e, ok := list.Next(); ok; e, ok = list.Next() {
		if e.Kind != abi.EffectSetTimer || len(e.Payload) != 8 {
			continue
		}
		r.timers[e.Aux&1] = []timer{{r.before, e.Aux == 1, int64(binary.LittleEndian.Uint64(e.Payload))}}
	}
	r.before++
}

// sum makes the cost of what was noted.
func (r *costing) sum() {
	c := r.cost
	if len(r.starts) > 0 {
		slices.Sort(r.starts)
		c.Start = r.starts[len(r.starts)/2]
	}
	if len(r.openings) > 0 {
		slices.SortFunc(r.openings, func(a, b Spent) int { return int(a.Time - b.Time) })
		c.Opening = r.openings[len(r.openings)/2]
	}
	for _, kind := range r.kinds {
		c.Ops = append(c.Ops, costOf(kind, r.alone[kind]))
	}
	if t := &r.together; t.ops > 0 {
		c.Together = &TogetherCost{OpsMax: t.opsMax, Fuel: float64(t.spent.Fuel) / float64(t.ops), Nanos: float64(t.spent.Time) / float64(t.ops)}
	}
}

func costOf(kind string, samples []sample) OpCost {
	rangeOf := func(of func(sample) int64) Range {
		list := make([]int64, len(samples))
		for i, s := range samples {
			list[i] = of(s)
		}
		slices.Sort(list)
		return Range{list[0], list[len(list)/2], list[len(list)-1]}
	}
	return OpCost{
		Op: kind, Asked: len(samples),
		Fuel:    rangeOf(func(s sample) int64 { return s.spent.Fuel }),
		Time:    time.Duration(rangeOf(func(s sample) int64 { return int64(s.spent.Time) }).Median),
		Effects: rangeOf(func(s sample) int64 { return int64(s.effects) }),
	}
}
