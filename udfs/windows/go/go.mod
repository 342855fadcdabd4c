module github.com/wasmstream/wasmstream/udfs/windows/go

go 1.26

require github.com/wasmstream/wasmstream/guest-sdk/go v0.0.0

replace github.com/wasmstream/wasmstream/guest-sdk/go => ../../../guest-sdk/go
