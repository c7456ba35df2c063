# make help lists the targets.

.DEFAULT_GOAL := help
.PHONY: help lab reproduce observatory test test-go test-slurm test-notebooks notebooks check lint bench expected image image-test clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

lab: ## set up what is missing and open the notebooks in JupyterLab
	environment/lab $(ARGS)

reproduce: ## compute every experiment of the paper into reproduce/out (3 to 4 minutes)
	go run ./reproduce $(ARGS)

observatory: ## measure methods, noise rules and remedies into reproduce/out/observatory; goes on where it was stopped
	go run ./reproduce/observatory $(ARGS)

test: test-go test-slurm test-notebooks ## set up whatever is needed and run all tests

test-go: lint ## the tests of the Go packages, plain and with the race detector
	go test ./...
	go test -race $$(go list ./pkg/... | grep -v /cases) # long, and its goroutines are those of bayes

test-slurm: ## one study split over processes and over the tasks of a real Slurm, if there is one
	python3 environment/slurm/test.py

test-notebooks: ## the notebooks on the real kernel and in a real browser
	environment/lab setup-test
	environment/lab run python environment/test_kernel.py
	environment/lab run python environment/test_arviz.py
	environment/lab run python environment/notebooks.py check --twice 00 --twice 05
	environment/lab run python environment/test_browser.py 00 05

notebooks: ## execute all notebooks in place, and write them as HTML to notebooks/html
	environment/lab setup
	environment/lab run python environment/notebooks.py run $(NOTEBOOKS)

check: ## make reproduce, then compare with reproduce/expected
	go run ./reproduce -check $(ARGS)

lint: ## gofmt, go vet and staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go')); \
		[ -z "$$unformatted" ] || { echo "not formatted (run gofmt -w): $$unformatted"; exit 1; }
	go vet ./...
	go tool staticcheck ./...

bench: ## benchmarks of a step and of an ensemble
	go test -run '^$$' -bench . ./pkg/...

expected: ## replace reproduce/expected by the results of a full run
	go run ./reproduce -update

image: ## build the container image with Docker
	docker build -t probode -f environment/Dockerfile .

image-test: ## build and run the image without a Docker engine (root, buildah, debootstrap; 8 minutes)
	environment/image-test

clean: ## remove results, memos and test artefacts
	rm -rf reproduce/out notebooks/html notebooks/.memo environment/out
