# make demo         creates .venv and runs the main job on an embedded example
# make test         creates .venv and runs the tests, but for those that take longest
# make test-long    runs the tests that take longest: before a release, and after a change of what they test
# make lint         checks rules and format of the code (ruff), and its types (basedpyright)
# make docs         builds the site of the documentation in build/site: its pages are run, every link is checked
# make docs-all     the same with the pages that take long
# make docs-quick   the same, with the first tutorial alone run
# make docs-serve   shows the site that was built, on this machine
# make docs-offline packs the site into one file that is read without a network
# make docs-check   checks links and examples of the documentation
# make test-compat  runs the tests marked `compat` on the lowest and on the newest versions of Python and every library
# make test-matrix  runs all tests on all supported versions
# make package      builds wheel and sdist in dist/, checks them, and installs the wheel in an environment of its own
# make lock         updates the versions that `make demo` and `make test` install
# make figures      draws docs/figures/demo.png again
# make clean        removes what was built, except .venv

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements/locked.txt

.PHONY: demo test test-long lint lock package test-compat test-matrix figures docs docs-all docs-quick docs-serve docs-offline \
  docs-check clean

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "vibrid needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/installed: $(VENV)/created pyproject.toml requirements/locked.txt
	$(PIP) -e .
	touch $@

$(VENV)/installed-%: $(VENV)/installed pyproject.toml requirements/locked.txt
	$(PIP) -e '.[$*]'
	touch $@

demo: $(VENV)/installed
	$(BIN)/vibrid demo
	@echo "The same in a browser: $(BIN)/pip install -e '.[studio]', then $(BIN)/vibrid studio (docs/studio.md)."

test: $(VENV)/installed-test
	$(BIN)/python -m pytest -n $(WORKERS) -m "not long"

test-long: $(VENV)/installed-test
	$(BIN)/python -m pytest -n $(WORKERS) -m long

test-compat:
	.ci/suite lowest -m compat
	.ci/suite newest -m compat

test-matrix:
	@failed=""; for set in lowest locked between newest; do \
	  .ci/suite $$set || failed="$$failed $$set;"; done; \
	  if [ -n "$$failed" ]; then echo "Failed:$$failed"; exit 1; fi; echo "Passed on all supported versions."

docs-check: $(VENV)/installed-test
	$(BIN)/python -m pytest tests/commands/test_documents.py

docs: $(VENV)/installed-docs
	$(BIN)/python docs/site/build.py

docs-all: $(VENV)/installed-docs
	$(BIN)/python docs/site/build.py --all

docs-quick: $(VENV)/installed-docs
	$(BIN)/python docs/site/build.py --quick

docs-serve:
	$(BIN)/python docs/site/build.py --serve

docs-offline: $(VENV)/installed-docs
	$(BIN)/python docs/site/build.py --archive

lint: $(VENV)/installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check src tests examples benchmarks docs/site docs/gallery docs/notebooks
	$(BIN)/basedpyright --pythonpath $(BIN)/python

lock: $(VENV)/installed-matrix
	$(BIN)/uv pip compile --quiet --universal --upgrade --python-version 3.11 --extra test --extra lint --extra package --extra docs \
	  --no-annotate --no-header --no-emit-index-url --no-emit-find-links pyproject.toml -o requirements/locked.txt

package: $(VENV)/installed-package
	.ci/package

figures: $(VENV)/installed
	$(BIN)/vibrid demo --out build/demo
	mkdir -p docs/figures && cp build/demo/response.png docs/figures/demo.png

clean:
	rm -rf build dist vibrid-demo .pytest_cache .ruff_cache .hypothesis src/*.egg-info
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
