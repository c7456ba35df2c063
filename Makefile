# make help lists the targets.

.DEFAULT_GOAL := help
.PHONY: help lab reproduce observatory judged test test-lint test-go test-race test-release test-slurm test-kubernetes test-draws test-notebooks fuzz notebooks check lint vulnerabilities bench bench-numpyro bench-filters bench-roadrunner expected html release image image-test clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

lab: ## set up what is missing and open the notebooks in JupyterLab
	environment/lab $(ARGS)

# Go prints nothing while it compiles, so this says what takes how long.
COMPILING = printf 'compiling (seconds if nothing has changed, one to three minutes the first time)\n'

reproduce: ## compute every experiment of the paper into reproduce/out (3 to 4 minutes)
	@$(COMPILING)
	go run ./reproduce $(ARGS)

observatory: ## measure methods, noise rules and remedies into reproduce/out/observatory; continues where it was stopped
	@$(COMPILING)
	go run ./reproduce/observatory $(ARGS)

judged: ## judge a collection of PEtab problems: make judged PETAB=DIR; continues where it was stopped
	@$(COMPILING)
	go run ./reproduce/judged $(if $(PETAB),-petab "$(PETAB)") $(ARGS)

# The parts of make test, in order; make test PARTS="lint go" runs these two.
ALL = lint go race release slurm kubernetes draws notebooks
PARTS = $(ALL)
# The limits in minutes are about five times what two idle cores take.
LIMITS = lint:20 go:60 race:30 release:20 slurm:20 kubernetes:20 draws:20 notebooks:60

test: ## set up whatever is needed and run all tests, or those of PARTS="lint go"
	@times=; for part in $(PARTS); do \
		line=$$(sed -n "s/^test-$$part:.*## //p" $(firstword $(MAKEFILE_LIST))); \
		[ -n "$$line" ] || { echo "make test: no part $$part: want some of $(ALL)"; exit 2; }; \
		printf '\n== %s: %s\n' "$$part" "$$line"; \
		from=$$(date +%s); \
		limit=$$(printf '%s\n' $(LIMITS) | sed -n "s/^$$part://p"); \
		python3 environment/limit.py $$limit $(MAKE) --no-print-directory test-$$part || { echo "== $$part failed after $$(($$(date +%s) - from)) s"; exit 1; }; \
		took="$$part $$(($$(date +%s) - from)) s"; echo "== $$took"; \
		times="$$times$${times:+, }$$took"; \
	done; printf '\nall passed: %s\n' "$$times"

test-lint: lint ## gofmt, go mod tidy, go vet, staticcheck and govulncheck

# A package may take longer than the 10 minutes that Go allows; make test limits the part.
test-go: ## the tests of the Go packages, with the corpora of the fuzz targets
	go test -timeout 0 ./...

test-race: ## the tests in which goroutines share memory, with the race detector
	environment/races

test-release: ## build archives for three systems; try the one for this machine, and go install, in an empty folder
	python3 environment/release/test.py

test-slurm: ## one study, split between processes and between the tasks of a real Slurm, if there is one
	python3 environment/slurm/test.py

test-kubernetes: ## check the manifests with the schemas of Kubernetes, and run their pods, one of which is killed
	environment/lab setup-test
	environment/lab run python environment/kubernetes/test.py

test-draws: ## open studies with ArviZ 0.2x and 1.x, pandas and R's posterior, and models with the libraries of PEtab and SBML
	environment/lab setup-test
	environment/lab run python environment/test_draws.py
	environment/lab run python environment/test_petab.py
	environment/lab run python environment/test_sbml.py

test-notebooks: ## the launcher, the notebooks on the real kernel, and all pages in a real browser
	python3 environment/test_lab.py
	environment/lab setup-test
	environment/lab run python environment/test_kernel.py
	environment/lab run python environment/notebooks.py check --twice 00 --twice 05
	environment/lab run python environment/test_browser.py 00 05 site play

# Short, because test-go runs the stored inputs, too.
FUZZTIME = 10s

