#!/usr/bin/env bash
# Holds the program to what keeps it small and soon built:
#
#   scripts/lean.sh PROGRAM ENGINE    of a build with symbols: nettoll, and the library of `engine`
#
# - the loops of traffic are compiled in `engine`, for each way at most once, and in no other crate;
# - sorts are compiled once (`model::sorting`), not for every type, and a `BTreeMap` for a bounded number of types;
# - each package has a line in scripts/packages.txt that says why it is there.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# != 2 ]; then
    echo "usage: scripts/lean.sh PROGRAM ENGINE" >&2
    exit 2
fi
program=$1 engine=$2

# Most copies of the standard library's stable sort: those of packages, of std itself, of hot
# crates, and one of `model::sorting`.
MOST_SORTS=100

# Most copies of the insertion into a `BTreeMap`: the build of the tests has two for each pair of types.
MOST_MAPS=345

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

fail() {
    echo "lean: $1" >&2
    status=1
}

# Copies of a function in a listing.
copies() { # LISTING FUNCTION
    grep -cE " [tTwW] $2(::h[0-9a-f]+)?$" "$1" || true
}

# Rows of a table of `model`.
rows() { # FILE
    grep -cE '^ +[a-z_]+::[A-Z][A-Za-z]+ = "' "$1"
}

nm -C "$program" >"$scratch/program"
nm -C "$engine" >"$scratch/engine" 2>/dev/null
senders=$(rows model/src/api.rs) receivers=$(rows model/src/receive.rs)

# A plain loop is compiled for each way and for calls that are looked up, that of a sender for the
# probe of its own cost too, that of a receiver for bytes and for datagrams; the loops of an exchange
# for the usual pair and for calls that are looked up. Others are compiled once.
while read -r loop most; do
    name=engine::$loop
    all=$(copies "$scratch/program" "$name") own=$(copies "$scratch/engine" "$name")
    if [ "$own" = 0 ]; then
        fail "$name is not compiled in engine: an entry of that crate is generic again"
    elif [ "$all" -gt "$most" ] || [ "$own" -gt "$most" ]; then
        fail "$name has $own copies in engine and $all in the program, where $most are enough: see engine/src/api/plain.rs"
    fi
done <<END
api::plain::send_until $((senders + 2))
api::plain::receive_while $((2 * (receivers + 1)))
traffic::send::run 1
traffic::receive::run 1
traffic::receive_stamped::run 1
traffic::batch::run 1
traffic::mix::run 1
traffic::open::send::run 1
traffic::ask::run 2
traffic::answer::run 2
traffic::open::ask::run 2
traffic::crr::ask::run 2
traffic::crr::serve::run 2
END

sorts=$(grep -c 'stable::driftsort_main' "$scratch/program" || true)
if [ "$sorts" = 0 ]; then
    fail "no sort was found in $program: it has no symbols"
elif [ "$sorts" -gt "$MOST_SORTS" ]; then
    fail "$sorts copies of the stable sort, where $MOST_SORTS are enough: take model::sorting::Order and Gather for sort_by and collect"
fi

maps=$(grep -c 'btree::map::entry::VacantEntry<K,V,A>::insert_entry' "$scratch/program" || true)
if [ "$maps" = 0 ]; then
    fail "no insertion into a BTreeMap was found in $program"
elif [ "$maps" -gt "$MOST_MAPS" ]; then
    fail "$maps copies of the insertion into a BTreeMap, where $MOST_MAPS are enough: take types that are there, or a sorted Vec"
fi

cargo tree --locked --package nettoll --edges normal,build --prefix none | awk '{ print $1 }' | grep -v '^nettoll' | LC_ALL=C sort -u >"$scratch/built"
sed -n 's/^\([a-z][^ ]*\) ..*/\1/p' scripts/packages.txt | LC_ALL=C sort >"$scratch/known"
for name in $(comm -23 "$scratch/built" "$scratch/known"); do
    fail "the package $name is built: say in scripts/packages.txt why, or leave it out"
done
for name in $(comm -13 "$scratch/built" "$scratch/known"); do
    fail "the package $name is built no more: take its line out of scripts/packages.txt"
done
exit $status
