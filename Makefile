# Every target sets up what it needs by itself, in .venv. `make help` lists them.
#   PYTHON=python3.12   the interpreter to set up with
#   ARGS="-k watch"     more arguments for `make test`, `make dev` and `make bench`
#   JOBS=4              how many tests run at once, by default three on two processors; 0 is for debuggers
#   PG_BIN=DIR          the PostgreSQL to test with, such as /usr/lib/postgresql/15/bin
#   SERVER_ROLE=NAME    the role, which owns nothing, that servers of the tests connect as; without it they own the schema
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules

export VENV := .venv
export PG_BIN
export TEST_SERVER_ROLE = $(SERVER_ROLE)
# Where Python keeps no bytecode, each of the hundreds of processes that tests start compiles the product anew.
export PYTHONDONTWRITEBYTECODE :=
JOBS ?= auto
BIN := $(VENV)/bin
CHAOS = $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)
RUNTIME := $(VENV)/runtime.stamp
CONTRIBUTOR := $(VENV)/contributor.stamp
BENCH := $(VENV)/bench.stamp

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(RUNTIME) ## Run a workflow, a release and two applications on an embedded database, and show their events
	@$(BIN)/python examples/demo/demo.py

.PHONY: dev
dev: $(RUNTIME) ## Run everything on this machine until Ctrl-C
	@exec $(BIN)/tinkwell dev --process-images examples/demo/images $(ARGS)

.PHONY: test
test: $(CONTRIBUTOR) ## Run the test suite
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

.PHONY: test-thorough
test-thorough: $(CONTRIBUTOR) ## Run the cases that `make test` leaves out: more seeds, larger explorations
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder -m thorough $(ARGS)

.PHONY: coverage
coverage: $(CONTRIBUTOR) ## Run the test suite and say which lines it reaches; takes three times as long
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder --cov --cov-report=term:skip-covered $(ARGS)

.PHONY: bench
bench: $(BENCH) ## Run the benchmarks and write docs/explanation/benchmarks.md; ARGS="--scale quick" only shows that they work
	$(BIN)/python -m bench $(ARGS)

.PHONY: chaos-log
chaos-log: $(CONTRIBUTOR) ## Break everything for ten minutes and judge what watchers saw
	PYTHONPATH=tests $(BIN)/python -m support.chaos $(CHAOS)

.PHONY: chaos-workflows
chaos-workflows: $(CONTRIBUTOR) ## Kill all that brings workflows to completion for five minutes, and judge
	PYTHONPATH=tests $(BIN)/python -m support.workflow_chaos $(CHAOS)

.PHONY: chaos-releases
chaos-releases: $(CONTRIBUTOR) ## Kill all that brings releases about for five minutes, and judge
	PYTHONPATH=tests $(BIN)/python -m support.release_chaos $(CHAOS)

.PHONY: kill-releases
kill-releases: $(CONTRIBUTOR) ## Kill provisioners at 200 of their deeds in turn, and judge; SEED=7 POINTS=50 as you like
	PYTHONPATH=tests $(BIN)/python -m support.release_kill $(if $(SEED),--seed $(SEED)) $(if $(POINTS),--points $(POINTS))

.PHONY: chaos-units
chaos-units: $(CONTRIBUTOR) ## Kill all that runs units for five minutes, and judge; STORMS=45 SECONDS=12 does it in short storms
	PYTHONPATH=tests $(BIN)/python -m support.unit_chaos $(CHAOS) $(if $(STORMS),--storms $(STORMS))

.PHONY: kill-units
kill-units: $(CONTRIBUTOR) ## Kill agents for units, or what they stand on, at 200 points in turn, and judge; SEED=7 POINTS=50 as you like
	PYTHONPATH=tests $(BIN)/python -m support.unit_kill $(if $(SEED),--seed $(SEED)) $(if $(POINTS),--points $(POINTS))

.PHONY: storm-units
storm-units: $(CONTRIBUTOR) ## Try the rules of units by 2,000 storms and all orders of a few requests; SEED=7 STORMS=100 as you like
	PYTHONPATH=tests $(BIN)/python -m support.unit_storm $(if $(SEED),--seed $(SEED)) $(if $(STORMS),--storms $(STORMS))

.PHONY: fuzz
fuzz: $(CONTRIBUTOR) ## Send 10,000 hostile messages while somebody else asks, and judge; SEED=7 MESSAGES=2000 as you like
	PYTHONPATH=tests $(BIN)/python -m support.fuzz $(if $(SEED),--seed $(SEED)) $(if $(MESSAGES),--messages $(MESSAGES)) $(ARGS)

.PHONY: chaos
chaos: chaos-log chaos-workflows chaos-releases chaos-units ## All of these; SEED=7 SECONDS=60 as you like

.PHONY: lint
lint: $(CONTRIBUTOR) ## Check style, types, layers, protos, SQL functions and lock files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy core client sandbox server provisioner migrations tests examples bench
	$(BIN)/lint-imports
	$(BIN)/buf lint
	$(BIN)/buf format --diff --exit-code
	scripts/drift.sh
	$(BIN)/python scripts/sql_functions.py
	@if grep -nE '://|^--(index|extra-index|find-links|trusted)' requirements/*.txt; then \
	  echo 'The lock files must not say where packages come from.' >&2; exit 1; fi

.PHONY: fmt
fmt: $(CONTRIBUTOR) ## Put code and protos into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/buf format --write

.PHONY: protos
protos: $(CONTRIBUTOR) ## Generate protos/gen
	scripts/protos.sh

.PHONY: schema
schema: $(CONTRIBUTOR) ## Write the schema as it is, for reading
	PYTHONPATH=tests $(BIN)/python -m support.schema_dump

.PHONY: reference
reference: $(CONTRIBUTOR) ## Write the generated parts of the manual anew: settings, commands, states, errors, events of units
	PYTHONPATH=tests $(BIN)/python -m support.reference

.PHONY: lock
lock: build/uv/bin/uv ## Write the lock files; ARGS=--upgrade takes the newest versions
	UV=$< scripts/lock.sh $(ARGS)

.PHONY: clean
clean: ## Delete the virtual environment and everything that was generated but is not committed
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUNTIME): requirements/build.txt requirements/runtime.txt pyproject.toml
	@scripts/setup.sh runtime
	@touch $@

$(CONTRIBUTOR): requirements/build.txt requirements/contributor.txt pyproject.toml
	@scripts/setup.sh contributor
	@touch $@ $(RUNTIME)

$(BENCH): requirements/build.txt requirements/bench.txt pyproject.toml
	@scripts/setup.sh bench
	@touch $@ $(RUNTIME)

build/uv/bin/uv: | $(RUNTIME)
	$(BIN)/python -m venv build/uv
	build/uv/bin/python -m pip --quiet install uv==0.13.8
