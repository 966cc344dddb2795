#!/usr/bin/env bash
# Counts the lines of Rust code outside tests, by crate: no blank lines, no
# comments, no test modules (`#[cfg(test)] mod`), no folders `tests`, `examples`,
# `benches`, and neither `fuzz` nor `testkit`.
#
#   scripts/lines.sh                       of the files in git, as they are
#   scripts/lines.sh REVISION              as they were; `-` is as they are
#   scripts/lines.sh REVISION PATH...      of these folders and files alone, path by
#                                          path; lab/src/attach has lab/src/attach.rs too
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
bodies=$(mktemp)
trap 'rm -rf "$scratch" "$bodies"' EXIT
revision=${1:--}
[ $# -eq 0 ] || shift
if [ "$revision" != - ]; then
    git archive "$revision" | tar -x -C "$scratch"
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
' "$bodies" - | xargs awk -v paths="${*%/}" '
    BEGIN { wanted = split(paths, path, " ") }
    FNR == 1 && wanted > 0 {
        group = ""
        for (i = 1; i <= wanted && group == ""; i++)
            if (FILENAME == path[i] || FILENAME == path[i] ".rs" || index(FILENAME, path[i] "/") == 1) group = path[i]
    }
    wanted > 0 && group == "" { next }
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
    function add(lines,   part) { split(FILENAME, part, "/"); sum[wanted > 0 ? group : part[1]] += lines; all += lines }
    END { for (name in sum) printf "%7d  %s\n", sum[name], name | "sort -rn"; close("sort -rn"); printf "%7d  in all\n", all }
'
