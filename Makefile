# make demo   sets everything up in .venv and runs the main job on an embedded example
# make test   sets everything up and runs the tests

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test lint figures docs-check clean

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "vibrid needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/installed: $(VENV)/created pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/installed-test: $(VENV)/installed pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

$(VENV)/installed-lint: $(VENV)/installed pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[lint]'
	touch $@

demo: $(VENV)/installed
	$(BIN)/vibrid demo

test: $(VENV)/installed-test
	$(BIN)/python -m pytest -n $(WORKERS)

docs-check: $(VENV)/installed-test
	$(BIN)/python -m pytest tests/commands/test_documents.py

lint: $(VENV)/installed-lint
	$(BIN)/ruff check src tests examples benchmarks

figures: $(VENV)/installed
	$(BIN)/vibrid demo --out build/demo
	mkdir -p docs/figures && cp build/demo/response.png docs/figures/demo.png

clean:
	rm -rf build dist vibrid-demo .pytest_cache .ruff_cache .hypothesis src/*.egg-info
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
