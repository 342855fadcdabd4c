// Package abi is the contract between the host and Wasm guests, on the host's side: the generated constants, the
// manifest of a module, frames as the host lays them out and effects as it reads them back. README.md beside it is the
// contract in prose; next/abi.yaml is the definition that everything is generated from.
//
// It promises:
//
//	A. Nothing here trusts a guest: effects, manifests and modules may hold any bytes, and each length is checked
//	   against the bytes that remain before it is used. Bad ones end in an error that says what and where, never a panic.
//	B. Laying out a frame and reading effects allocate nothing.
//	C. Everything is a function of its arguments: no clock, no randomness, no files.
//
// It does not know Wasm engines, state or schemas' types: whether a row's bytes are canonical in its schema, and
// whether a type's text is valid, is for those to say who know rows (FaultBadRow is theirs).
package abi

//go:generate go run ./gen
