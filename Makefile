# make help lists the targets.

.DEFAULT_GOAL := help
.PHONY: help lab reproduce observatory test test-lint test-go test-race test-slurm test-notebooks fuzz notebooks check lint bench expected image image-test clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

lab: ## set up what is missing and open the notebooks in JupyterLab
	environment/lab $(ARGS)

reproduce: ## compute every experiment of the paper into reproduce/out (3 to 4 minutes)
	go run ./reproduce $(ARGS)

observatory: ## measure methods, noise rules and remedies into reproduce/out/observatory; goes on where it was stopped
	go run ./reproduce/observatory $(ARGS)

# The parts of make test, in order; make test PARTS="lint go" runs these two.
PARTS = lint go race slurm notebooks

test: ## set up whatever is needed and run all tests, or those of PARTS="lint go race slurm notebooks"
	@times=; for part in $(PARTS); do \
		line=$$(sed -n "s/^test-$$part:.*## //p" $(firstword $(MAKEFILE_LIST))); \
		[ -n "$$line" ] || { echo "make test: no part $$part: want some of lint go race slurm notebooks"; exit 2; }; \
		printf '\n== %s: %s\n' "$$part" "$$line"; \
		from=$$(date +%s); \
		$(MAKE) --no-print-directory test-$$part || { echo "== $$part failed after $$(($$(date +%s) - from)) s"; exit 1; }; \
		took="$$part $$(($$(date +%s) - from)) s"; echo "== $$took"; \
		times="$$times$${times:+, }$$took"; \
	done; printf '\nall passed: %s\n' "$$times"

test-lint: lint ## gofmt, go vet and staticcheck

test-go: ## the tests of the Go packages, with the corpora of the fuzz targets
	go test ./...

test-race: ## those of the library once more with the race detector
	go test -race $$(go list ./pkg/... | grep -v -e /cases -e /assess) # both long, and their goroutines are those of bayes

test-slurm: ## one study split over processes and over the tasks of a real Slurm, if there is one
	python3 environment/slurm/test.py

test-notebooks: ## the notebooks on the real kernel and in a real browser
	environment/lab setup-test
	environment/lab run python environment/test_kernel.py
	environment/lab run python environment/test_arviz.py
	environment/lab run python environment/notebooks.py check --twice 00 --twice 05
	environment/lab run python environment/test_browser.py 00 05

# Short, since the seeds and what was found before run in test-go, too.
FUZZTIME = 10s

fuzz: ## every fuzz target for FUZZTIME each
	@grep -rl --include='*_test.go' '^func Fuzz' pkg | while read -r file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\)(.*/\1/p' "$$file"); do \
			echo "== $$target in $${file%/*}"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "./$${file%/*}" </dev/null || exit 1; \
		done; \
	done

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

bench: ## steps, ensembles and calibration as ratios to C, if there is a compiler, then all benchmarks
	go test -run '^$$' -bench . ./pkg/probode/internal/cbench
	go test -run '^$$' -bench . $$(go list ./pkg/... | grep -v /cbench)

expected: ## replace reproduce/expected by the results of a full run
	go run ./reproduce -update

image: ## build the container image with Docker
	docker build -t probode -f environment/Dockerfile .

image-test: ## build and run the image without a Docker engine (root, buildah, debootstrap; 8 minutes)
	environment/image-test

clean: ## remove results, memos and test artefacts
	rm -rf reproduce/out notebooks/html notebooks/.memo environment/out
