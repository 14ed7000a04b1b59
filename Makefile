# Two commands for everybody: `make run` and `make test`. The rest is for whoever changes things.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: run demo check coverage test test-units test-ansible test-service test-alone test-nfs test-guests test-live test-waiting test-alerts guest-image bench soak score stack packages lint types contracts docs golden pictures catalogue-check clean help

BIN := .venv/bin
# Where tools/environment.sh puts uv on a machine that has none.
export PATH := $(PATH):$(CURDIR)/.cache/uv/bin
PORT ?= 10049
# Images of containers switch Python's compiled files off: each of the thousands of processes of
# `make test` would compile all it imports again.
unexport PYTHONDONTWRITEBYTECODE

help: ## What there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

NATIVE := $(addprefix exporter/ioplateau/,measure/_abi.h measure/_scan.c tell/_samples.c)

$(BIN)/ioplateau: pyproject.toml uv.lock $(NATIVE)
	@./tools/environment.sh
	@touch $@

run: $(BIN)/ioplateau ## Start the daemon on this machine
	@echo "ioplateau watches this machine: http://localhost:$(PORT)/ (metrics at /metrics, Ctrl-C ends it)"
	@exec $(BIN)/ioplateau serve --web.listen-address=:$(PORT)

demo: $(BIN)/ioplateau ## Watch a really throttled disk being flagged (root; a minute)
	@$(BIN)/python tests/helpers/demo.py

lint: $(BIN)/ioplateau
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(BIN)/ioplateau
	@$(BIN)/mypy

contracts: $(BIN)/ioplateau
	@$(BIN)/lint-imports --no-cache

# `make check` runs the tests of these folders side by side, a process each, and those of all others in one
# more: workers that hand each other every result take a fifth longer. Those of UNREAD are not even read.
PARTS := judge stories run measure engine
UNREAD := live alerts guests
CHECKS := check-others $(addprefix check-,$(PARTS)) lint types contracts # the longest first

check: $(BIN)/ioplateau ## Before each commit: lint, types, contracts, unit and story tests
	@$(MAKE) --no-print-directory --jobs=$(shell nproc) --keep-going --output-sync=target $(CHECKS)

check-others: READ := tests $(patsubst %,--ignore=tests/%,$(PARTS) $(UNREAD))
check-%: READ = tests/$*
check-%: $(BIN)/ioplateau
	@$(BIN)/pytest -o cache_dir=.cache/pytest-$@ --hypothesis-profile=quick -m "not live and not guest and not slow" $(READ)

# What fails in `make test` is run again at its end by itself, up to two times, each in a new process with
# devices and daemons of its own: a machine that stands still for some seconds is no fault of ours, and
# a fault of ours fails each time. Every run is printed whole. Nothing else runs anything twice.
# $(call tests,OPTIONS,MARKERS,NICENESS)
define tests
	@mkdir -p .cache; rm -f .cache/failed-$@; \
	nice -n $(or $(3),0) $(BIN)/pytest -o cache_dir=.cache/pytest-$@ --durations=15 --durations-min=5 $(1) -m "$(2)"; result=$$?; \
	if [ $$result -eq 1 ] && [ -n "$(AGAIN)" ]; then touch .cache/failed-$@; else exit $$result; fi
endef

test: lint types contracts ## Everything, with the real kernel, real peers and guests (root)
	@$(MAKE) --no-print-directory AGAIN=later --jobs=4 --keep-going --output-sync=target test-units test-ansible test-service test-alone
	@$(MAKE) --no-print-directory AGAIN=later --jobs=5 --keep-going --output-sync=target test-nfs test-guests test-live test-waiting test-alerts
	@for stage in test-units test-ansible test-service test-alone test-nfs test-guests test-live test-waiting test-alerts; do \
		result=0; \
		for again in 1 2; do \
			[ -e .cache/failed-$$stage ] || break; \
			echo "$$stage: what failed is run again"; \
			$(BIN)/pytest -o cache_dir=.cache/pytest-$$stage --last-failed --last-failed-no-failures=none -v; \
			result=$$?; [ $$result -ne 0 ] || rm .cache/failed-$$stage; \
		done; \
		[ $$result -eq 0 ] || exit $$result; \
	done

