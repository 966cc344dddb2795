# `make study` and `make test` are all that is needed; `make help` names the rest.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

# Where cargo builds, wherever the user has told it to.
TARGET = $(shell cargo metadata --format-version 1 --no-deps --offline 2>/dev/null | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')

.PHONY: help study test expected test-services test-guests test-large lines bench endure build install man book audit release deb check-deb figures

help: ## Name the targets
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

study: ## Install what is missing, build, run the study `quick`, say where its report is
	@scripts/setup.sh study
	@cargo build --locked --release --package nettoll
	@$(TARGET)/release/nettoll study quick

test: ## Install what is missing, then check format and lints and run every test
	@scripts/setup.sh test
	@scripts/test.sh

expected: ## Write what tests expect of output and docs/ again, as it is now, and list the files that changed
	@scripts/setup.sh test
	@scripts/expected.sh

test-services: ## Test with a real sshd, a Slurm of four nodes and attached servers, unpacked below the target directory, runtimes as ends, and advice against mended servers
	@scripts/setup.sh test
	@scripts/services.sh

test-guests: ## Boot guest kernels under QEMU, both from packages in a cache, and test the microscope
	@scripts/setup.sh test
	@scripts/guests.sh

test-large: ## Boot a guest of 128 CPUs (CPUS=64: of 64), and test nettoll top there while CPUs go and come and the clock is set
	@scripts/setup.sh test
	@scripts/guests.sh large

lines: ## Count the lines of code outside tests, by crate
	@scripts/lines.sh

bench: ## Install what is missing, then compare nettoll with a bare C loop and with iperf3
	@scripts/setup.sh bench
	@cargo build --locked --release --package nettoll --package nettoll-bench
	@scripts/loops.sh $(TARGET)
	@NETTOLL_TEST_SERVICES=$(TARGET)/test/services $(TARGET)/release/nettoll-bench --target $(TARGET) $(BENCH)

endure: ## Kill every kind of process 100 times, run 20,000 trials back to back, besiege an agent, start 5,000 processes a second under top
	@scripts/setup.sh bench
	@cargo build --locked --release --package nettoll --package nettoll-bench
	@scripts/loops.sh $(TARGET)
	@$(TARGET)/release/nettoll-bench --only endure --target $(TARGET) $(BENCH)

build: ## Build the release program
	@scripts/setup.sh study
	@cargo build --locked --release --package nettoll

man: build ## Write man pages and shell completions below the target directory
	@scripts/generate.sh $(TARGET)/release/nettoll $(TARGET)/release/generated

book: ## Make a book with search of docs/, with mdBook, below the target directory
	@scripts/setup.sh book
	@mdbook build --dest-dir $(TARGET)/book

audit: ## Check licences, sources and known vulnerabilities of the dependencies, with cargo-deny
	@scripts/setup.sh audit
	@cargo deny --all-features check
	@cargo deny --manifest-path fuzz/Cargo.toml check bans sources

release: ## Build an archive with programs, man pages, completions, systemd units, for hosts with glibc 2.17 or later
	@scripts/setup.sh release $(TARGET)
	@scripts/release.sh $(TARGET) tar

deb: ## Build a Debian package of the same
	@scripts/setup.sh deb $(TARGET)
	@scripts/release.sh $(TARGET) deb

check-deb: deb ## Check the Debian package with lintian; install, use and remove it in bare roots of Debian 12 and 13
	@scripts/setup.sh roots
	@lintian --allow-root --fail-on error,warning "$$(ls -t $(TARGET)/dist/nettoll_*.deb | head -1)"
	@scripts/roots.sh "$$(ls -t $(TARGET)/dist/nettoll_*.deb | head -1)"

figures: build ## Run the studies whose output README.md and docs/ show, and list the lines that differ
	@scripts/figures.sh $(TARGET)/release/nettoll

install: ## Build nettoll and install it where cargo installs programs
	@scripts/setup.sh study
	@cargo install --locked --path cli
