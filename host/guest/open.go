package guest

import (
	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Open tells the function its parameters, and the schemas of its inputs if it takes
// any; it returns the texts that it answered, by output.
func (c *Caller) Open(parameters stream.Row, schemas []byte) (map[uint32]string, error) {
	h := abi.Layout(1, 0, c.stride, len(parameters), len(schemas))
	b := make([]byte, h.Total)
	abi.PutHeader(b, h)
	o := abi.Op{Kind: abi.OpOpen, Slot: abi.NoSlot, Row: h.RowsOffset}
	if len(schemas) > 0 {
		o.Arg = h.ContextsOffset
	}
	abi.PutOp(b, int(h.OpsOffset), o)
	copy(b[h.RowsOffset:], parameters)
	copy(b[h.ContextsOffset:], schemas)
	effects, err := c.instance.Open(c.options.Function, b)
	if err != nil {
		return nil, &OpenError{Err: err}
	}
	texts, err := readSchemas(effects, len(schemas) > 0)
	if err != nil {
		return nil, &OpenError{Err: err}
	}
	return texts, nil
}

// OpenError is that a function cannot be opened.
type OpenError struct {
	Again bool // in a new instance, after a fault
	Err   error
}

// Error says when it was to be opened.
func (e *OpenError) Error() string {
	if e.Again {
		return "opening it again after a fault: " + e.Err.Error()
	}
	return "opening it: " + e.Err.Error()
}

// Unwrap is the cause.
func (e *OpenError) Unwrap() error { return e.Err }

// readSchemas reads what a function answered when it was opened.
func readSchemas(effects []byte, asked bool) (map[uint32]string, error) {
	list := abi.ReadEffects(effects, 1)
	texts := map[uint32]string{}
	for {
		e, ok := list.Next()
		if !ok {
			return texts, list.Err()
		}
		if e.Kind != abi.EffectSchema || !asked {
			return nil, fault(abi.FaultBadAnswer, 0, "it answered its opening by %s, which is not allowed there", e.Kind)
		}
		if _, twice := texts[e.Aux]; twice {
			return nil, fault(abi.FaultBadAnswer, 0, "it answered two schemas for output %d", e.Aux)
		}
		texts[e.Aux] = string(e.Payload)
	}
}
