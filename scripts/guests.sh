#!/usr/bin/env bash
# Usage: guests.sh [TEST]
#
# Tests the microscope with guests that are booted under QEMU, and nettoll in guests of old and
# new kernels (guests) or of many CPUs (large), with the libraries of this host. Kernels and emulator
# are fetched as packages into the microscope's cache, where nothing is installed; what cannot be had
# here is skipped, named and counted. `make test` needs none.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/build.sh

test=${1:-guests}
# Some four times as long as on two CPUs: a guest that hangs fails.
LIMIT=${LIMIT:-1200}

# The whole workspace, as `make test` builds it: a single package has other features, and would be built again.
cargo build --locked --workspace --all-targets
cargo test --locked --workspace --no-run --test "$test"
export NETTOLL=$CARGO_TARGET_DIR/debug/nettoll
begun=$SECONDS
status=0
timeout "$LIMIT" cargo test --quiet --locked --workspace --test "$test" </dev/null || status=$?
if [ "$status" = 124 ]; then
    echo "FAILED: $test: not done within $LIMIT s (LIMIT=SECONDS allows more)"
    exit 1
fi
echo "$test: done in $((SECONDS - begun)) s"
exit "$status"
