#!/usr/bin/env bash
# Gives every target as many inputs as are asked for, and writes a table.
#   fuzz/campaign.sh [INPUTS [TARGET]...]     10,000,000 each unless told otherwise
# What has been done stands in corpus/.campaign, so that it goes on where it was
# stopped; a target whose program has changed begins anew. At the lowest priority,
# one process. Ends with 1 after a crash, whose input is in artifacts/.
set -euo pipefail
cd "$(dirname "$0")"
wanted=${1:-10000000}
shift || true
# Inputs of one process: what is lost when it is stopped.
step=${STEP:-1000000}
tally=$PWD/corpus/.campaign
mkdir -p "$tally"

# BUILT=DIRECTORY takes the programs from there, and builds none.
built=${BUILT:-}
if [[ -z $built ]]; then
    cargo +nightly fuzz build --sanitizer none
    built=${CARGO_TARGET_DIR:-target}/$(rustc +nightly -vV | sed -n 's/^host: //p')/release
fi
targets=("$@")
[[ $# -gt 0 ]] || mapfile -t targets < <(cargo +nightly fuzz list)

# The number of what has been done: sum FIELD TARGET.
sum() {
    awk -v field="$1" '{ sum += $field } END { print sum + 0 }' "$tally/$2.tsv"
}

stat_of() {
    sed -n "s/^stat::$1: *//p" "$tally/log"
}

# The longest input: what makes a reader go wrong is short, and short inputs are
# many. Those of JSON have to have room for a whole trial.
longest() {
    case $1 in
    control | run | trials | analysis) echo 2048 ;;
    *) echo 1024 ;;
    esac
}

crashed=0
for target in "${targets[@]}"; do
    program=$tally/$target
    # A copy: another build must not change what is running.
    if ! cmp -s "$built/$target" "$program"; then
        cp "$built/$target" "$program"
        : >"$tally/$target.tsv"
    fi
    touch "$tally/$target.tsv"
    mkdir -p "corpus/$target" "artifacts/$target"
    while (( $(sum 1 "$target") < wanted && $(sum 2 "$target") == 0 )); do
        left=$(( wanted - $(sum 1 "$target") ))
        begun=$(date +%s.%N)
        broken=0
        nice -n 19 "$program" "corpus/$target" "seeds/$target" -runs=$(( left < step ? left : step )) -artifact_prefix="artifacts/$target/" \
            -max_len="$(longest "$target")" -rss_limit_mb=512 -timeout=10 -verbosity=0 -print_final_stats=1 2>"$tally/log" || broken=1
        inputs=$(stat_of number_of_executed_units)
        if (( broken )); then
            cat "$tally/log" >&2
            # Stopped from outside, it left no input behind: nothing is counted.
            grep -q 'Test unit written' "$tally/log" || exit 1
            crashed=1
        fi
        seconds=$(awk -v begun="$begun" -v ended="$(date +%s.%N)" 'BEGIN { print ended - begun }')
        printf '%s\t%s\t%s\t%s\t%s\n' "${inputs:-0}" "$broken" "$(stat_of peak_rss_mb)" "$seconds" "$(longest "$target")" >>"$tally/$target.tsv"
    done
    echo "$target: $(sum 1 "$target") inputs, $(sum 2 "$target") crashes, $(sum 4 "$target") s" >&2
done

table=../bench/results/fuzz-$(date -u +%F).md
{
    echo "# Fuzzing, $(date -u +%F)"
    echo
    echo "\`fuzz/campaign.sh $wanted\`, libFuzzer of $(rustc +nightly --version), Linux $(uname -r | cut -d- -f1), one process, overflow checks and debug assertions on."
    echo "An input has 512 MiB of memory and 10 s; what goes beyond counts as a crash."
    echo
    echo "| target | inputs | longest input, B | crashes | peak RSS, MiB | elapsed, s |"
    echo "|---|---:|---:|---:|---:|---:|"
    for file in "$tally"/*.tsv; do
        awk -v target="$(basename "$file" .tsv)" '{ inputs += $1; crashes += $2; if ($3 > rss) rss = $3; if ($5 > longest) longest = $5; seconds += $4 }
            END { printf "| %s | %d | %d | %d | %d | %.0f |\n", target, inputs, longest, crashes, rss, seconds }' "$file"
    done
} >"$table"
echo "$table"
exit "$crashed"
