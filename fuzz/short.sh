#!/usr/bin/env bash
# Fuzzes every target for a short while: with libFuzzer where there are a
# nightly compiler and cargo-fuzz, else with seeds that are changed at random.
#   fuzz/short.sh [RUNS [SECONDS]]    for each target, whichever comes first; a target
#                                     that saw too few inputs fails
# FUZZ=smoke asks for the second way.
set -euo pipefail
cd "$(dirname "$0")"
runs=${1:-20000}
seconds=${2:-10}
# Fewest inputs of a target that say anything, as in examples/smoke.rs.
least=500

if [[ ${FUZZ:-} != smoke ]] && cargo +nightly fuzz --version >/dev/null 2>&1; then
    # Nothing here is unsafe: overflow checks and memory's limit do without a sanitizer.
    cargo +nightly fuzz build --sanitizer none
    for target in $(cargo +nightly fuzz list); do
        # The first folder takes what is found, so that the seeds stay small.
        mkdir -p "corpus/$target"
        log=$(mktemp)
        if ! cargo +nightly fuzz run --sanitizer none "$target" "corpus/$target" "seeds/$target" -- \
            -runs="$runs" -max_total_time="$seconds" -max_len=16384 -rss_limit_mb=512 -timeout=10 -verbosity=0 \
            -print_final_stats=1 2>"$log"; then
            cat "$log" >&2
            exit 1
        fi
        tried=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        rm "$log"
        if [ "${tried:-0}" -lt $((runs < least ? runs : least)) ]; then
            echo "$target: ${tried:-0} inputs, which says nothing" >&2
            exit 1
        fi
        echo "$target: $tried inputs, no crash"
    done
else
    # In the workspace's own folder, where most of it is built already.
    export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../target}
    ulimit -v 2097152
    cargo build --locked --quiet --no-default-features --example smoke
    # Each has a thread: two share the targets.
    running=()
    for share in 1/2 2/2; do
        "$CARGO_TARGET_DIR/debug/examples/smoke" "$runs" "${2:-5}" "$share" &
        running+=($!)
    done
    status=0
    for process in "${running[@]}"; do
        wait "$process" || status=1
    done
    exit $status
fi
