# Settings of the build that tests are made with; sourced by the scripts that make or use it, and for single tests.
# shellcheck shell=bash
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin:/usr/sbin:/sbin

# Clippy's driver is the compiler with more lints: one build serves the lints,
# the tests and the fuzzer. In a folder of its own, because cargo does not know
# what another compiler built there.
# A shell that has sourced this may call a script that does so too.
[ "${RUSTC_WRAPPER:-}" = clippy-driver ] || CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/test
export RUSTC_WRAPPER=clippy-driver CARGO_TARGET_DIR

# The profile of development: Cargo.toml names the few crates that are optimised, and why; optimising
# the rest costs more than it saves.
# A test that fails says its line without debug information.
export CARGO_PROFILE_DEV_DEBUG=${CARGO_PROFILE_DEV_DEBUG:-0}
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}

# Lines of a crate's folder and a program that tests it.
programs() {
    cargo test --locked --workspace --no-run --message-format json 2>/dev/null |
        sed -n 's|.*"manifest_path":"\([^"]*\)/Cargo.toml".*"test":true},"features".*"executable":"\([^"]*\)".*|\1 \2|p'
}
