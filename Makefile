# One target per thing a person wants to do here. `make test` is the one to know.
# Targets install nothing; .ci/run does, and then calls these.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := test

GO ?= go
# Run at a pinned version through the module cache, so that it never enters a go.mod.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
# The newest patch of the oldest Go that go.mod admits.
OLDEST_GO := go1.25.14
OLDEST := $(patsubst go%,%,$(basename $(OLDEST_GO)))
# The modules below the root: each has its own go.mod, with a replace that points at the root.
NESTED := $(patsubst ./%/go.mod,%,$(sort $(shell find . -mindepth 2 -name go.mod -not -path '*/testdata/*')))

# How long a benchmark runs (`-benchtime`) and the benchmark program (`-duration`); executions per fuzz target.
BENCHTIME ?= 1s
DURATION ?= 10s
FUZZTIME ?= 2000x
# A test that hangs fails with its goroutines printed, before anybody's patience or a stage of .ci/run ends.
TIMEOUT ?= 4m
# The same for what runs on real servers, which takes half of it on a busy machine.
SLOW ?= 13m

.PHONY: test unit nested race locks soak portability portable-32 oldest-go lint format vet staticcheck generate generated fuzz bench ratios curves lockcost download servers ci conformance conformance-real captures faults

## test: everything: unit tests, nested modules, real servers. Without a server those are skipped loudly; ZK_REQUIRED=1 makes that a failure.
test: unit nested

## unit: the tests of the root module; needs no server, and no network once the modules are there.
unit:
	$(GO) test -timeout $(TIMEOUT) ./...

## nested: the tests of the nested modules, two packages at a time: one of them mostly waits for timeouts. What was left out is
## said; the rest of the output is shown when something failed.
nested:
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	for module in $(NESTED); do \
	  echo "module $$module"; \
	  if (cd $$module && $(GO) test -v -count=1 -p 2 -timeout $(SLOW) ./...) >"$$log" 2>&1; then \
	    grep -aE '^(ok|\?) |SKIPPED' "$$log"; \
	  else \
	    $(only_tables) "$$log"; exit 1; \
	  fi; \
	done

## race: the unit tests under the race detector; needs a C compiler.
race:
	$(GO) test -race -timeout $(TIMEOUT) ./...

# Leaves the tables and what failed.
CONFORMANCE := $(GO) test -count=1 -timeout $(SLOW) -v
only_tables = grep -avE '^ *(=== (RUN|NAME|PAUSE|CONT)|--- (PASS|SKIP))'

## conformance: the suite on zktest, in memory as either of its versions, and over TCP; prints the tables of entries.
conformance:
	@$(CONFORMANCE) -run '^TestConformance' ./zktest | $(only_tables)

## conformance-real: the suite on real servers, each version and an ensemble, and a comparison of their answers with zktest's.
conformance-real:
	@cd integration && $(CONFORMANCE) -run '^(TestConformance|TestSameAnswers)$$' . | $(only_tables)

## locks: what the locks have been shown to do: other clients on one path, with the matrix, and histories under faults, with the
## controls; prints the tables.
locks:
	@cd integration && $(CONFORMANCE) ./interop ./checker | $(only_tables)

## captures: writes the golden exchanges of proto/testdata/captures anew, from real servers.
captures:
	@cd integration && $(CONFORMANCE) -run '^TestCaptures$$' . -args -captures.update | $(only_tables)

## faults: a client under load through the faults of real servers and of the network; prints a line for each. ZK_VERSION=3.9
## runs it on that version.
faults:
	@cd integration && $(CONFORMANCE) -run '^TestFaults$$' . | $(only_tables)

# How many random schedules `make soak` tries; a hundred thousand take some minutes.
SCHEDULES ?= 100000

## soak: the session under very many random schedules of replies, cuts, cancellations and closes, with the race detector; locks under
## as many of faults.
soak:
	$(GO) test -race -count=1 -timeout 1h -run '^TestRandomSchedules$$' ./session -args -schedule.count=$(SCHEDULES)
	$(GO) test -count=1 -timeout 1h -run '^TestChaos$$' ./recipes -args -chaos.seed=1000 -chaos.seeds=$(SCHEDULES)

## portability: 32 bits, other operating systems, the oldest Go that go.mod admits.
portability: portable-32 portable-windows portable-darwin oldest-go

# These packages count bytes and nanoseconds, where an int that is too small matters. A kernel that runs no 32-bit x86 programs
# leaves an emulated ARM (Debian: qemu-user-static), whose int is as small.
portable-32:
	@if .ci/runs386; then \
	  echo "as 386"; CGO_ENABLED=0 GOARCH=386 $(GO) test -timeout $(TIMEOUT) ./jute ./proto ./conn ./session; \
	else \
	  echo "as arm, emulated"; CGO_ENABLED=0 GOARCH=arm $(GO) test -exec qemu-arm-static -timeout $(TIMEOUT) ./jute ./proto ./conn ./session; \
	fi

