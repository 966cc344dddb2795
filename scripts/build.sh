# Settings of the build that tests are made with; sourced by the scripts that make or use it.
# shellcheck shell=bash
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin:/usr/sbin:/sbin

# Clippy's driver is the compiler with more lints: one build serves the lints,
# the tests and the fuzzer. In a folder of its own, because cargo does not know
# what another compiler built there.
export RUSTC_WRAPPER=clippy-driver
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/test
export CARGO_TARGET_DIR

# The profile of development: only the statistics, which are simulated by the
# thousand, are optimised (Cargo.toml); optimising the rest costs more than it saves.
# A test that fails says its line without debug information.
export CARGO_PROFILE_DEV_DEBUG=${CARGO_PROFILE_DEV_DEBUG:-0}
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}
