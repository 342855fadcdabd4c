package recording

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/abi/conform"
)

// line is something that an op did: exactly, and for people.
type line struct{ exact, text string }

// compareEffects compares what each op did.
func (p *Player) compareEffects(d *Difference, frame, was, is []byte, statesWere, statesAre []StateCall) {
	h, err := abi.ReadHeader(frame)
	if err != nil {
		return // its header was read before
	}
	then, thenErr := linesOf(p.was, was, int(h.Ops), statesWere)
	now, nowErr := linesOf(p.is, is, int(h.Ops), statesAre)
	if thenErr != nil || nowErr != nil {
		if fmt.Sprint(thenErr) != fmt.Sprint(nowErr) {
			d.Was, d.Is = orSound(thenErr), orSound(nowErr)
		}
		return
	}
	for op := range then {
		if was, is := unlike(then[op], now[op]); len(was)+len(is) > 0 {
			d.Parts = append(d.Parts, Part{Op: &op, Ask: p.was.Op(frame, op), Was: texts(was), Is: texts(is)})
		}
	}
}

// unlike are lines without those at the beginning and at the end that are the same.
func unlike(was, is []line) (_, _ []line) {
	for len(was) > 0 && len(is) > 0 && was[0].exact == is[0].exact {
		was, is = was[1:], is[1:]
	}
	for len(was) > 0 && len(is) > 0 && was[len(was)-1].exact == is[len(is)-1].exact {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}
	return was, is
}

func orSound(err error) string {
	if err == nil {
		return "answered"
	}
	return err.Error()
}

func texts(lines []line) []string {
	list := make([]string, len(lines))
	for i, l := range lines {
		list[i] = l.text
	}
	return list
}

// linesOf is what each op did: its effects, touches behind the others, since their place is
// the guest's choice; and its writes to states. What it set slots to is looked at elsewhere.
func linesOf(rows *conform.Rows, effects []byte, ops int, states []StateCall) ([][]line, error) {
	lines, touches := make([][]line, ops), make([][]line, ops)
	list := abi.ReadEffects(effects, ops)
	for e, ok := list.Next(); ok; e, ok = list.Next() {
		l := line{fmt.Sprintf("%d %d %x", e.Kind, e.Aux, e.Payload), rows.Effect(&e)}
		switch e.Kind {
		case abi.EffectSetSlot:
		case abi.EffectTouch:
			if !slices.Contains(touches[e.Op], l) {
				touches[e.Op] = append(touches[e.Op], l)
			}
		default:
			lines[e.Op] = append(lines[e.Op], l)
		}
	}
	for op := range lines {
		slices.SortFunc(touches[op], func(a, b line) int { return bytes.Compare([]byte(a.exact), []byte(b.exact)) })
		lines[op] = append(lines[op], touches[op]...)
	}
	for _, s := range states {
		if int(s.Op) >= ops || s.Call != StatePut && s.Call != StateDelete {
			continue
		}
		name := "state_put"
		if s.Call == StateDelete {
			name = "state_delete"
		}
		lines[s.Op] = append(lines[s.Op], line{
			fmt.Sprintf("%s %d %x %x", name, s.State, s.Key, s.Value),
			fmt.Sprintf("%s %s, %s", name, rows.StateName(int(s.State)), rows.Entry(int(s.State), s.Key, s.Value)),
		})
	}
	return lines, list.Err()
}

// compareSlots compares what all slots were left as.
func (p *Player) compareSlots(d *Difference, c *Call, effects []byte) {
	h, err := abi.ReadHeader(c.Frame)
	if err != nil {
		return // it was read before
	}
	is := slotsOf(p.frame)
	for slot := range int(h.Slots) {
		var then, now []byte
		if stride := int(h.Stride); stride > 0 {
			if at := slot * stride; at+stride <= min(len(c.Slots), len(is)) {
				then, now = c.Slots[at:at+stride], is[at:at+stride]
			}
		} else {
			then, now = setSlot(c.Frame, &h, c.Effects, slot), setSlot(c.Frame, &h, effects, slot)
		}
		if !bytes.Equal(then, now) {
			d.Parts = append(d.Parts, Part{Slot: &slot, Of: p.was.SlotName(slot), Was: []string{p.was.Slot(slot, then)}, Is: []string{p.is.Slot(slot, now)}})
		}
	}
}

// setSlot is what a slot of variable width holds after a frame.
func setSlot(frame []byte, h *abi.Header, effects []byte, slot int) []byte {
	offset, length := abi.ReadSlotEntry(frame, int(h.SlotsOffset)+slot*abi.SlotEntryBytes)
	var content []byte
	if uint64(offset)+uint64(length) <= uint64(len(frame)) {
		content = frame[offset : offset+length]
	}
	list := abi.ReadEffects(effects, int(h.Ops))
	for e, ok := list.Next(); ok; e, ok = list.Next() {
		if e.Kind == abi.EffectSetSlot && int(e.Aux) == slot {
			content = e.Payload
		}
	}
	return content
}
