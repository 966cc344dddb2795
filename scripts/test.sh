#!/usr/bin/env bash
# Format, lints, what keeps the program lean, every test of the workspace and a short fuzz, each
# run whatever became of those before it. Ends with a count and the names of skipped tests.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/build.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log
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

build() {
    {
        cargo build --locked --workspace --all-targets &&
            cargo build --locked --manifest-path fuzz/Cargo.toml --no-default-features --example smoke
    } 2>&1 | tee "$scratch/build" || return 1
    # Of a crate of ours, not of a network that cargo had to ask twice.
    ! grep -qE '^warning: `.*generated [0-9]+ warning' "$scratch/build"
}

# Output is not captured: a test that skips itself says so there and nowhere else.
# One program after the other, since some measure.
run_programs() { # reads lines of programs
    local folder program begun bad=0
    while read -r folder program; do
        echo "     Running ${program##*/} of ${folder##*/}"
        begun=$SECONDS
        (cd "$folder" && CARGO_MANIFEST_DIR=$folder "$program" --nocapture </dev/null 2>&1) || bad=1
        program=${program##*/}
        printf 'RAN: %6d s %s of %s\n' $((SECONDS - begun)) "${program%-*}" "${folder##*/}"
    done
    return $bad
}

# Targets of the workspace that are tests, each of which is a program.
targets() {
    cargo metadata --locked --no-deps --format-version 1 | grep -o '"test":true' | wc -l
}

run_tests() {
    local found wanted
    programs >"$scratch/programs"
    found=$(wc -l <"$scratch/programs") wanted=$(targets)
    if [ "$found" -lt "$wanted" ] || [ "$found" = 0 ]; then
        echo "cargo names $wanted targets that are tests, and built $found programs that could be found"
        return 1
    fi
    run_programs <"$scratch/programs" | tee "$log"
}

lean() {
    scripts/lean.sh "$CARGO_TARGET_DIR/debug/nettoll" "$(ls -t "$CARGO_TARGET_DIR"/debug/deps/libengine-*.rlib | head -1)"
}

touch "$log"
step format cargo fmt --all --check
step build build
step lean lean
step tests run_tests
step fuzz env FUZZ=smoke fuzz/short.sh

# "test result: ok. 12 passed; 0 failed; 1 ignored; ..." once for each program.
count() { sed -n "s/^test result: .* \([0-9]*\) $1;.*/\1/p" "$log" | awk '{ sum += $1 } END { print sum + 0 }'; }
mapfile -t skipped < <(
    # Not from the line's start: another test may have printed there.
    grep -o 'SKIPPED: .*' "$log" || true
    sed -n 's/^test \(.*\) \.\.\. ignored\(, .*\)\{0,1\}$/SKIPPED: \1: ignored/p' "$log"
)
mapfile -t repeated < <(grep -o 'REPEATED: .*' "$log" | sort | uniq -c || true)
ran=$(count passed)
bad=$(count failed)
# The runner counts a test that skipped itself among those that passed.
passed=$((ran - ${#skipped[@]} + $(count ignored)))

# The slowest, by the seconds that a line begins with.
slowest() { # MARK
    sed -n "s/^$1: *//p" "$log" | sort -rn | sed -n '1,10s/^/  /p'
}

echo
if [ "$ran" -gt 0 ]; then
    echo "The slowest ten programs, and the slowest ten claims:"
    slowest RAN
    slowest TOOK
fi
if [ ${#skipped[@]} -gt 0 ]; then
    echo "Skipped, with the reason:"
    printf '  %s\n' "${skipped[@]#SKIPPED: }"
fi
if [ ${#repeated[@]} -gt 0 ]; then
    echo "Failed at first and were repeated, with the number of attempts that failed (of at most 3):"
    printf '  %s\n' "${repeated[@]/REPEATED: /}"
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
