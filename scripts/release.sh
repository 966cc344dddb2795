#!/usr/bin/env bash
# Builds the programs of a release and packs them into TARGET/dist.
#
#   scripts/release.sh TARGET tar    nettoll-VERSION-ARCH-linux.tar.gz
#   scripts/release.sh TARGET deb    nettoll_VERSION_ARCH.deb
#
# Linked with glibc, dynamically. A static program would need musl, whose
# sendmmsg(2) is a loop of sendmsg(2) and whose send(2) takes longer: its figures
# would not be those of the programs that people run. A static glibc cannot look
# up host names.
#
# Linked by zig, which has the symbols of every glibc, for one that is older than any host
# in use; a symbol of a newer one fails the build or the check after it.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin

# The oldest that Rust's own library runs with. docs/install.md says the same.
GLIBC=2.17

usage() {
    echo "usage: scripts/release.sh TARGET tar|deb" >&2
    exit 2
}
[ $# = 2 ] || usage
target=$1 kind=$2
triple=$(uname -m)-unknown-linux-gnu
built=$target/$triple/release
program=$built/nettoll
stacks=$built/nettoll-stacks
dist=$target/dist
made=$built/generated # cargo-deb looks for what is built below release/

# The same commit gives the same archive, byte for byte.
umask 022
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Cargo.lock)}
export SOURCE_DATE_EPOCH

# No path of this machine, which panics would name, is in the programs. The flags are parted by
# a byte that is in no path; the first two are those of .cargo/config.toml, which these replace.
flags=-Crelro-level=partial$'\x1f'-Clink-arg=-Wl,-z,now$'\x1f'--remap-path-prefix=$target=/target$'\x1f'--remap-path-prefix=$PWD=/nettoll$'\x1f'--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo

# scripts/setup.sh has put both programs there.
zigbuild() {
    local tools=$target/zigbuild
    PATH=$tools/bin:$PATH CARGO_TARGET_DIR=$target CARGO_ENCODED_RUSTFLAGS=$flags CARGO_ZIGBUILD_PYTHON_PATH=$tools/bin/python3 \
        CARGO_ZIGBUILD_CACHE_DIR=$tools/cache ZIG_GLOBAL_CACHE_DIR=$tools/zig ZIG_LOCAL_CACHE_DIR=$tools/zig \
        "$tools/bin/cargo-zigbuild" zigbuild --locked --release --target "$triple.$GLIBC" "$@"
}

build() {
    zigbuild --package nettoll
    zigbuild --package nettoll-stacks --features runtimes
}

# Versions of glibc that the symbols of a file ask for, the oldest first.
versions() { objdump -T "$1" | grep -oE 'GLIBC_[0-9][0-9.]*' | cut -d_ -f2 | sort -uV || true; }

# Fails where a file does not run with the oldest glibc.
check() { # FILE
    local newest
    newest=$(versions "$1" | tail -1)
    if [ -z "$newest" ]; then
        echo "release: $1 asks for no glibc: it is not linked as a release has to be" >&2
        return 1
    fi
    if [ "$(printf '%s\n' "$newest" "$GLIBC" | sort -V | tail -1)" != "$GLIBC" ]; then
        echo "release: $1 asks for symbols that glibc $GLIBC lacks; call the kernel itself (libc::syscall) in their place:" >&2
        local version
        for version in $(versions "$1"); do
            [ "$(printf '%s\n' "$version" "$GLIBC" | sort -V | tail -1)" = "$GLIBC" ] ||
                objdump -T "$1" | grep -F "GLIBC_$version" | awk '{ print "release:   " $NF, $(NF - 1) }' >&2
        done
        return 1
    fi
}

check_all() {
    local file
    check "$program"
    check "$stacks"
    # What the program carries for QEMU to load; empty on machines that cannot boot its guests.
    while read -r file; do
        [ ! -s "$file" ] || check "$file"
    done < <(find "$(ls -dt "$built"/build/nettoll-microscope-*/out | head -1)" -name '*.so')
}

