package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// distinct is the job whose users come in turn, so that no frame has two records of one
// key: what a guest's frame costs is not shared by the records of a key then.
const distinct = "distinct"

const (
	distinctRecords = 3_000_000
	distinctUsers   = 10_000
	distinctWindow  = 1_000_000 // records, in 10 seconds of event time
)

const distinctText = `
version: 1
name: distinct
MODULES
sources:
  payments:
    file: {path: payments.ndjson, format: json}
    schema: {user: STRING, amount: BIGINT, at: TIMESTAMP(3)}
    event-time: at
    watermark: {max-out-of-orderness: 0s}
steps:
  sums: {from: payments, key-by: [user], window: {tumbling: {size: 10s}}, aggregate: {AGGREGATE}}
sinks:
  sums: {from: sums, file: {path: out/sums.ndjson, format: json}}
`

// distinctJob is the job's text; its records are made if they are not there.
func distinctJob(b benchmark, modules, folder string) ([]byte, error) {
	path := filepath.Join(folder, "payments.ndjson")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := makePayments(path); err != nil {
			return nil, err
		}
	}
	module, aggregate := "", "n: sum(amount)"
	if b.module != "" {
		module = "modules: {m: {file: " + filepath.Join(modules, b.module) + "}}"
		aggregate = "wasm: m.total"
	}
	return []byte(strings.NewReplacer("MODULES", module, "AGGREGATE", aggregate).Replace(distinctText)), nil
}

func makePayments(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	for n := range distinctRecords {
		ms := n / (distinctWindow / 10_000)
		fmt.Fprintf(w, "{\"user\":\"user %06d\",\"amount\":%d,\"at\":\"2001-01-01 00:00:%02d.%03d\"}\n", n%distinctUsers, n%1000, ms/1000, ms%1000)
	}
	return errors.Join(w.Flush(), file.Close())
}
