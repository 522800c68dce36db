# Everything a contributor runs. Needs Python 3.11 or newer and a package index for pip, nothing else.
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEMO := CLUSTERCTL_SANDBOX=1 $(BIN)/clusterctl
DEMO_PLACEMENT := .clusterctl/demo.env
WORKERS ?= auto
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist loadfile

# The first Python that is new enough and can make a virtual environment.
FIND_PYTHON = for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && exec echo $$python; \
	done; echo "no Python 3.11 or newer with venv on PATH" >&2; exit 1

export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DELETE_ON_ERROR:
.PHONY: help install launchers demo test fast check format bench docs clean

help:
	@echo "make demo    a whole deployment in the local sandbox, and what it shows"
	@echo "make test    every test;  make fast  without the slow ones"
	@echo "make launchers  install Slurm, Open MPI, torch and Ray, which some tests start"
	@echo "make check   formatting, lint, types, import contracts"
	@echo "make format  format the code;  make docs  write the generated tables"
	@echo "make bench   the performance targets"
	@echo "make clean   remove all that make has made"

install: $(INSTALLED)

$(BIN)/python:
	python=$$($(FIND_PYTHON)) && $$python -m venv $(VENV)

$(BIN)/helm: scripts/get_helm.py | $(BIN)/python
	$(BIN)/python scripts/get_helm.py $@
	@touch -h $@

$(INSTALLED): pyproject.toml $(BIN)/helm | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

launchers: $(INSTALLED)
	scripts/install_launchers.sh $(BIN)/python -m pip

demo: $(INSTALLED)
	@mkdir -p $(dir $(DEMO_PLACEMENT))
	$(DEMO) deploy-all --yes --placement $(DEMO_PLACEMENT)
	$(DEMO) verify --placement $(DEMO_PLACEMENT)

test: $(INSTALLED)
	$(PYTEST)

fast: $(INSTALLED)
	$(PYTEST) -m "not slow"

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(INSTALLED)
	$(BIN)/python scripts/settings_table.py docs/settings.md
	$(BIN)/python scripts/reference.py docs/reference.md
	$(BIN)/python scripts/lint_table.py docs/lint.md
	$(BIN)/python scripts/failures_table.py docs/failures.md

bench: $(INSTALLED)
	for benchmark in benchmarks/*.py; do $(BIN)/python "$$benchmark" || failed=1; done; exit $${failed:-0}

clean:
	-[ ! -x $(BIN)/clusterctl ] || $(BIN)/clusterctl sandbox stop
	rm -rf $(VENV) .clusterctl .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find src tests scripts -name __pycache__ -prune -exec rm -rf {} +
