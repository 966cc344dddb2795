#!/usr/bin/env bash
# Packs the program that was built last into TARGET/dist.
#
#   scripts/release.sh TARGET tar    nettoll-VERSION-ARCH-linux.tar.gz
#   scripts/release.sh TARGET deb    nettoll_VERSION_ARCH.deb
#
# Linked with glibc, dynamically. A static program would need musl, whose
# sendmmsg(2) is a loop of sendmsg(2) and whose send(2) takes longer: its figures
# would not be those of the programs that people run. A static glibc cannot look
# up host names.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin

usage() {
    echo "usage: scripts/release.sh TARGET tar|deb" >&2
    exit 2
}
[ $# = 2 ] || usage
target=$1 kind=$2
program=$target/release/nettoll
dist=$target/dist
made=$target/release/generated # cargo-deb looks for what is built below release/

# The same commit gives the same archive, byte for byte.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Cargo.lock)}
export SOURCE_DATE_EPOCH

version=$("$program" -V | cut -d' ' -f2)
mkdir -p "$dist"
scripts/generate.sh "$program" "$made"

# The newest version of the C library that a symbol asks for.
oldest_glibc() { objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1 | tr _ ' '; }

say_linking() {
    file -b "$program" | cut -d, -f1-4
    echo "needs: $(objdump -p "$program" | awk '/NEEDED/ { printf "%s ", $2 }')"
    echo "runs on $(oldest_glibc) or later"
}

pack_tar() {
    local name stage
    name=nettoll-$version-$(uname -m)-linux
    stage=$dist/$name
    rm -rf "$stage"
    install -D -m 755 "$program" "$stage/bin/nettoll"
    install -D -m 755 "$target/release/nettoll-stacks" "$stage/libexec/nettoll/nettoll-stacks"
    install -D -m 644 -t "$stage/share/man/man1" "$made"/man/*.1
    install -D -m 644 -t "$stage/share/bash-completion/completions" "$made/completions/nettoll"
    install -D -m 644 -t "$stage/share/zsh/site-functions" "$made/completions/_nettoll"
    install -D -m 644 -t "$stage/share/fish/vendor_completions.d" "$made/completions/nettoll.fish"
    install -D -m 644 -t "$stage/lib/systemd/system" packaging/nettoll-agent.service
    install -D -m 644 -t "$stage/share/doc/nettoll" README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE packaging/exact.conf
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$dist" -c "$name" |
        gzip -9n >"$dist/$name.tar.gz"
    rm -rf "$stage"
    say_linking
    echo "$dist/$name.tar.gz"
}

pack_deb() {
    # The format wants a date and an author in each entry of a change log.
    {
        printf 'nettoll (%s) unstable; urgency=medium\n\n' "$version"
        printf '  * See CHANGELOG.md in the source.\n\n'
        printf ' -- The nettoll authors <nettoll@localhost>  %s\n' "$(date -uR -d "@$SOURCE_DATE_EPOCH")"
    } | gzip -9n >"$made/changelog.gz"
    gzip -9n "$made"/man/*.1
    CARGO_TARGET_DIR=$target cargo deb --quiet --locked --no-build --strip --package nettoll --output "$dist"
    find "$dist" -name "nettoll_${version}_*.deb"
}

case $kind in
tar) pack_tar ;;
deb) pack_deb ;;
*) usage ;;
esac
