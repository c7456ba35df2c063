# make help lists the targets.

.DEFAULT_GOAL := help
.PHONY: help lab reproduce observatory judged test test-all fuzz notebooks html lint bench bench-peers release image clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

lab: ## set up what is missing and open the notebooks in JupyterLab
	environment/lab $(ARGS)

# Go prints nothing while it compiles, so this says what takes how long.
COMPILING = printf 'compiling (seconds if nothing has changed, one to three minutes the first time)\n'

reproduce: ## compute every experiment of the paper into reproduce/out (two to four minutes); with ARGS=-check, compare with reproduce/expected
	@$(COMPILING)
	go run ./reproduce $(ARGS)

observatory: ## measure methods, noise rules and remedies into reproduce/out/observatory; continues where it was stopped
	@$(COMPILING)
	go run ./reproduce/observatory $(ARGS)

judged: ## judge a collection of PEtab problems: make judged PETAB=DIR; continues where it was stopped
	@$(COMPILING)
	go run ./reproduce/judged $(if $(PETAB),-petab "$(PETAB)") $(ARGS)

test: ## the quick tests, in at most five minutes on two cores, or those of PARTS="lint race"
	@environment/test $(or $(PARTS),lint short notebook)

test-all: test ## all tests: after make test, what takes longer
	@environment/test long race release slurm kubernetes draws notebooks

# Short, because make test runs the stored inputs, too.
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

html: ## write the course as a site with live figures and search to notebooks/html
	environment/lab setup
	environment/lab run python environment/site/build.py

# govulncheck asks a server. That the server cannot be reached is not a failure.
TOOL = go tool -modfile=environment/tools.mod

SOURCES = $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go')

lint: ## gofmt, go mod tidy, go vet, staticcheck and govulncheck
	@unformatted=$$(gofmt -l $(SOURCES)); \
		[ -z "$$unformatted" ] || { echo "not formatted (run gofmt -w): $$unformatted"; exit 1; }
	@! grep -nE '// The (method|function) [A-Za-z_.]+\(\)' $(SOURCES) || { echo 'a doc comment begins with the name: "run returns"'; exit 1; }
	go mod tidy -diff
	go mod tidy -diff -modfile=environment/tools.mod
	go vet ./...
	$(TOOL) staticcheck ./...
	@out=$$($(TOOL) govulncheck $(VULNFLAGS) ./... 2>&1) && status=0 || status=$$?; \
	case $$out in \
		*"govulncheck: fetching vulnerabilities: "*) echo "govulncheck skipped: its database cannot be reached ($${out##*fetching vulnerabilities: })" ;; \
		*) printf '%s\n' "$$out"; exit $$status ;; \
	esac

bench: ## compare steps, ensembles and calibration with C, if there is a compiler, then run all benchmarks
	go test -run '^$$' -bench . ./pkg/probode/internal/cbench
	go test -run '^$$' -bench . $$(go list ./pkg/... | grep -v /cbench)

PEERS = numpyro filters roadrunner
VENV = environment/.venv/peers

bench-peers: ## compare with numpyro, with probdiffeq and rodeo, and with libRoadRunner (hours; installs them for this only), or with PEERS="filters"
	python3 -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r environment/requirements-peers.txt
	@for peer in $(PEERS); do $(VENV)/bin/python environment/bench_$$peer.py $(ARGS) || exit 1; done

release: ## archives for Linux, macOS, Windows and the playground, with checksums, in environment/out/release
	go run ./environment/release $(ARGS)

image: ## build the container image with Docker
	docker build -t probode -f environment/Dockerfile .

clean: ## remove results, memos and test artefacts
	rm -rf reproduce/out notebooks/html notebooks/.memo environment/out environment/playground/built
