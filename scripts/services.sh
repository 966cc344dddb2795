#!/usr/bin/env bash
# Tests hosts by command with the real services: sshd. Each service's package is unpacked
# below the target directory, where nothing is installed or started by the system; what
# cannot be had here is skipped, named and counted. `make test` needs none.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin:/usr/sbin:/sbin

# The same build as that of scripts/test.sh.
export RUSTC_WRAPPER=clippy-driver
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/test
export CARGO_TARGET_DIR
export CARGO_PROFILE_DEV_DEBUG=${CARGO_PROFILE_DEV_DEBUG:-0}
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}

services=$CARGO_TARGET_DIR/services
log=$(mktemp)
trap 'rm -f "$log"' EXIT

has() { command -v "$1" >/dev/null; }

# Unpacks Debian packages into a folder of their own; says why where it cannot.
unpack() { # FOLDER PACKAGE...
    local folder=$services/$1
    shift
    [ ! -e "$folder/done" ] || return 0
    rm -rf "$folder"
    mkdir -p "$folder/packages"
    if ! has apt-get || ! has dpkg-deb; then
        echo "services: no apt-get here to fetch $* with"
        return 0
    fi
    # A fresh machine has no lists of packages; only there may this change the system's.
    if [ "${CI:-}" = true ] && [ "$(id -u)" = 0 ]; then
        apt-get -qq update || echo "services: 'apt-get update' failed; trying with the lists that are there"
    fi
    if ! (cd "$folder/packages" && apt-get -qq download "$@" 2>"$folder/why"); then
        echo "services: apt-get could not fetch $*: $(tail -1 "$folder/why")"
        return 0
    fi
    local package
    for package in "$folder"/packages/*.deb; do
        dpkg-deb -x "$package" "$folder"
    done
    touch "$folder/done"
}

unpack ssh openssh-server libwrap0

cargo test --locked --package nettoll --test tool --no-run --message-format json 2>/dev/null >"$log" ||
    cargo build --locked --package nettoll --test tool
program=$(sed -n 's|.*"name":"tool".*"executable":"\([^"]*\)".*|\1|p' "$log" | tail -1)
[ -n "$program" ] || { echo "services: cargo names no program of the tests" >&2; exit 1; }

status=0
(cd cli && NETTOLL_TEST_SERVICES=$services CARGO_MANIFEST_DIR=$PWD "$program" services:: --nocapture --test-threads 2 </dev/null 2>&1) |
    tee "$log" || status=1

count() { sed -n "s/^test result: .* \([0-9]*\) $1;.*/\1/p" "$log" | awk '{ sum += $1 } END { print sum + 0 }'; }
skipped=$(grep -c 'SKIPPED: ' "$log" || true)
echo
if [ "$skipped" -gt 0 ]; then
    echo "Skipped, with the reason:"
    grep -o 'SKIPPED: .*' "$log" | sed 's/^SKIPPED: /  /'
fi
echo "services: $(count passed) passed, $(count failed) failed, $skipped skipped"
exit $status
