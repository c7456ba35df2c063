# make help lists the targets.

.DEFAULT_GOAL := help
.PHONY: help test test-go reproduce check expected bench lint clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: test-go ## set up whatever is needed and run all tests

reproduce: ## compute every experiment of the paper into reproduce/out (about 3 minutes)
	go run ./reproduce $(ARGS)

check: ## the same, then compare with reproduce/expected
	go run ./reproduce -check $(ARGS)

lint:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go')); \
		[ -z "$$unformatted" ] || { echo "not formatted (run gofmt -w): $$unformatted"; exit 1; }
	go vet ./...
	go tool staticcheck ./...

test-go: lint ## the tests of the Go packages, plain and with the race detector
	go test ./...
	go test -race -short ./pkg/...

bench: ## benchmarks of a step and of an ensemble
	go test -run '^$$' -bench . ./pkg/...

expected: ## replace reproduce/expected by the results of a full run
	go run ./reproduce -update

clean: ## remove what can be made again
	rm -rf reproduce/out
