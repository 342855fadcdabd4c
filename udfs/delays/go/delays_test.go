package main

import (
	"testing"

	"github.com/wasmstream/wasmstream/guest-sdk/go/wasmstreamtest"
)

func TestCases(t *testing.T) { wasmstreamtest.Run(t, "../cases.txt") }
