package guest_test

import (
	"fmt"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/stream"
)

func schema(types string) *stream.Schema {
	var fields []stream.Field
	for i, text := range strings.Split(types, ",") {
		t, err := stream.ParseType(text)
		if err != nil {
			panic(err)
		}
		fields = append(fields, stream.Field{Name: fmt.Sprintf("c%d", i), Type: t})
	}
	return stream.MustSchema(fields...)
}

// row writes values: int64, string, or nil.
func row(s *stream.Schema, values ...any) stream.Row {
	w := stream.NewRowWriter(s)
	w.BeginIn(nil, stream.Insert)
	for i, v := range values[:min(len(values), s.Len())] {
		switch v := v.(type) {
		case int64:
			w.SetInt64(i, v)
		case int:
			w.SetInt64(i, int64(v))
		case string:
			w.SetBytes(i, []byte(v))
		case float64:
			w.SetFloat64(i, v)
		case nil:
			w.SetNull(i)
		}
	}
	return w.Row()
}

// book is a role that keeps slots in a map and writes down what happens.
type book struct {
	slots  [][]byte // by group and slot
	width  int      // slots of a group
	lines  map[int][]string
	done   []int
	faults map[int]abi.FaultKind
	failAt error // what Fault answers
	show   func(e abi.Effect) string
}

func newBook(groups, width int) *book {
	return &book{slots: make([][]byte, groups*width), width: width, lines: map[int][]string{}, faults: map[int]abi.FaultKind{}}
}

func (b *book) Load(dst []byte, group uint32, i int) []byte {
	return append(dst, b.slots[int(group)*b.width+i]...)
}

func (b *book) Store(group uint32, i int, row stream.Row) error {
	b.slots[int(group)*b.width+i] = append([]byte(nil), row...)
	return nil
}

func (b *book) Take(i int, e abi.Effect) error {
	if len(b.done) > 0 && b.done[len(b.done)-1] >= i {
		return fmt.Errorf("an effect of op %d after op %d was done", i, b.done[len(b.done)-1])
	}
	text := fmt.Sprintf("%s %d %x", e.Kind, e.Aux, e.Payload)
	if b.show != nil {
		text = b.show(e)
	}
	b.lines[i] = append(b.lines[i], text)
	return nil
}

func (b *book) Done(i int) error {
	b.done = append(b.done, i)
	return nil
}

func (b *book) Fault(i int, err error) error {
	b.faults[i] = guest.KindOf(err)
	return b.failAt
}
