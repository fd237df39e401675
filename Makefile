# `make` alone lists the targets. Each works in a fresh clone: it makes ./.venv first.

.DEFAULT_GOAL := help
.PHONY: help venv demo test lint evidence pins clean

BIN := .venv/bin
READY := .venv/.ready

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' Makefile | expand -t 12
	@echo
	@echo "PYTHON=/path/to/python picks the interpreter of a new .venv (>= 3.12); ARGS=... goes to pytest."

venv: $(READY) ## make ./.venv: the pinned requirements, and the package in editable form

$(READY): pyproject.toml requirements/dev.txt
	@PYTHON='$(PYTHON)' sh requirements/setup.sh venv
	@touch $@

demo: $(READY) ## analyse the bundled examples into demo/
	$(BIN)/bayesjudge demo --out demo

test: lint ## lint, then the tests
	$(BIN)/pytest $(ARGS)

lint: $(READY) ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

evidence: $(READY) ## the long calibration runs
	$(BIN)/pytest -m evidence $(ARGS)

pins: ## resolve requirements/*.txt again after a change to pyproject.toml; UPGRADE=1 takes newer releases
	@sh requirements/setup.sh pins $(if $(UPGRADE),--upgrade)

clean: ## remove what make made
	rm -rf .venv .bootstrap demo dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
