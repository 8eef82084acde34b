# Two commands matter: `make demo` shows what the library does, `make test` checks everything that can be checked.
# Both need only Python 3.11 or newer and make; each makes .venv on first use and again when the requirements change.

PYTHON ?= python3
BIN := .venv/bin
BENCH_BIN := .venv-bench/bin
PIP := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# in variables, since a comma would end an argument of $(call)
TEST_EXTRAS := [test,docs,torch]
REQUIREMENTS := pyproject.toml constraints.txt
# two workers: more do not help, since numba compiles each kernel once per machine
WORKERS ?= 2

# Bytecode is kept, also where that is turned off: tests start Python a hundred times, and each would compile all modules.
export PYTHONDONTWRITEBYTECODE :=

# The build backend is installed first, at its pinned version, and the package is built without isolation; otherwise
# pip would fetch whichever backend is newest.
define install
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"partwhole needs Python 3.11 or newer, and $(PYTHON) is {v.major}.{v.minor}; try make PYTHON=python3.12")'
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	@echo "installing into $(1) ..."
	@$(1)/bin/python $(PIP) hatchling editables
	@$(1)/bin/python $(PIP) --no-build-isolation --editable '.$(2)'
	@touch $@
endef

.PHONY: help demo test lint types unit portable docs bench format clean

help:  ## list these commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## */\1\t/' | expand -t 12

demo: .venv/.ready-to-run  ## which distances on a body with holes can be trusted, and where it belongs on its whole
	@$(BIN)/partwhole demo

test: lint unit  ## everything that CI checks, in about eight minutes on two cores
	@$(MAKE) --no-print-directory --jobs=2 types docs
	@cat .venv/left-out 2> /dev/null || true
	@echo "all checks passed"

lint: .venv/.ready-to-test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: .venv/.ready-to-test
	@$(BIN)/mypy
	@$(BIN)/lint-imports

unit: .venv/.ready-to-test  ## unit and property tests, doctests; real data too where PARTWHOLE_DATA is set
	@PARTWHOLE_LEFT_OUT=.venv/left-out OPENBLAS_NUM_THREADS=1 $(BIN)/pytest --numprocesses $(WORKERS) --dist worksteal --doctest-modules tests src

portable: .venv/.ready-to-test  ## the unit tests as other processors would run them (half an hour)
	@$(BIN)/python tests/portable.py $(PORTABLE)

docs: .venv/.ready-to-test  ## run every example, build the documentation into docs/_build/html
	@$(BIN)/sphinx-build -W --keep-going --quiet -b html docs docs/_build/html
	@echo "documentation: docs/_build/html/index.html"

bench: .venv-bench/.ready-to-bench  ## measure against other libraries (installs torch into an environment of its own)
	@set -e; for name in min_plus distances scaling memory cuda; do echo "benchmarks/$$name.py"; $(BENCH_BIN)/python benchmarks/$$name.py; done

format: .venv/.ready-to-test  ## let ruff put the code in order
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean:  ## remove environments, caches and everything that was built
	rm -rf .venv .venv-bench .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf docs/_build docs/gallery docs/tutorials docs/reference docs/sg_execution_times.rst demo-out partwhole-out build dist
	find src tests examples benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.ready-to-run: $(REQUIREMENTS)
	$(call install,.venv,[torch])

.venv/.ready-to-test: $(REQUIREMENTS)
	$(call install,.venv,$(TEST_EXTRAS))
	@echo "compiling kernels and tests ..."
	@$(BIN)/python tests/compile_kernels.py
	@$(BIN)/pytest --collect-only --quiet --doctest-modules tests src > /dev/null || true
	@touch .venv/.ready-to-run

.venv-bench/.ready-to-bench: $(REQUIREMENTS)
	$(call install,.venv-bench,[bench])
