JOBS ?= auto
# A worker that is done takes tests of another: they take from a millisecond to seconds.
PYTEST := python -m pytest -n $(JOBS) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help dev check lint types layers test slow live browser pictures fuzz golden docs gaps parity conformance decisions bench licences changelog lock

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

dev:  ## Install the locked tools of requirements/dev.txt and the project; needs Python 3.11 on Linux
	python -m pip install --require-hashes --requirement requirements/dev.txt
	python -m pip install --no-deps --no-build-isolation --editable .

check: lint types layers test  ## What to run before every commit; CI runs slow and live as well

lint:  ## Style and formatting
	ruff check .
	ruff format --check .

types:  ## Types, strictly
	mypy

layers:  ## No import points the wrong way
	lint-imports

test:  ## Tests in parallel; COVERAGE=1 shows what they do not run
	$(PYTEST) -m "not slow and not live and not browser" $(if $(COVERAGE),--cov --cov-report=term:skip-covered)

slow:  ## All recorded answers, the installed command, and the property tests with all their examples
	$(PYTEST) -m "(slow or hypothesis) and not live" --hypothesis-profile=full

live:  ## Against a real control plane, a worker with its own per file; needs KUBEBUILDER_ASSETS
	python -m pytest -n $(JOBS) --dist loadfile -m live tests/live

browser:  ## Every page in a headless Chromium; needs chromium, chromedriver and npm
	$(PYTEST) -m browser tests/browser

pictures:  ## Take the pictures in docs/pictures anew; look at them
	python -m pytest --rewrite-pictures tests/browser/test_pictures.py

fuzz:  ## Mutated inputs of all kinds, FUZZ_SECONDS each (default 600); what fails stays in the folder that is named
	FUZZ_SECONDS=$${FUZZ_SECONDS:-600} FUZZ_SEED=$${FUZZ_SEED:-random} python -m pytest tests/fuzz

golden:  ## Write what commands print into README, docs and the golden files anew; review the diff
	python -m pytest --rewrite-golden tests/docs tests/cli tests/conformance/test_parity.py

docs:  ## Build the documentation site into site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 python -m mkdocs build

gaps:  ## Write the list of recorded answers that are not equal anew; review the diff
	python -m conformance gaps

parity:  ## Write docs/parity.md and the totals in README anew
	python -m conformance parity

conformance:  ## Ask the real scheduler: RELEASE=1.37 [SEED=1] [THEME=spread] [COUNT=150] [SHRINK=1]; needs Go
	python -m conformance compare --release $(or $(RELEASE),$(error say which: make conformance RELEASE=1.36)) $(if $(SEED),--seed $(SEED)) $(if $(THEME),--theme $(THEME)) \
	  $(if $(COUNT),--count $(COUNT)) $(if $(SHRINK),--shrink $(SHRINK))

decisions:  ## Every decision over fixtures/ that differs from the last commit (or REV=...)
	python -m tools.decisions $(REV)

bench:  ## How fast it is: start-up, loading, one warm explain
	python -m benchmarks.startup
	python -m benchmarks.load
	python -m benchmarks.cycle

licences:  ## The licence of every package that users install; an error if one is not allowed
	python -m tools.licences

lock:  ## Write requirements/dev.txt anew, keeping versions; UPGRADE=1 takes the newest
	CUSTOM_COMPILE_COMMAND="make lock" python -m piptools compile --extra dev --build-deps-for editable --allow-unsafe --strip-extras --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --quiet $(if $(UPGRADE),--upgrade) --output-file requirements/dev.txt pyproject.toml

changelog:  ## Put the fragments in changes/ into CHANGELOG.md: VERSION=0.2.0; DRAFT=1 only prints the section
	@python -m towncrier build --version $(or $(VERSION),$(error say which: make changelog VERSION=0.2.0)) $(if $(DRAFT),--draft,--yes)
