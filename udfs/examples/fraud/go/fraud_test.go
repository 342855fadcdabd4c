package main

import (
	"os"
	"testing"

	"github.com/wasmstream/wasmstream/guest-sdk/go/wasmstreamtest"
)

func TestCases(t *testing.T) { wasmstreamtest.Run(t, os.DirFS(".."), "cases.txt") }
