package guest

import "github.com/wasmstream/wasmstream/abi"

// rule says how an op of one kind may be answered.
type rule struct {
	allow   uint32 // effects, one bit for each kind
	once    uint32 // of them those that may come once only
	alone   uint32 // of those, those that nothing may come with
	must    abi.EffectKind
	main    bool // emits go to output 0 only
	context int  // bytes of its context
}

// rules are those of a role, by kind of op.
type rules [opKindsEnd]rule

// opKindsEnd is behind the last kind of op.
const opKindsEnd = abi.OpOnKey + 1

func (r *rules) contextBytes(kind abi.OpKind) int { return r[kind].context }

// areAll tells whether all ops that there are have a rule.
func (r *rules) areAll(one rule) bool {
	for _, of := range r {
		if of != one && of != (rule{}) {
			return false
		}
	}
	return true
}

func bits(kinds ...abi.EffectKind) (set uint32) {
	for _, k := range kinds {
		set |= 1 << k
	}
	return set
}

var (
	emits    = bits(abi.EffectEmit)
	timers   = bits(abi.EffectSetTimer, abi.EffectDeleteTimer)
	touches  = bits(abi.EffectTouch)
	decision = bits(abi.EffectDecide)

	oneEmit = rule{allow: emits, once: emits, must: abi.EffectEmit, main: true, context: abi.ContextRecordBytes}
	anyEmit = rule{allow: emits, context: abi.ContextRecordBytes}
	keyed   = rule{allow: emits | timers | touches, context: abi.ContextKeyedBytes}
	decides = rule{allow: decision | timers | touches, once: decision, context: abi.ContextWindowBytes}
)

// roleRules is the table of the ABI's roles.
var roleRules = map[string]rules{
	abi.RoleMap:     {abi.OpOnRecord: oneEmit},
	abi.RoleKey:     {abi.OpOnRecord: oneEmit},
	abi.RoleFlatMap: {abi.OpOnRecord: anyEmit},
	abi.RoleFilter: {abi.OpOnRecord: {
		allow: bits(abi.EffectKeep), once: bits(abi.EffectKeep), context: abi.ContextRecordBytes}},
	abi.RoleTimestamp: {abi.OpOnRecord: {
		allow: bits(abi.EffectEventTime, abi.EffectWatermark), once: bits(abi.EffectEventTime, abi.EffectWatermark),
		must: abi.EffectEventTime, context: abi.ContextRecordBytes}},
	abi.RoleAggregate: {abi.OpResult: {allow: emits, once: emits, must: abi.EffectEmit, main: true}},
	abi.RoleReduce:    {},
	abi.RoleApply: {
		abi.OpOnWindow: {allow: emits | touches, context: abi.ContextGroupBytes},
		abi.OpClear:    {allow: touches, context: abi.ContextWindowBytes}},
	abi.RoleAssigner: {abi.OpAssign: {allow: bits(abi.EffectAssign), context: abi.ContextRecordBytes}},
	abi.RoleTrigger: {
		abi.OpOnElement: decides, abi.OpOnEventTime: decides, abi.OpOnProcessingTime: decides,
		abi.OpOnMerge: {allow: timers | touches, context: abi.ContextGroupBytes},
		abi.OpClear:   {allow: bits(abi.EffectDeleteTimer) | touches, context: abi.ContextWindowBytes}},
	abi.RoleEvictor:   {abi.OpEvict: {allow: bits(abi.EffectEvict), context: abi.ContextGroupBytes}},
	abi.RoleProcess:   {abi.OpOnRecord: keyed, abi.OpOnTimer: keyed},
	abi.RoleCoProcess: {abi.OpOnRecord: keyed, abi.OpOnSecond: keyed, abi.OpOnTimer: keyed},
	abi.RoleBroadcastProcess: {
		abi.OpOnRecord: keyed, abi.OpOnTimer: keyed,
		abi.OpOnBroadcast: {allow: emits | bits(abi.EffectVisitKeys), once: bits(abi.EffectVisitKeys), context: abi.ContextRecordBytes},
		abi.OpOnKey:       {allow: touches, context: abi.ContextKeyedBytes}},
	abi.RoleJoin:    {abi.OpOnPair: {allow: emits, main: true, context: abi.ContextPairBytes}},
	abi.RoleCoGroup: {abi.OpOnGroup: {allow: emits, context: abi.ContextGroupBytes}},
	abi.RoleEnrich: {
		abi.OpOnRecord: {allow: emits | bits(abi.EffectRequest), once: bits(abi.EffectRequest), alone: bits(abi.EffectRequest), context: abi.ContextRecordBytes},
		abi.OpOnAnswer: {allow: emits, context: abi.ContextPairBytes}},
	abi.RoleDecode: {abi.OpDecode: {allow: emits, main: true, context: abi.ContextRecordBytes}},
	abi.RoleEncode: {abi.OpEncode: oneEmit},
}

func rulesOf(role string) *rules {
	r, ok := roleRules[role]
	if !ok {
		panic("guest: no role " + role) // the manifest was validated: it is the caller's mistake
	}
	return &r
}
