#!/usr/bin/env bash
# Puts nettoll on the runner of a CI job, and prints the directory that the job adds to PATH.
#
#   install.sh DIRECTORY
#
# Where nettoll is in PATH nothing is installed. Otherwise these say what comes into DIRECTORY:
# NETTOLL_INSTALL  a file of a release, by URL or path: nettoll-VERSION-ARCH-linux.tar.gz or
#                  nettoll_VERSION_ARCH.deb; or git+URL#TAG, a version that cargo builds
# NETTOLL_SHA256   checksum of that file (none: it is not checked)
set -euo pipefail
if [ $# != 1 ]; then
    echo "usage: install.sh DIRECTORY" >&2
    exit 2
fi
fail() {
    echo "install: $1" >&2
    exit 1
}
if found=$(command -v nettoll); then
    [ -z "${NETTOLL_INSTALL:-}" ] || echo "install: $found is used, NETTOLL_INSTALL is not" >&2
    dirname "$found"
    exit 0
fi
from=${NETTOLL_INSTALL:-}
mkdir -p "$1"
directory=$(cd "$1" && pwd)
bin=$directory/bin
case $from in
git+*#*)
    url=${from#git+}
    cargo install --quiet --locked --root "$directory" --git "${url%#*}" --tag "${url##*#}" nettoll >&2 || fail "cargo builds no nettoll of $from"
    ;;
*.tar.gz | *.deb)
    file=$from
    if [[ $from == *://* ]]; then
        file=$directory/${from##*/}
        curl --silent --show-error --fail --location --output "$file" "$from" || fail "$from cannot be fetched"
    fi
    [ -z "${NETTOLL_SHA256:-}" ] || sha256sum --check --status <<<"$NETTOLL_SHA256  $file" || fail "$file has not the checksum NETTOLL_SHA256"
    if [[ $file == *.deb ]]; then
        dpkg-deb --extract "$file" "$directory"
        bin=$directory/usr/bin
    else
        tar -xzf "$file" -C "$directory" --strip-components=1
    fi
    ;;
*) fail "nettoll is not in PATH: set the variable NETTOLL_INSTALL to a release's .tar.gz or .deb (URL or path), or to git+URL#TAG; it is '$from'" ;;
esac
"$bin/nettoll" --version >&2 || fail "$from has no nettoll that runs here"
echo "$bin"
