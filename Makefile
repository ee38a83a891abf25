# Everything a newcomer needs: `make run` and `make test`. Both install what is missing.
#
# Cargo is always called for the whole workspace: another selection would resolve other
# features and compile the dependencies again (a tidy test holds this).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

RUST_MIN := 1.95.0
NODE_MIN := 20.19.0
GIT_MIN := 2.39.0

# What the window is built with, and what the tests drive it with (Debian and Ubuntu names).
BUILD_PACKAGES := build-essential pkg-config libwebkit2gtk-4.1-dev librsvg2-dev
TEST_PACKAGES := xvfb openbox xdotool wmctrl dbus webkit2gtk-driver python3-gi gir1.2-gtk-3.0 chromium util-linux procps
ICON_PACKAGES := librsvg2-bin

export CARGO_TARGET_DIR ?= $(CURDIR)/target
BIN := $(CARGO_TARGET_DIR)/debug
SAMPLE := samples/login-rate-limit.patch

.PHONY: help run test bench lint fmt icons screenshots tools build-packages test-packages ui build test-rust test-ui clean

help:
	@echo 'make run          set up, then open the app with a sample review to try (without a display: review it here)'
	@echo 'make test         set up, then every check there is'
	@echo 'make bench        measure against other tools, as ratios'
	@echo 'make lint         formatting, lints, types'
	@echo 'make fmt          format'
	@echo 'make icons        render icons/ from its SVG sources'
	@echo 'make screenshots  the window and every state of the UI, into artifacts/'

run: tools build-packages ui build
	@if [ -n "$${DISPLAY:-}$${WAYLAND_DISPLAY:-}" ]; then \
	  exec $(BIN)/sidetrack-desktop; \
	else \
	  echo 'No display here, so the sample is reviewed on the command line.'; \
	  exec $(BIN)/sidetrack review $(SAMPLE) --wait; \
	fi

test: tools build-packages test-packages ui
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(MAKE) --no-print-directory test-rust test-ui

# Binaries first: the suites that cross processes start them from the target folder.
test-rust:
	cargo build --workspace --all-targets --locked
	cargo test --workspace --locked --no-fail-fast
	SIDETRACK_BENCH_FILES=300 SIDETRACK_BENCH_ROUNDS=1 SIDETRACK_BENCH_SUBMITS=20 cargo test --workspace --locked --bench peers

test-ui: ui
	npm --prefix ui run check
	npm --prefix ui run lint
	npm --prefix ui run test
	npm --prefix ui run test:browser

bench: tools build-packages ui
	cargo build --workspace --release --locked
	tests/bench/run.sh

lint: tools build-packages ui
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	npm --prefix ui run check
	npm --prefix ui run lint

fmt:
	cargo fmt --all
	npm --prefix ui run format

icons:
	@tests/setup/packages.sh $(ICON_PACKAGES)
	node icons/render.mjs

screenshots: tools build-packages test-packages ui build
	npm --prefix ui run test:browser
	cargo test --workspace --locked --test desktop
	@echo 'Look into artifacts/.'

build:
	cargo build --workspace --all-targets --locked

ui: ui/node_modules/.installed
	npm --prefix ui run --silent build

ui/node_modules/.installed: ui/package-lock.json ui/package.json
	npm --prefix ui ci --no-audit --no-fund
	touch $@

tools:
	@tests/setup/tools.sh $(RUST_MIN) $(NODE_MIN) $(GIT_MIN)

build-packages:
	@tests/setup/packages.sh $(BUILD_PACKAGES)

test-packages:
	@tests/setup/packages.sh $(TEST_PACKAGES)

clean:
	rm -rf $(CARGO_TARGET_DIR) ui/dist ui/node_modules artifacts
