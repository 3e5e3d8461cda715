JOBS ?= auto
# A worker that is done takes tests of another: they take from a millisecond to seconds.
PYTEST := python -m pytest -n $(JOBS) --dist worksteal

# The folder with the packages of a release, and the repository that its files link to.
DIST ?= dist
REPOSITORY ?= $(or $(GITHUB_SERVER_URL),https://github.com)/$(or $(GITHUB_REPOSITORY),kschedctl/kschedctl)

.DEFAULT_GOAL := help
.PHONY: help dev check lint types layers test slow live browser pictures fuzz golden docs gaps parity conformance decisions bench licences changelog lock container bundle packaging

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

dev:  ## Install the locked tools of requirements/dev.txt and the project; needs Python 3.11 on Linux
	python -m pip install --require-hashes --requirement requirements/dev.txt
	python -m pip install --no-deps --no-build-isolation --editable .

check: lint types layers test  ## What to run before every commit; CI runs slow and live as well

quick: lint layers  ## While you work: style, layers and the tests of what changed since main (or BASE=...)
	python -m tools.changed_tests --jobs $(JOBS) $(if $(BASE),--base $(BASE))

lint:  ## Style and formatting
	ruff check .
	ruff format --check .

types:  ## Types, strictly
	mypy

layers:  ## No import points the wrong way
	lint-imports

test:  ## Tests in parallel; COVERAGE=1 shows what they do not run, WHOLE=1 adds those of make slow, in the same run
	$(PYTEST) -m "$(if $(WHOLE),not sample,not slow) and not live and not browser" $(if $(WHOLE),--hypothesis-profile=full) $(if $(COVERAGE),--cov --cov-report=term:skip-covered)

slow:  ## All recorded answers, the installed command, and the property tests with all their examples
	$(PYTEST) -m "(slow or hypothesis) and not live" --hypothesis-profile=full

live:  ## Against a real control plane, a worker with its own per file; needs KUBEBUILDER_ASSETS
	python -m pytest -n $(JOBS) --dist loadfile -m live tests/live

control-plane:  ## Build the programs that make live needs, into KUBEBUILDER_ASSETS or the cache folder; needs Go
	tests/live/build_control_plane.sh $(KUBEBUILDER_ASSETS)

chromium:  ## Install the browser that make browser needs, on Debian as root
	apt-get -qq update
	apt-get -qq install --no-install-recommends chromium chromium-driver fonts-dejavu-core > /dev/null

browser:  ## Every page in a headless Chromium; needs chromium, chromedriver and npm
	$(PYTEST) -m browser tests/browser

pictures:  ## Take the pictures in docs/pictures anew; look at them
	python -m pytest --rewrite-pictures tests/browser/test_pictures.py

fuzz:  ## Mutated inputs of all kinds, FUZZ_SECONDS each (default 600); what fails stays in the folder that is named
	FUZZ_SECONDS=$${FUZZ_SECONDS:-600} FUZZ_SEED=$${FUZZ_SEED:-random} python -m pytest tests/fuzz

fresh-seeds:  ## New cases on the real scheduler and ours, MINUTES=60 long; needs Go
	.ci/fresh-seeds $(or $(MINUTES),60)

live-seeds:  ## New clusters on real control planes, COUNT=10 per release; needs Go
	.ci/live-seeds $(or $(COUNT),10)

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

bench:  ## Measure everything, beside the last release (or BASE=...), into benchmarks/RESULTS.md; QUICK=1 prints small benchmarks
	python -m benchmarks.results $(if $(BASE),--base $(BASE)) $(if $(QUICK),--quick)

licences:  ## The licence of every package that users install; an error if one is not allowed
	python -m tools.licences

lock:  ## Write requirements/dev.txt anew, keeping versions; UPGRADE=1 takes the newest
	CUSTOM_COMPILE_COMMAND="make lock" python -m piptools compile --extra dev --build-deps-for editable --allow-unsafe --strip-extras --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --quiet $(if $(UPGRADE),--upgrade) --output-file requirements/dev.txt pyproject.toml

changelog:  ## Put the fragments in changes/ into CHANGELOG.md: VERSION=0.2.0; DRAFT=1 only prints the section
	@python -m towncrier build --version $(or $(VERSION),$(error say which: make changelog VERSION=0.2.0)) $(if $(DRAFT),--draft,--yes)

container:  ## Build the image and run it read-only: [VERSION=0.2.0] [IMAGE=name:tag] [BASE=debian]; needs docker, podman or buildah
	python -m tools.container $(if $(VERSION),--version $(VERSION)) --source $(REPOSITORY) --revision "$$(git rev-parse HEAD)" \
	  $(if $(IMAGE),--image $(IMAGE)) $(if $(BASE),--base $(BASE))

bundle:  ## The archive of the kubectl plugin for this platform, from the wheel of VERSION=0.2.0 in DIST (default dist)
	python -m tools.packaging --version $(or $(VERSION),$(error say which: make bundle VERSION=0.2.0)) --dist $(DIST) --repository $(REPOSITORY) --only-bundle

packaging:  ## krew manifest, Homebrew formula, completions and man page of VERSION=0.2.0, into DIST (default dist)
	python -m tools.packaging --version $(or $(VERSION),$(error say which: make packaging VERSION=0.2.0)) --dist $(DIST) --repository $(REPOSITORY)
	VERSION=$(VERSION) DIST=$(DIST) python -m pytest -rs tests/packaging --ignore tests/packaging/test_container.py

.PHONY: quick control-plane chromium fresh-seeds live-seeds actionlint dist trial sbom artifacts notes release

# Installed once, into a folder per version; go install takes it from the module proxy and checks its checksum.
ACTIONLINT := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kschedctl/actionlint-1.7.12

actionlint: $(ACTIONLINT)/actionlint  ## Check the workflows in .github; needs Go
	$(ACTIONLINT)/actionlint

$(ACTIONLINT)/actionlint:
	GOBIN=$(ACTIONLINT) go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# Only packages may be in dist/: all of it is uploaded to the index.
dist:  ## Build sdist and wheel of the tag or commit into dist/, and check what is in them
	rm -rf dist
	python -m build
	python -m twine check --strict dist/*
	python -m tools.dist_contents dist/*

trial:  ## Install what is in dist/ into clean environments, and run README's first command there
	python -m tools.try_package dist/*

sbom:  ## Install the wheel in dist/ with all extras, and write build/artifacts/sbom.cdx.json of the environment
	mkdir -p build/artifacts
	python -m tools.try_package --extras all --into build/environment dist/*.whl
	python -m cyclonedx_py environment --pyproject pyproject.toml --mc-type application --output-reproducible --of JSON \
	  --output-file build/artifacts/sbom.cdx.json build/environment

artifacts:  ## All files of VERSION=0.2.0 in build/artifacts: the packages in dist/, what make packaging makes of them, checksums
	mkdir -p build/artifacts && cp dist/* build/artifacts
	$(MAKE) packaging DIST=build/artifacts VERSION=$(or $(VERSION),$(error say which: make artifacts VERSION=0.2.0))
	python -m tools.artifacts $(VERSION)

notes:  ## Print what the changelog says about VERSION=0.2.0
	@python -m tools.release_notes $(or $(VERSION),$(error say which: make notes VERSION=0.2.0))

release:  ## Build, check and try all of VERSION=0.2.0 in a copy of the last commit, then tag it; DRY=1 tags nothing
	python -m tools.release $(or $(VERSION),$(error say which: make release VERSION=0.2.0)) $(if $(DRY),--dry-run)
