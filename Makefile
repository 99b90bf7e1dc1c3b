# Every chore has its target here; continuous integration runs the same ones (.ci/run). `make help` lists them.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test check format parity bench docs pins clean

PYTHON ?= python3
VENV ?= .venv
PARITY_VENV ?= .venv-parity
PYTEST_ARGS ?=
BENCH_ARGS ?=
# Where an NVIDIA driver is loaded the CUDA build of ONNX Runtime is installed. Override with EXTRA=cpu.
ifndef EXTRA
EXTRA := $(shell if [ -r /proc/driver/nvidia/version ] || nvidia-smi -L >/dev/null 2>&1; then echo gpu; else echo cpu; fi)
endif
OTHER := $(if $(filter gpu,$(EXTRA)),cpu,gpu)

BIN := $(VENV)/bin
PINS := -c constraints.txt
PARITY_PINS := $(PINS) -c constraints-parity.txt
ifeq ($(EXTRA),gpu)
PINS += -c constraints-gpu.txt
endif
INSTALL := -m pip install -qq --disable-pip-version-check

# $(call environment,FOLDER): creates a virtual environment, or says why it cannot.
define environment
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "Verso needs Python 3.11 or newer, but $(PYTHON) is: $$($(PYTHON) --version 2>&1 | head -n 1)." >&2; \
	echo "Name another one, for example: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
@$(1)/bin/python -m pip --version >/dev/null 2>&1 || { rm -rf $(1) && $(PYTHON) -m venv $(1); }
endef

help: ## Lists the targets.
	@sed -n 's/^\([a-z]*\):.*## /\1|/p' Makefile | while IFS='|' read -r name text; do printf '%-8s %s\n' "$$name" "$$text"; done

run: $(VENV)/.installed-$(EXTRA) ## Serves the bundled model on http://127.0.0.1:8080.
	$(BIN)/verso serve

test: $(VENV)/.installed-$(EXTRA)-dev ## Runs every test that needs neither PyTorch nor a GPU.
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.installed-$(EXTRA)-dev ## Checks format, lint, types, imports and the house rules.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/house

format: $(VENV)/.installed-$(EXTRA)-dev ## Formats the code and repairs what the linter can.
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

parity: $(PARITY_VENV)/.installed ## Compares with Hugging Face transformers (needs PyTorch, kept in an environment of its own).
	$(PARITY_VENV)/bin/python -m pytest -m parity tests/parity tests/integration

bench: $(PARITY_VENV)/.installed ## Measures Verso and its rivals; options in BENCH_ARGS.
	$(PARITY_VENV)/bin/python -m bench $(BENCH_ARGS)

docs: $(VENV)/.installed-$(EXTRA)-dev ## Writes docs/configuration.md and docs/openapi.json anew from the code.
	$(BIN)/verso settings --markdown > docs/configuration.md
	$(BIN)/python -m tests.contract.write_openapi

pins: ## Rewrites constraints.txt from a fresh resolution of pyproject.toml.
	rm -rf build/pins
	$(call environment,build/pins)
	build/pins/bin/python $(INSTALL) '.[cpu,export,dev,bench]'
	sed -n 1p constraints.txt > build/constraints.txt
	build/pins/bin/python -m pip freeze --exclude verso >> build/constraints.txt
	mv build/constraints.txt constraints.txt

clean: ## Removes environments, caches and build products.
	rm -rf $(VENV) $(PARITY_VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One environment holds one build of ONNX Runtime: they share a module, and the second breaks the first.
$(VENV)/.installed-$(EXTRA): pyproject.toml constraints.txt constraints-gpu.txt
	@[ ! -e $(VENV)/.installed-$(OTHER) ] || rm -rf $(VENV)
	$(call environment,$(VENV))
	$(BIN)/python $(INSTALL) $(PINS) -e '.[$(EXTRA)]'
	@touch $@

$(VENV)/.installed-$(EXTRA)-dev: $(VENV)/.installed-$(EXTRA)
	$(BIN)/python $(INSTALL) $(PINS) -e '.[$(EXTRA),export,dev]'
	@touch $@

# PyTorch first and by its pin, so that nothing installed later can move it.
$(PARITY_VENV)/.installed: pyproject.toml constraints.txt constraints-parity.txt
	$(call environment,$(PARITY_VENV))
	$(PARITY_VENV)/bin/python $(INSTALL) $(PARITY_PINS) torch
	$(PARITY_VENV)/bin/python $(INSTALL) $(PARITY_PINS) -e '.[cpu,export,dev,bench,parity]'
	@touch $@