# These three step back: test-alone mostly waits, and what it measures is not to wait for them. The unit tests are
# one process: with the two guests beside it there is no CPU for another.
test-units: $(BIN)/ioplateau
	$(call tests,,not live and not guest and not alone,19)

ANSIBLE := tests/live/test_ansible.py
SERVICE := tests/live/test_service.py

test-ansible: $(BIN)/ioplateau guest-image
	$(call tests,$(ANSIBLE),guest,19)

test-service: $(BIN)/ioplateau guest-image
	$(call tests,$(SERVICE),guest,19)

coverage: $(BIN)/ioplateau ## Which lines the unit and story tests do not reach
	@$(BIN)/pytest -n auto --cov --cov-report=term:skip-covered -m "not live and not guest and not slow"

# After the image, whose building is no load to measure beside.
test-alone: $(BIN)/ioplateau guest-image
	$(call tests,,alone)

# Side by side: NFS's guests, which go before all else since rates are what they are about; a guest's disks and
# the rules' stories, which can wait; and the rest. Each stage prints when it is done.
NFS := tests/live/nfs

test-nfs: $(BIN)/ioplateau guest-image ## Real NFS clients and servers in QEMU guests
	$(call tests,$(NFS),guest)

test-guests: $(BIN)/ioplateau guest-image
	$(call tests,--ignore=$(NFS) --ignore=$(ANSIBLE) --ignore=$(SERVICE),guest,5)

test-live: $(BIN)/ioplateau
	$(call tests,$(patsubst %,--ignore=%,$(ALERTS) $(WAITING)),live and not guest and not alone)

# What answers late, ends or comes anew is waited for, for minutes in all, and takes hardly any CPU time.
WAITING := tests/live/test_cloud.py tests/live/test_tls.py tests/web/test_tls.py

test-waiting: $(BIN)/ioplateau
	$(call tests,$(WAITING),live and not guest and not alone)

# promtool only computes, and may take its time; what test-live looks at must come in time.
ALERTS := tests/alerts

test-alerts: $(BIN)/ioplateau
	$(call tests,$(ALERTS),live,5)

# Before any test, whose time must not depend on whether this machine has built it already.
guest-image: ## The Debian that guests boot, built once on a machine (root; two minutes)
	@tests/guests/build.sh >/dev/null

bench: $(BIN)/ioplateau ## Cost against node_exporter and against merely reading the same bytes
	@$(BIN)/python bench/cost.py

soak: $(BIN)/ioplateau ## The daemon for MINUTES (20) while disks, mounts, groups and clients come and go (root)
	@$(BIN)/python bench/soak.py --minutes $(or $(MINUTES),20) --write docs/soak.md

score: $(BIN)/ioplateau ## Score the judge on stories and recordings, against floors that only rise
	@$(BIN)/python bench/score.py

stack: $(BIN)/ioplateau ## Exporter, Prometheus, Alertmanager and a receiver on this machine, with FLAGS
	@$(BIN)/python deploy/stack/stack.py $(FLAGS)

packages: $(BIN)/ioplateau ## deb, rpm, wheel and single file, into dist/
	@deploy/packages/build.sh

docs: $(BIN)/ioplateau ## Write the generated pages and dashboards again
	@$(BIN)/python -m ioplateau.tell.reference > docs/metrics.md
	@$(BIN)/python tools/manual.py deploy/packages
	@$(BIN)/python dashboards/generate.py

pictures: $(BIN)/ioplateau ## Draw the pictures of docs/ again: plots of recordings, the page (root; minutes)
	@UV_PROJECT_ENVIRONMENT=.cache/docs uv run --frozen --quiet --group docs python docs/pictures.py
	@$(BIN)/python docs/page_pictures.py

golden: $(BIN)/ioplateau ## Write the golden files of recorded machines again; read the diff
	@$(BIN)/python tests/golden/made.py

catalogue-check: $(BIN)/ioplateau ## Which figures of the catalogue are older than a year, which families are missing
	@$(BIN)/python data/check_catalogue.py || [ $$? = 141 ] # which is `| head`

clean:
	rm -rf .venv .cache dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
