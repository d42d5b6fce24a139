# Every task of this project. `make help` lists them from the comments after the target names.

TARGET := $(or $(CARGO_TARGET_DIR),target)
PYTHON := $(TARGET)/venv/bin/python
TAURI := ui/node_modules/.bin/tauri
UI_SOURCES := $(shell find ui/src ui/public ui/index.html ui/package.json ui/package-lock.json ui/vite.config.ts -type f 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help setup setup-headless setup-test run dev headless test simulate bench bench-bunqueue screenshots build package

help: ## lists the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## installs what is missing to build and run (system packages by name, packages of the front end)
	@scripts/setup

setup-test: ## the same, and what the tests need: a browser, a virtual display, the official clients
	@scripts/setup test

# Unoptimised on purpose: the first build takes two minutes instead of five, a changed line three seconds, and the window
# is as quick. The broker then does some 20,000 adds a second; `make build` gives the one for measuring.
run: setup ui/dist/index.html ## builds and opens the window, on a broker at 127.0.0.1:6789
	cargo run --bin onceover $(if $(ARGS),-- $(ARGS))

setup-headless:
	@scripts/setup headless

headless: setup-headless ui/dist/index.html ## builds and runs the broker without a window; its page is at the printed address
	cargo run --package onceover-headless --bin onceoverd $(if $(ARGS),-- $(ARGS))

dev: setup ## opens the window with a front end that reloads while you edit
	$(TAURI) dev

test: setup-test ## everything that has to be green; STAGES="kill window" runs only these, in the order of tests/run.py
	@$(PYTHON) tests/run.py $(STAGES)

simulate: ## worlds with crashes, power cuts and failing commits around the broker's core; MINUTES=10, SEED=1
	cargo run --quiet --release --package onceover-sim -- --minutes $(or $(MINUTES),10) --seed $(or $(SEED),1)

BENCH := cargo run --quiet --release --package onceover-bench --
SDKS := tests/sdk/npm/node_modules
BUNQUEUE := TCP_PORT={port} HTTP_PORT={http} BUNQUEUE_DATA_PATH={data}/bunqueue.db RATE_LIMIT_MAX_REQUESTS=1000000000 \
	$(SDKS)/.bin/bun $(SDKS)/bunqueue/dist/cli/index.js start

bench: setup-headless ui/dist/index.html ## jobs per second and how long answers take; ARGS="push_pipe --seconds 5", ARGS=--help
	cargo build --quiet --release --package onceover-headless --bin onceoverd
	@$(BENCH) $(ARGS)

bench-bunqueue: setup-test ui/dist/index.html ## the same beside bunqueue from npm, in turns, with the ratios and their goals
	cargo build --quiet --release --package onceover-headless --bin onceoverd
	@$(BENCH) $(ARGS) --names onceover,bunqueue --against "$(BUNQUEUE)" --markdown $(TARGET)/speed.md

soak: setup-test ## hours of mixed traffic: flat memory, bounded files, no leaked handle; MINUTES=60
	cargo build --quiet --package onceover-headless --bin onceoverd
	@$(PYTHON) tests/soak/soak.py --minutes $(or $(MINUTES),60) --kept 100000 --every 5

audit: setup-test ## asks the network for new holes in what others wrote: RustSec, then the npm registry
	rm -rf $(TARGET)/advisory-db && git clone --quiet --depth 1 https://github.com/rustsec/advisory-db $(TARGET)/advisory-db
	@$(PYTHON) tests/audit/renew.py $(TARGET)/advisory-db
	@$(PYTHON) tests/audit/test_audit.py
	npm --prefix ui audit --omit=dev

screenshots: setup-test ui/dist/index.html ## pictures of every screen, in target/screenshots and docs
	cargo build --quiet --package onceover-headless --bin onceoverd
	@$(PYTHON) tests/screenshots.py

build: setup ui/dist/index.html ## optimised programs in target/release: onceover and onceoverd
	cargo build --release --workspace --bins

package: setup ## a Debian package of the window program, in target/release/bundle/deb
	$(TAURI) build --bundles deb

# The window program carries the built front end inside, so this comes before cargo.
ui/dist/index.html: $(UI_SOURCES)
	@npm --prefix ui run --silent build
	@touch $@
