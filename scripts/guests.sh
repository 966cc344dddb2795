#!/usr/bin/env bash
# Tests the microscope with guests that are booted under QEMU, and a static nettoll in
# guests of old and new kernels. Kernels and emulator are fetched as packages into the
# microscope's cache, where nothing is installed; what cannot be had here is skipped,
# named and counted. `make test` needs none.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/build.sh

# Boots of a few seconds each; a machine on which they take longer is not held up for it.
LIMIT=${LIMIT:-600}

# A guest has no libraries. With glibc, which is static as well for a program that looks up
# no names; musl has a loop in place of sendmmsg(2). Some optimisation: the guest's
# processor is emulated.
build_static() {
    local target
    target=$(uname -m)-unknown-linux-gnu
    RUSTFLAGS="-C target-feature=+crt-static" CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_STRIP=debuginfo \
        cargo build --locked --package nettoll --target "$target"
    NETTOLL_STATIC=$CARGO_TARGET_DIR/$target/debug/nettoll
    export NETTOLL_STATIC
}

build_static
cargo build --locked --package nettoll-microscope --test guests
begun=$SECONDS
status=0
timeout "$LIMIT" cargo test --locked --quiet --package nettoll-microscope --test guests </dev/null || status=$?
if [ "$status" = 124 ]; then
    echo "SKIPPED: guests: not done within $LIMIT s on this machine"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
echo "guests: done in $((SECONDS - begun)) s"
exit "$status"