needs() {
    local of libraries
    echo "nettoll $version for Linux on $(uname -m), tested with kernels from 5.10 on, needs:"
    for of in "$program" "$stacks"; do
        libraries=$(objdump -p "$of" | awk '/NEEDED/ { printf " %s", $2 }')
        echo "- ${of##*/}: glibc $(versions "$of" | tail -1) or later:$libraries"
    done
    echo "bin/nettoll carries a plugin for QEMU, which is licensed under GPL-2.0-or-later (LICENSES/, nettoll help licences)."
    echo "Other programs, such as QEMU, are needed by single commands alone: nettoll doctor says which are here."
}

# The packages that a program is made of, as CycloneDX lists them. The lister unites the features of all
# members of the workspace, so that packages are left out which cargo does not build for this program.
# It writes a file into the folder of each member.
sbom() { # FOLDER PACKAGE FEATURES
    local file=nettoll-sbom
    cargo cyclonedx --quiet --manifest-path "$1/Cargo.toml" --features "$3" --target "$triple" --no-build-deps \
        --format json --spec-version 1.5 --override-filename "$file"
    cargo tree --locked --package "$2" --features "$3" --target "$triple" --edges normal --prefix none --format '{p}' |
        cut -d' ' -f-2 | jq -R . | jq -s . >"$made/packages.json"
    jq --arg root "file://$PWD/" --slurpfile built "$made/packages.json" '
        .components |= map(select(.name + " v" + .version | IN($built[0][])))
        | [.metadata.component, .components[] | .["bom-ref"]] as $kept
        | .dependencies |= map(select(.ref | IN($kept[])) | if .dependsOn then .dependsOn |= map(select(IN($kept[]))) else . end)
        | walk(if type == "string" then split($root) | join("file:///") else . end)' "$1/$file.json"
    find . -name "$file.json" -delete
}

notices() { scripts/notices.sh nettoll nettoll-stacks/runtimes; }

pack_tar() {
    local name stage
    name=nettoll-$version-$(uname -m)-linux
    stage=$dist/$name
    rm -rf "$stage"
    install -D -m 755 "$program" "$stage/bin/nettoll"
    install -D -m 755 "$stacks" "$stage/libexec/nettoll/nettoll-stacks"
    install -D -m 644 -t "$stage/share/man/man1" "$made"/man/*.1
    install -D -m 644 -t "$stage/share/bash-completion/completions" "$made/completions/nettoll"
    install -D -m 644 -t "$stage/share/zsh/site-functions" "$made/completions/_nettoll"
    install -D -m 644 -t "$stage/share/fish/vendor_completions.d" "$made/completions/nettoll.fish"
    install -D -m 644 -t "$stage/lib/systemd/system" packaging/nettoll-agent.service packaging/nettoll-top.service
    install -D -m 644 -t "$stage/share/doc/nettoll" README.md CHANGELOG.md packaging/exact.conf packaging/grafana/nettoll-top.json
    install -D -m 644 -t "$stage/share/doc/nettoll/LICENSES" LICENSES/*.txt
    notices >"$stage/share/doc/nettoll/NOTICES"
    sbom cli nettoll "" >"$stage/share/doc/nettoll/nettoll.cdx.json"
    sbom stacks nettoll-stacks runtimes >"$stage/share/doc/nettoll/nettoll-stacks.cdx.json"
    needs >"$stage/share/doc/nettoll/NEEDS"
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$dist" -c "$name" |
        gzip -9n >"$dist/$name.tar.gz"
    cat "$stage/share/doc/nettoll/NEEDS"
    rm -rf "$stage"
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
    notices | gzip -9n >"$made/NOTICES.gz"
    CARGO_TARGET_DIR=$target cargo deb --quiet --locked --no-build --strip --target "$triple" --package nettoll --output "$dist"
    find "$dist" -name "nettoll_${version}_*.deb"
}

case $kind in
tar | deb) ;;
*) usage ;;
esac
build
check_all
version=$("$program" -V | cut -d' ' -f2)
mkdir -p "$dist"
scripts/generate.sh "$program" "$made"
"pack_$kind"
