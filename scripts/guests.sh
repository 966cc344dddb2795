#!/usr/bin/env bash
# Usage: guests.sh [TEST]
#
# Tests the microscope with guests that are booted under QEMU, and a static nettoll in
# guests of old and new kernels (guests) or of many CPUs (large). Kernels and emulator are fetched as packages into the
# microscope's cache, where nothing is installed; what cannot be had here is skipped,
# named and counted. `make test` needs none.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/build.sh

test=${1:-guests}
# Some four times as long as on two CPUs: a guest that hangs fails.
LIMIT=${LIMIT:-1200}

# A guest has no libraries. With glibc, which is static as well for a program that looks up
# no names; musl has a loop in place of sendmmsg(2). Some optimisation: the guest's
# processor is emulated.
target=$(uname -m)-unknown-linux-gnu
static() { # COMMAND ARGUMENT...
    RUSTFLAGS="-C target-feature=+crt-static" CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_STRIP=debuginfo \
        "$@" --target "$target"
}

static cargo build --locked --package nettoll
export NETTOLL_STATIC=$CARGO_TARGET_DIR/$target/debug/nettoll
# The large one goes into the guest itself.
run=()
[ "$test" != large ] || run=(static)
tested=(--locked --package nettoll-microscope --test "$test")
"${run[@]}" cargo build "${tested[@]}"
begun=$SECONDS
status=0
"${run[@]}" timeout "$LIMIT" cargo test --quiet "${tested[@]}" </dev/null || status=$?
if [ "$status" = 124 ]; then
    echo "FAILED: $test: not done within $LIMIT s (LIMIT=SECONDS allows more)"
    exit 1
fi
echo "$test: done in $((SECONDS - begun)) s"
exit "$status"
