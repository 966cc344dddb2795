#!/usr/bin/env bash
# Runs the studies whose output README.md and docs/ show, and lists the lines of the pages with words
# that the output here lacks, and all lines that differ.
#
#   scripts/figures.sh NETTOLL
#
# A sample belongs to the block of one `nettoll study` command before it. Samples without one are
# listed by name. Fails where a command fails, not where a figure differs: figures are of a machine.
set -euo pipefail
if [ $# != 1 ]; then
    echo "usage: scripts/figures.sh NETTOLL" >&2
    exit 2
fi
program=$(realpath "$1")
cd "$(dirname "$0")/.."
# Seconds that a study may take.
LIMIT=600

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$program" "$scratch/bin/nettoll"
status=0

# Writes each sample to a file SAMPLES/PAGE:LINE, its command, if any, to the same name with .command.
mkdir "$scratch/samples"
git ls-files README.md 'docs/*.md' | grep -v '^docs/examples' | while read -r page; do
    awk -v to="$scratch/samples/${page//\//%}" '
        /^```/ && !inside { inside = 1; language = substr($0, 4); body = ""; lines = 0; start = NR + 1; next }
        /^```/ {
            inside = 0
            if (language == "sh") command = lines == 1 && body ~ /^nettoll study / ? body : ""
            if (language == "text") {
                name = to ":" start
                printf "%s", body >name
                if (command != "") printf "%s", command >(name ".command")
                command = ""
            }
            next
        }
        inside { body = body $0 "\n"; lines++ }
    ' "$page"
done

# The words of lines, without figures, arrows and widths of columns.
words() { sed -E 's/[−+±]?[0-9][0-9.,]*//g; s/[▲▼] *[a-z]+//; s/[ –]+/ /g; s/ $//' "$1"; }

compare() { # SAMPLE
    local name made=$scratch/made code=0
    name=$(tr % / <<<"${1##*/}")
    echo "== $name: $(cat "$1.command")"
    mkdir -p "$scratch/work"
    (cd "$scratch/work" && PATH=$scratch/bin:$PATH timeout "$LIMIT" bash -c "$(cat "$1.command")") >"$made" 2>"$scratch/errors" || code=$?
    rm -rf "$scratch/work"
    # 3 and 4 are verdicts.
    case $code in
    0 | 3 | 4) ;;
    *)
        cat "$scratch/errors"
        echo "== $name: FAILED with exit code $code"
        status=1
        return
        ;;
    esac
    words "$made" >"$scratch/here"
    echo "Lines of the page whose words no line here has:"
    paste -d '\t' <(words "$1") "$1" | awk -F '\t' 'NR == FNR { here[$0]; next } !($1 in here) && !/…/ { print "  " $2 }' "$scratch/here" -
    echo "Lines that differ (< page, > here):"
    diff "$1" "$made" | grep '^[<>]' | sed 's/^/  /' || true
}

compared=0
mapfile -t samples < <(find "$scratch/samples" -type f ! -name '*.command' | sort -V)
for sample in "${samples[@]}"; do
    [ -f "$sample.command" ] || continue
    compare "$sample"
    compared=$((compared + 1))
done
echo "== samples without a command of their own: look at these"
for sample in "${samples[@]}"; do
    [ -f "$sample.command" ] || tr % / <<<"${sample##*/}"
done
echo "== $compared samples were made again"
[ "$compared" -gt 0 ] && exit $status
