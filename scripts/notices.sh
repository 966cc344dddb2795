#!/usr/bin/env bash
# Prints the notices of the packages that are linked into a program: name, version and licence of each,
# then their texts of a licence, each once, from the sources that cargo has fetched.
#
#   scripts/notices.sh PACKAGE[/FEATURE]...
#
# The same Cargo.lock gives the same text. Where a package may be taken under the MIT licence its other
# licences are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
sources=${CARGO_HOME:-$HOME/.cargo}/registry/src

linked() { # PACKAGE[/FEATURE]
    local features=()
    [ "${1#*/}" = "$1" ] || features=(--features "${1#*/}")
    cargo tree --locked --package "${1%/*}" "${features[@]}" --edges normal,no-proc-macro --prefix none --format '{p}|{l}|' |
        sed -n 's/^\([^ ]*\) v\([^ |]*\)|\([^|]*\)|.*/\1 \2 \3/p'
}

# Files of a package's folder with a licence or a notice.
files() { # FOLDER LICENCE
    local all mit
    all=$(find "$1" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'copyright*' -o -iname 'notice*' \) | sort)
    mit=$(grep -iE '[-_.]MIT[^/]*$' <<<"$all" || true)
    if [ -n "$mit" ] && [[ $2 != *" AND "* ]]; then
        all=$(sort -u <<<"$mit"$'\n'"$(grep -iE '/(notice|copyright)[^/]*$' <<<"$all" || true)")
    fi
    sed '/^$/d' <<<"$all"
}

echo "Packages that are linked into the programs of nettoll, with the Rust standard library (MIT OR Apache-2.0,"
echo "The Rust Project Contributors). Their sources are at https://crates.io."
packages=$(for package; do linked "$package" || exit; done | sort -u)
[ -n "$packages" ]
printf '\n%s\n' "$packages"
declare -A names=() texts=()
while read -r name version licence; do
    folder=$(find "$sources" -mindepth 2 -maxdepth 2 -name "$name-$version" | head -1)
    [ -n "$folder" ] || { echo "notices: cargo has no source of $name $version" >&2; exit 1; }
    found=$(files "$folder" "$licence")
    if [ -z "$found" ]; then
        # The package leaves the text out: its authors, as it names them.
        text="No text of a licence is in the package, $licence. Authors: $(tr -d '\n' <"$folder/Cargo.toml" | sed -n 's/.*authors = \[ *\([^]]*\)\].*/\1/p')"
    else
        text=$(while read -r file; do tr -d '\r' <"$file"; done <<<"$found")
    fi
    key=$(sha256sum <<<"$text")
    names[$key]+="${names[$key]:+, }$name $version"
    texts[$key]=$text
done <<<"$packages"
for key in "${!names[@]}"; do printf '%s\t%s\n' "${names[$key]}" "$key"; done | sort | while IFS=$'\t' read -r of key; do
    printf '\n%s\n== %s\n\n%s\n' "$(printf '=%.0s' {1..80})" "$of" "${texts[$key]}"
done
