module github.com/wasmstream/wasmstream/guest-sdk/go

go 1.26
