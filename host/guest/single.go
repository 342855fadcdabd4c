package guest

import (
	"encoding/binary"

	"github.com/wasmstream/wasmstream/abi"
)

// single is what ops of a role are mostly answered by: one effect each, all of one kind, so that it is known where each of
// them is. Such an answer is gone through in less time.
type single struct {
	kind    abi.EffectKind
	payload int // its bytes
	auxMax  uint32
}

// singleOf is that of a role; of no kind, if there is none.
func singleOf(role string) single {
	switch role {
	case abi.RoleAssigner:
		return single{kind: abi.EffectAssign, payload: 16}
	case abi.RoleTrigger:
		return single{kind: abi.EffectSetTimer, payload: 8, auxMax: 1}
	}
	return single{}
}

// isSingle tells of an answer that each op has that one effect, and that all are sound. Of others it does not know: check
// finds out.
func (c *Caller) isSingle(effects []byte) bool {
	s, ops := &c.single, c.ops[c.frame.from:c.frame.to]
	size := abi.EffectBytes + s.payload
	if s.kind == 0 || len(effects) != size*len(ops) {
		return false
	}
	le := binary.LittleEndian
	for i := range ops {
		e := effects[i*size : i*size+size : i*size+size]
		lengthAux := le.Uint64(e[abi.EffectAtLength:])
		switch {
		case le.Uint64(e) != uint64(s.kind)|uint64(i)<<32 || uint32(lengthAux) != uint32(s.payload) || uint32(lengthAux>>32) > s.auxMax:
			return false
		case c.rules[ops[i].kind].allow&(1<<s.kind) == 0:
			return false
		case s.kind == abi.EffectAssign && Int64(e, abi.EffectBytes) >= Int64(e, abi.EffectBytes+8):
			return false
		}
	}
	return true
}

// takeSingle carries out what isSingle has checked.
func (c *Caller) takeSingle(effects []byte) error {
	size := abi.EffectBytes + c.single.payload
	e := abi.Effect{Kind: c.single.kind}
	for i := c.frame.from; i < c.frame.to; i++ {
		e.Op = uint32(i - c.frame.from)
		at := int(e.Op) * size
		e.Aux = binary.LittleEndian.Uint32(effects[at+abi.EffectAtAux:])
		e.Payload = effects[at+abi.EffectBytes : at+size : at+size]
		if err := c.role.Take(i, e); err != nil {
			return err
		}
		if err := c.role.Done(i); err != nil {
			return err
		}
	}
	return nil
}
