#!/usr/bin/env bash
# Counts the lines of Rust code outside tests, by crate: no blank lines, no
# comments, no test modules (`#[cfg(test)] mod`), no folders `tests`, `examples`,
# `benches`, and neither `fuzz` nor `testkit`.
#
#   scripts/lines.sh [REVISION]    of the files in git, as they are or were
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
bodies=$(mktemp)
trap 'rm -rf "$scratch" "$bodies"' EXIT
if [ $# -gt 0 ]; then
    git archive "$1" | tar -x -C "$scratch"
else
    git ls-files -co --exclude-standard '*.rs' | while read -r file; do [ ! -e "$file" ] || echo "$file"; done |
        tar -cT - | tar -x -C "$scratch"
fi
cd "$scratch"
mapfile -t files < <(find . -name '*.rs' -printf '%P\n' | grep -vE '(^|/)(tests|examples|benches|fuzz|testkit)/' | sort)

# Files and folders that hold the body of a test module: `#[cfg(test)] mod NAME;`.
awk '
    FNR == 1 { marked = 0 }
    /^ *#\[cfg\(test\)\]/ { marked = 1; next }
    marked && /^ *#\[/ { next }
    marked && match($0, /mod [a-z_0-9]+;/) {
        name = substr($0, RSTART + 4, RLENGTH - 5)
        folder = FILENAME
        if (!sub(/\/(mod|lib|main)\.rs$/, "", folder)) sub(/\.rs$/, "", folder)
        print folder "/" name ".rs"; print folder "/" name "/"
    }
    { marked = 0 }
' "${files[@]}" | sort -u >"$bodies"
printf '%s\n' "${files[@]}" | awk '
    NR == FNR { test[++count] = $0; next }
    { for (i = 1; i <= count; i++) if (index($0, test[i]) == 1) next; print }
' "$bodies" - | xargs awk '
    FNR == 1 { marked = 0; skipping = 0; comment = 0 }
    skipping { if ($0 ~ "^" indent "}") skipping = 0; next }
    /^ *#\[cfg\(test\)\]/ { marked = 1; held = 1; next }
    marked && /^ *#\[/ { held++; next }
    marked && /^ *(pub(\([a-z]+\))? )?mod [a-z_0-9]+ \{/ { match($0, /^ */); indent = substr($0, 1, RLENGTH); skipping = 1; marked = 0; next }
    marked && /^ *(pub(\([a-z]+\))? )?mod [a-z_0-9]+;/ { marked = 0; next }
    marked { marked = 0; add(held) }
    comment { if (/\*\//) comment = 0; next }
    /^[ \t]*\/\*/ { if (!/\*\//) comment = 1; next }
    /^[ \t]*(\/\/.*)?$/ { next }
    { add(1) }
    function add(lines,   part) { split(FILENAME, part, "/"); crate[part[1]] += lines; all += lines }
    END { for (name in crate) printf "%7d  %s\n", crate[name], name | "sort -rn"; close("sort -rn"); printf "%7d  in all\n", all }
'
