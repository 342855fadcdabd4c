# Needs Go only. Tests that need more (Java, Maven, clang) run where it is
# installed, and are listed at the end where they did not.

GO       ?= go
FUZZTIME ?= 30s
HISTORIES ?= 10000
ANSWERS  ?= 10000000
N        ?= 500
RUNS     ?= 5
SEED     ?= 1
SEEDS    ?= 10000
KAFKA_SEEDS ?= 200
ORACLE   ?= $(abspath ../shared/tools/flink-oracle/flink-oracle)

MODULES := . guest-sdk/go $(wildcard udfs/*/go udfs/examples/*/go)
SOURCES := abi bench cmd guest-sdk host udfs

.DEFAULT_GOAL := help
.PHONY: jvm help test check vulnerabilities race fuzz answers fuzz-windows kill-file kill-kafka kafka-releases planted bench guests rewrite clean sim bench-checkpoints bench-kafka

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' $(MAKEFILE_LIST) | expand -t 24

test: check ## check, and all tests of all modules here
	@failed=0; for module in $(MODULES); do \
	  echo "go test: $$module"; $(GO) run ./host/internal/verdict -C $$module -timeout 40m ./... || failed=1; \
	done; exit $$failed

check: vulnerabilities ## gofmt, go vet, the repository's own rules, generated files, known vulnerabilities
	@unformatted=$$(gofmt -l $(SOURCES)); [ -z "$$unformatted" ] || { echo "not formatted by gofmt:" $$unformatted; exit 1; }
	@for module in $(MODULES); do echo "go vet: $$module"; (cd $$module && $(GO) vet ./...) || exit 1; done
	@cd guest-sdk/go && echo "go vet: guest-sdk/go as Wasm" && GOOS=wasip1 GOARCH=wasm $(GO) vet . ./internal/raw
	$(GO) test ./host/internal/lint
	$(GO) run ./host/internal/verdict -timeout 40m ./abi/gen ./udfs/build # as test does, which finds it done
	$(GO) test -run Schema ./host/job

# 3 is "vulnerabilities found". Its database is on the network; not reaching it
# is said, but is no failure.
vulnerabilities:
	@tool=$$(command -v govulncheck || echo "$$($(GO) env GOPATH)/bin/govulncheck"); \
	if [ ! -x "$$tool" ]; then \
	  echo "!! NOT CHECKED: known vulnerabilities; govulncheck is not installed (go install golang.org/x/vuln/cmd/govulncheck@latest)"; \
	  exit 0; \
	fi; \
	echo govulncheck; \
	said=$$("$$tool" ./... 2>&1); code=$$?; \
	case $$code,$$said in \
	  0,*) ;; \
	  3,*) echo "$$said"; exit 1 ;; \
	  *"fetching vulnerabilities"*) echo "!! NOT CHECKED: known vulnerabilities; the database cannot be reached" ;; \
	  *) echo "$$said"; exit 1 ;; \
	esac

# Without tests that are slow under the detector and could not race: those that
# drive tasks one at a time, measure, or call a guest from one goroutine.
race: ## tests of what runs in several goroutines, under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -short -skip 'AnyOrder|AllocatesNothing|SavesTime|TestGuests|TestVectors|Crash|EveryRequest|EveryAnswer|Histories|TestHostile|TestSpecification|TestMeters|TestMutated' \
	  ./host/runtime/... ./host/connector/... ./host/sandbox/...

fuzz: ## each fuzz target for FUZZTIME=30s
	@set -e; for package in $$(grep -rl --include='*_test.go' '^func Fuzz' $(SOURCES) | xargs -n 1 dirname | sort -u); do \
	  for target in $$($(GO) test -C $$package -list '^Fuzz' | grep '^Fuzz'); do \
	    echo "fuzz: $$package $$target"; \
	    $(GO) test -C $$package -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s; \
	  done; \
	done

answers: ## ANSWERS=10000000 answers of guests that are nearly sound: faults with a kind, never a panic
	WASMSTREAM_ANSWERS=$(ANSWERS) $(GO) test -count 1 -run '^TestAnswers$$' -timeout 3h ./host/guest