# Without -fuzzminimizetime, Go spends the time on making interesting inputs smaller.
fuzz: ## run every fuzz target for FUZZTIME, with at most 16 GB of memory
	@ulimit -v 16777216 2>/dev/null; \
	grep -rl --include='*_test.go' '^func Fuzz' pkg reproduce | while read -r file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\)(.*/\1/p' "$$file"); do \
			echo "== $$target in $${file%/*}"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x "./$${file%/*}" </dev/null || exit 1; \
		done; \
	done

notebooks: ## execute all notebooks in place
	environment/lab setup
	environment/lab run python environment/notebooks.py run $(NOTEBOOKS)

html: ## write the course as a site with live figures, search and package documentation to notebooks/html
	environment/lab setup
	environment/lab run python environment/site/build.py

check: ## make reproduce, then compare with reproduce/expected
	go run ./reproduce -check $(ARGS)

lint: ## gofmt, go mod tidy, go vet, staticcheck and govulncheck
	@unformatted=$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go')); \
		[ -z "$$unformatted" ] || { echo "not formatted (run gofmt -w): $$unformatted"; exit 1; }
	@! grep -rnE --include='*.go' '// The (method|function) [A-Za-z_.]+\(\)' . || { echo 'a doc comment begins with the name: "run returns"'; exit 1; }
	go mod tidy -diff
	go mod tidy -diff -modfile=environment/tools.mod
	go vet ./...
	go tool -modfile=environment/tools.mod staticcheck ./...
	@$(MAKE) --no-print-directory vulnerabilities

# govulncheck asks a server. If the server cannot be reached, this target says so and does
# not fail.
vulnerabilities: ## look for known vulnerabilities with govulncheck, if its database can be reached
	@out=$$(go tool -modfile=environment/tools.mod govulncheck $(VULNFLAGS) ./... 2>&1) && status=0 || status=$$?; \
	case $$out in \
		*"govulncheck: fetching vulnerabilities: "*) echo "govulncheck skipped: its database cannot be reached ($${out##*fetching vulnerabilities: })" ;; \
		*) printf '%s\n' "$$out"; exit $$status ;; \
	esac

bench: ## compare steps, ensembles and calibration with C, if there is a compiler, then run all benchmarks
	go test -run '^$$' -bench . ./pkg/probode/internal/cbench
	go test -run '^$$' -bench . $$(go list ./pkg/... | grep -v /cbench)

NUMPYRO = environment/.venv/numpyro

bench-numpyro: ## compare effective draws per second with numpyro's NUTS on diffrax (hours; installs them for this only)
	python3 -m venv $(NUMPYRO)
	$(NUMPYRO)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r environment/requirements-numpyro.txt
	$(NUMPYRO)/bin/python environment/bench_numpyro.py $(ARGS)

FILTERS = environment/.venv/filters

bench-filters: ## compare Gaussian filters with probdiffeq and rodeo: numbers and speed (minutes; installs them for this only)
	python3 -m venv $(FILTERS)
	$(FILTERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r environment/requirements-filters.txt
	$(FILTERS)/bin/python environment/bench_filters.py $(ARGS)

bench-roadrunner: ## compare the time of a likelihood with that of a simulation by libRoadRunner (Linux, minutes): make bench-roadrunner PETAB="FILE FILE"
	environment/lab setup-test
	environment/lab run python environment/bench_roadrunner.py $(ARGS) $(PETAB)

expected: ## replace reproduce/expected with the results of a full run
	go run ./reproduce -update

release: ## archives for Linux, macOS, Windows and the playground, with checksums, in environment/out/release
	go run ./environment/release $(ARGS)

image: ## build the container image with Docker
	docker build -t probode -f environment/Dockerfile .

image-test: ## build and run the image without a Docker engine (root, buildah, debootstrap; 8 minutes)
	environment/image-test

clean: ## remove results, memos and test artefacts
	rm -rf reproduce/out notebooks/html notebooks/.memo environment/out environment/playground/built
