# Two commands for everybody: `make run` and `make test`. The rest is for whoever changes things.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: run demo check test test-alone test-guests test-rest test-nfs bench score stack packages lint types contracts docs pictures clean help

BIN := .venv/bin
# Where tools/environment.sh puts uv on a machine that has none.
export PATH := $(PATH):$(CURDIR)/.cache/uv/bin
PORT ?= 10049

help: ## What there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/ioplateau: pyproject.toml uv.lock
	@./tools/environment.sh
	@touch $@

run: $(BIN)/ioplateau ## Start the daemon on this machine
	@echo "ioplateau watches this machine: http://localhost:$(PORT)/ (metrics at /metrics, Ctrl-C ends it)"
	@exec $(BIN)/ioplateau serve --web.listen-address=:$(PORT)

demo: $(BIN)/ioplateau ## Watch a really throttled disk being flagged (root; a minute)
	@$(BIN)/python tests/demo.py

lint: $(BIN)/ioplateau
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(BIN)/ioplateau
	@$(BIN)/mypy

contracts: $(BIN)/ioplateau
	@$(BIN)/lint-imports --no-cache

check: lint types contracts ## Under a minute: lint, types, contracts, unit and story tests
	@$(BIN)/pytest --hypothesis-profile=quick -m "not live and not guest and not slow"

test: lint types contracts ## Everything, with the real kernel, real peers and guests (root)
	@$(BIN)/coverage erase
	@$(MAKE) --no-print-directory test-alone
	@$(MAKE) --no-print-directory --jobs=2 --keep-going --output-sync=target test-guests test-rest
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

test-alone: $(BIN)/ioplateau
	@COVERAGE_FILE=.coverage.alone $(BIN)/pytest --cov --cov-report= -m alone

# Side by side: what mostly waits for emulated CPUs, and the rest. Each prints when it is done.
test-guests: $(BIN)/ioplateau
	@COVERAGE_FILE=.coverage.guests $(BIN)/pytest --cov --cov-report= -m "guest and not alone"

test-rest: $(BIN)/ioplateau
	@COVERAGE_FILE=.coverage.rest $(BIN)/pytest --cov --cov-report= -m "not guest and not alone"

test-nfs: $(BIN)/ioplateau ## Real NFS clients and servers in QEMU guests
	@$(BIN)/pytest tests/live/nfs

bench: $(BIN)/ioplateau ## Cost against node_exporter and against merely reading the same bytes
	@$(BIN)/python bench/cost.py

score: $(BIN)/ioplateau ## Score the judge on stories and recordings, against floors that only rise
	@$(BIN)/python bench/score.py

stack: $(BIN)/ioplateau ## Exporter, Prometheus, Alertmanager and a receiver on this machine
	@$(BIN)/python deploy/stack/stack.py

packages: $(BIN)/ioplateau ## deb, rpm, wheel and single file, into dist/
	@deploy/packages/build.sh

docs: $(BIN)/ioplateau ## Write the generated pages, dashboards and alerts again
	@$(BIN)/python -m ioplateau.tell.reference > docs/metrics.md
	@$(BIN)/python dashboards/generate.py
	@$(BIN)/python alerts/generate.py

pictures: ## Draw the pictures of docs/ again (minutes; Debian's prometheus)
	@UV_PROJECT_ENVIRONMENT=.cache/docs uv run --frozen --quiet --group docs python docs/pictures.py
	@UV_PROJECT_ENVIRONMENT=.cache/docs uv run --frozen --quiet --group docs python docs/board_pictures.py

clean:
	rm -rf .venv .cache dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