fuzz-windows: ## HISTORIES=10000 random histories against the reference, and 300 of its answers against Flink (needs Java and Maven)
	WASMSTREAM_HISTORIES=$(HISTORIES) $(GO) test -count 1 -run FuzzWindows -timeout 60m ./host/internal/reference
	@if [ -x "$(ORACLE)" ] && command -v java >/dev/null; then \
	  echo "against Flink: $(ORACLE)"; \
	  WASMSTREAM_FLINK_ORACLE=$(ORACLE) $(GO) test -count 1 -run TestFlink ./host/internal/reference; \
	else echo "!! NOT RUN: histories against Flink; there is no Java, or no $(ORACLE)"; fi

kill-file: ## N=500 kills of jobs from file to file; SEED=1 says which
	WASMSTREAM_KILLS=$(N) WASMSTREAM_KILL_SEED=$(SEED) $(GO) test -count 1 -v -run '^TestKillFile$$' -timeout 3h ./host/internal/kill

kill-kafka: ## N=500 kills of a job from Kafka to Kafka, on each release of it, every tenth time with the broker; then N/4 as its input ends, N/10 of one with formats of its own, and 10 N of sinks alone (needs Java and Maven)
	WASMSTREAM_KILLS=$(N) WASMSTREAM_KILL_SEED=$(SEED) $(GO) test -count 1 -v -run '^TestKillKafka' -timeout 3h ./host/internal/kill
	WASMSTREAM_KILLS=$(N) WASMSTREAM_KILL_SEED=$(SEED) WASMSTREAM_TEST_KAFKA_ALL=1 $(GO) test -count 1 -v -run '^TestSinksThatDie$$' -timeout 3h ./host/connector/kafka

kafka-releases: ## the Kafka connectors on each release and transaction protocol, and epochs that run out (needs Java and Maven)
	WASMSTREAM_TEST_KAFKA_ALL=1 $(GO) test -count 1 -timeout 1h ./host/connector/kafka

planted: ## plant each bug of testdata/planted, and see that its test finds it
	WASMSTREAM_PLANTED=all $(GO) test -count 1 -v -run '^TestPlanted$$' -timeout 1h ./host/internal/planted
# SEED has a default for others; here it counts if somebody has set it.
sim: ## SEEDS=10000 jobs in a world that fails as seeds say, KAFKA_SEEDS=200 of them with Kafka's connectors; SEED=n runs one and tells what happens
	$(GO) test -count 1 -v -timeout 3h ./host/sim $(if $(filter file default,$(origin SEED)),-run 'Seeds$$' -seeds $(SEEDS) -kafka-seeds $(KAFKA_SEEDS),-run '^TestSeed$$' -seed $(SEED))

bench: ## the figures of bench/README.md
	./bench/run

bench-checkpoints: ## what checkpoints cost, on the disk that TMPDIR is on
	cd host/runtime && $(GO) test -run '^$$' -bench Checkpoints -benchtime 1x -timeout 60m .

bench-kafka: ## a job between topics, on one processor with the broker on another (needs Java and Maven); RUNS=5 of each
	$(GO) run ./host/internal/kafkabench -runs $(RUNS)

jvm: ## the ABI's vectors on the host in Java (needs Java and Maven)
	$(GO) test -count 1 -v -run '^TestJVM$$' -timeout 30m ./host/conformance

guests: ## build testdata/wasm from udfs/ (needs clang-19 and lld-19 for those in C)
	$(GO) run ./udfs/build

rewrite: ## write what is generated, and what tests expect, anew; look at the difference
	$(GO) run ./abi/gen
	@set -e; for package in $$(grep -rl --include='*_test.go' 'flag.Bool("update"' $(SOURCES) | xargs -n 1 dirname | sort -u); do \
	  echo "rewrite: $$package"; $(GO) test -C $$package . -update; \
	done

clean: ## remove what was built
	rm -rf wasmstream testdata/jobs/out
