package abi

import "fmt"

// OpKind is what an op asks of a function.
type OpKind uint16

// EffectKind is what an effect wants of the host.
type EffectKind uint32

// FaultKind is how a call went wrong.
type FaultKind uint8

// String is the kind's name in the definition.
func (k OpKind) String() string { return nameOf(opNames[:], int(k)) }

// String is the kind's name in the definition.
func (k EffectKind) String() string { return nameOf(effectNames[:], int(k)) }

// Known tells whether the definition has the kind.
func (k EffectKind) Known() bool { return k > 0 && int(k) < len(effectNames) && effectNames[k] != "" }

// String is the kind's name in the definition.
func (k FaultKind) String() string { return nameOf(faultNames[:], int(k)) }

func nameOf(names []string, k int) string {
	if k > 0 && k < len(names) && names[k] != "" {
		return names[k]
	}
	return fmt.Sprintf("unknown(%d)", k)
}

// Fault says how a call went wrong. It is data: whom it costs what (a record, the task, the job) is the host's policy.
type Fault struct {
	Kind FaultKind
	// Op is the index of the op at fault in its frame, -1 when that is not known.
	Op int
	// Detail tells more, for people.
	Detail string
}

// Error makes a Fault an error.
func (f *Fault) Error() string {
	where := ""
	if f.Op >= 0 {
		where = fmt.Sprintf(" at op %d", f.Op)
	}
	return fmt.Sprintf("guest fault %v%s: %s", f.Kind, where, f.Detail)
}
