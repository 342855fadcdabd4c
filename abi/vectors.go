package abi

import "embed"

// Vectors are the files of next/vectors, by their names.
//
//go:embed next/vectors/*.json
var Vectors embed.FS
