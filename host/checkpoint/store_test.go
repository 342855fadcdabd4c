package checkpoint_test

import (
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Open:   func(*testing.T) checkpoint.Store { return checkpoint.NewMemory() },
		Reopen: func(_ *testing.T, closed checkpoint.Store) checkpoint.Store { return closed },
	})
}