# The root module alone: the tests on real servers need signals that only Unix has.
portable-%:
	GOOS=$* $(GO) vet ./...

oldest-go:
	@if GOTOOLCHAIN=$(OLDEST_GO) $(GO) version; then \
	  echo "build and test with $(OLDEST_GO)"; export GOTOOLCHAIN=$(OLDEST_GO); \
	  $(GO) build ./... && $(GO) test -timeout $(TIMEOUT) ./jute ./proto ./client; \
	else \
	  declared=$$($(GO) list -m -f '{{.GoVersion}}'); \
	  echo "$(OLDEST_GO) cannot be had: nothing was checked but that go.mod declares Go $(OLDEST), and it declares $$declared"; \
	  case "$$declared" in $(OLDEST)|$(OLDEST).*) ;; *) exit 1;; esac; \
	fi

## lint: what needs no test to be known wrong.
lint: format vet staticcheck generated

format:
	@found=$$(find . -name '*.go' -not -path '*/testdata/*' -print0 | xargs -0r gofmt -l); \
	if [ -n "$$found" ]; then echo "not formatted by gofmt:"; echo "$$found"; exit 1; fi

vet:
	@for module in . $(NESTED); do echo "module $$module"; (cd $$module && $(GO) vet ./...); done

staticcheck:
	@bad=0; for module in . $(NESTED); do \
	  echo "module $$module"; (cd $$module && $(GO) run $(STATICCHECK) ./...) || bad=1; \
	done; exit $$bad

## generate: writes the generated code again, in place.
generate:
	$(GO) generate ./...

# Works on a copy, from which all generated files are deleted first: finds code that is stale, left over or edited by hand.
generated:
	@copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; \
	tar -c --exclude=./.git . | tar -x -C "$$copy"; \
	(cd "$$copy" && find . -name '*.go' -not -path '*/testdata/*' -print0 | \
	  xargs -0r awk 'FNR == 1 && /^\/\/ Code generated .* DO NOT EDIT\.$$/ { print FILENAME }' | xargs -r rm && \
	  $(GO) generate ./...); \
	diff -r --exclude=.git . "$$copy" || { echo "generated code is not what 'make generate' writes"; exit 1; }

## fuzz: every fuzz target for a fixed number of executions (FUZZTIME, such as 2000x or 1m).
fuzz:
	@for file in $$(grep -rl --include='*_test.go' '^func Fuzz' . | sort); do \
	  for target in $$(grep -oE '^func Fuzz[A-Za-z0-9_]*' $$file | cut -c6-); do \
	    echo "$$target in $$file"; \
	    $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$(dirname $$file); \
	  done; \
	done

## bench: the micro-benchmarks, then locks on the embedded server.
bench:
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) ./...
	@if [ -d bench ]; then $(GO) run ./bench -duration $(DURATION); fi

## ratios: the promised comparisons with go-zookeeper/zk, some minutes; without a real server two are left out, loudly.
ratios:
	@cd bench/versus && $(GO) run . -ratios

# Where `make curves` leaves what it measured, and flags for it, such as CURVEFLAGS='-rounds 1 -scaletime 50ms -points 1,10'.
CURVES ?= docs/results
CURVEFLAGS ?=

## curves: how both clients scale, as tables and SVG in docs/results, in some ten minutes; without a real server on zktest.
curves:
	@mkdir -p $(CURVES) && dir=$$(cd $(CURVES) && pwd) && trap 'rm -f "$$dir/curves.txt.new"' EXIT && \
	(cd bench/versus && $(GO) run . -scale all -svg "$$dir" $(CURVEFLAGS)) | tee "$$dir/curves.txt.new" && \
	mv "$$dir/curves.txt.new" "$$dir/curves.txt"

## lockcost: what a lock costs the servers, with Lockkeeper, go-zookeeper and Curator; a quarter of an hour or so. COST has flags
## for it, such as COST='-sites one-memory -rounds 3'.
lockcost:
	@cd integration && $(GO) run ./lockcost $(COST)

# Fetches all that the other targets load from a network.
download:
	@for module in . $(NESTED); do (cd $$module && $(GO) mod download); done
	@$(GO) run $(STATICCHECK) -version
	@GOTOOLCHAIN=$(OLDEST_GO) $(GO) version || echo "$(OLDEST_GO) cannot be had"

## servers: fetches ZooKeeper 3.9 and Curator from Debian's next release into the user's cache folder, unless they are there.
servers:
	integration/zkserver/fetch

## ci: what runs before a change is taken.
ci:
	.ci/run
