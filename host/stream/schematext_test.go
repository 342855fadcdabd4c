package stream

import "testing"

func TestParseSchemaText(t *testing.T) {
	s, err := ParseSchemaText("BIGINT NOT NULL\tn\nDECIMAL(10, 2)\tprice in\t€\n")
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Fields(); len(c) != 2 || c[0].Name != "n" || c[0].Type.Kind != BigInt || c[1].Name != "price in\t€" || c[1].Type.Precision != 10 {
		t.Errorf("got %v", s)
	}
	if s, err := ParseSchemaText(""); err != nil || len(s.Fields()) != 0 {
		t.Errorf("of no columns: %v, %v", s, err)
	}
	for _, text := range []string{"BIGINT n\n", "BIGINT\tn", "BIGINTS\tn\n", "INT\tn\nINT\tn\n", "\n"} {
		if s, err := ParseSchemaText(text); err == nil {
			t.Errorf("%q was read as %v", text, s)
		}
	}
}
