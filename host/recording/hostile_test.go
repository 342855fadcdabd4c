package recording_test

import (
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/conformance"
	"github.com/wasmstream/wasmstream/host/recording"
	"github.com/wasmstream/wasmstream/host/sandbox"
)

// small is a guest that takes one op at a time, and answers nothing.
type small struct{ asker }

func (s *small) Call(_, _ uint32, length int) ([]byte, error) {
	if h, err := abi.ReadHeader(s.frame[:length]); err == nil && h.Ops > 1 {
		return nil, &sandbox.TooLargeError{Module: "small", Effects: true}
	}
	return nil, nil
}

// FuzzReplay replays frames that are not what a host writes: a recording is a file.
func FuzzReplay(f *testing.F) {
	suites, err := conformance.Suites(abi.Vectors, "next/vectors")
	if err != nil {
		f.Fatal(err)
	}
	var functions []*abi.Function
	for _, s := range suites {
		for _, v := range s.Vectors {
			for _, frame := range v.Frames[1:] {
				f.Add(uint8(len(functions)+int(v.Function)), []byte(frame.Frame), []byte(frame.Effects))
			}
		}
		functions = append(functions, s.Manifest.GetFunctions()...)
	}
	f.Fuzz(func(t *testing.T, function uint8, frame, effects []byte) {
		of := functions[int(function)%len(functions)]
		opened := functionOf(of)
		opened.Open = frameOf(abi.OpOpen)
		p, _, err := recording.NewPlayer(&opened, &small{}, 0, of)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = p.Replay(&recording.Call{Frame: frame, Effects: effects})
	})
}
