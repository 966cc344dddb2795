#!/usr/bin/env bash
# Format, lints, every test of the workspace and a short fuzz, each run whatever
# became of those before it. Ends with a count and the names of skipped tests.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin:/usr/sbin:/sbin

# The profile of development: only the statistics, which are simulated by the
# thousand, are optimised (Cargo.toml); optimising the rest costs more than it saves.
export CARGO_PROFILE_DEV_DEBUG=${CARGO_PROFILE_DEV_DEBUG:-line-tables-only}
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=()

step() { # NAME COMMAND...
    local name=$1 begun=$SECONDS
    shift
    echo "== $name"
    if "$@"; then
        echo "== $name: done in $((SECONDS - begun)) s"
    else
        failed+=("$name")
        echo "== $name: FAILED after $((SECONDS - begun)) s"
    fi
}

# Output is not captured: a test that skips itself says so there and nowhere else.
run_tests() {
    cargo test --locked --workspace --no-fail-fast -- --nocapture 2>&1 | tee "$log"
}

step format cargo fmt --all --check
step clippy cargo clippy --locked --workspace --all-targets -- -D warnings
step tests run_tests
if [ -x fuzz/short.sh ]; then
    step fuzz env FUZZ=smoke fuzz/short.sh
fi

# "test result: ok. 12 passed; 0 failed; 1 ignored; ..." once for each program.
count() { sed -n "s/^test result: .* \([0-9]*\) $1;.*/\1/p" "$log" | awk '{ sum += $1 } END { print sum + 0 }'; }
mapfile -t skipped < <(
    # Not from the line's start: another test may have printed there.
    grep -o 'SKIPPED: .*' "$log" || true
    sed -n 's/^test \(.*\) \.\.\. ignored/SKIPPED: \1: ignored/p' "$log"
)
ran=$(count passed)
bad=$(count failed)
# The runner counts a test that skipped itself among those that passed.
passed=$((ran - ${#skipped[@]} + $(count ignored)))

echo
if [ ${#skipped[@]} -gt 0 ]; then
    echo "Skipped, with the reason:"
    printf '  %s\n' "${skipped[@]#SKIPPED: }"
fi
if [ ${#failed[@]} -gt 0 ]; then
    echo "Failed: ${failed[*]}"
    sed -n 's/^test \(.*\) \.\.\. FAILED$/  \1/p' "$log"
fi
if [ "$ran" = 0 ] && [ "$bad" = 0 ]; then
    echo "No test ran: the message of the compiler is above."
fi
echo "$passed passed, $bad failed, ${#skipped[@]} skipped"
[ ${#failed[@]} -eq 0 ]
