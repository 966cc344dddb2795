#!/usr/bin/env bash
# Tests what `make test` leaves out: hosts by command with the real services (sshd, and a Slurm
# of four nodes); the implementations that bring a runtime along (nettoll-stacks), which it
# builds; manifests with the types of the Kubernetes API; Redis, memcached, nginx and
# PostgreSQL, attached; and advice against servers that were mended, one by one.
# Each package is unpacked below the target directory, where nothing is installed or started
# by the system; what cannot be had here is skipped, named and counted.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/build.sh

services=$CARGO_TARGET_DIR/services
log=$(mktemp)
trap 'rm -f "$log"' EXIT

has() { command -v "$1" >/dev/null; }

# Unpacks Debian packages into a folder of their own; says why where it cannot.
unpack() { # FOLDER PACKAGE...
    fetch "$1" "${*:2}" apt-get -qq download "${@:2}"
}

# The same with what they depend on and is not here. Nothing is installed.
unpack_whole() { # FOLDER PACKAGE...
    fetch "$1" "${*:2}" apt-get -qq -y --no-install-recommends --reinstall --download-only -o Debug::NoLocking=1 \
        -o "Dir::Cache::archives=$services/$1/packages" install "${@:2}"
}

fetch() { # FOLDER PACKAGES COMMAND...
    local folder=$services/$1 packages=$2
    shift 2
    [ ! -e "$folder/done" ] || return 0
    rm -rf "$folder"
    mkdir -p "$folder/packages/partial"
    if ! has apt-get || ! has dpkg-deb; then
        echo "services: no apt-get here to fetch $packages with"
        return 0
    fi
    if ! (cd "$folder/packages" && "$@" >/dev/null 2>"$folder/why"); then
        echo "services: apt-get could not fetch $packages: $(tail -1 "$folder/why")"
        return 0
    fi
    local package
    for package in "$folder"/packages/*.deb; do
        dpkg-deb -x "$package" "$folder"
    done
    touch "$folder/done"
}

# A fresh machine has no lists of packages; only there may this change the system's.
if [ "${CI:-}" = true ] && [ "$(id -u)" = 0 ] && has apt-get; then
    apt-get -qq update || echo "services: 'apt-get update' failed; trying with the lists that are there"
fi
unpack_whole slurm slurmctld slurmd slurm-client munge
unpack ssh openssh-server libwrap0
# Its models are the types of the API; no program is run.
unpack kubernetes python3-kubernetes

# Servers that are attached.
unpack_whole redis redis-server
unpack_whole memcached memcached
unpack_whole nginx nginx
# One that is installed will do: it is large.
if ! compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null; then
    postgres=$(apt-cache depends postgresql 2>/dev/null | grep -om1 'postgresql-[0-9]*$' || true)
    [ -z "$postgres" ] || unpack_whole postgres "$postgres"
fi

# Not built with the rest: runtimes weigh. What does not compile is a failure, whatever is skipped for it.
status=0
rm -rf "$services/stacks"
if cargo build --locked --package nettoll-stacks --features runtimes; then
    mkdir -p "$services/stacks"
    cp "$CARGO_TARGET_DIR/debug/nettoll-stacks" "$services/stacks/"
    touch "$services/stacks/done"
else
    status=1
fi

cargo test --locked --package nettoll --test tool --no-run --message-format json 2>/dev/null >"$log" ||
    cargo build --locked --package nettoll --test tool
program=$(sed -n 's|.*"name":"tool".*"executable":"\([^"]*\)".*|\1|p' "$log" | tail -1)
[ -n "$program" ] || { echo "services: cargo names no program of the tests" >&2; exit 1; }

run() { # FILTER THREADS
    (cd cli && NETTOLL_TEST_SERVICES=$services CARGO_MANIFEST_DIR=$PWD "$program" "$1" --nocapture --test-threads "$2" </dev/null 2>&1) |
        tee -a "$log" || status=1
}
: >"$log"
# Savings that were predicted are compared with those of mended servers: one by one.
run attach::advice 1
run services:: 2

count() { sed -n "s/^test result: .* \([0-9]*\) $1;.*/\1/p" "$log" | awk '{ sum += $1 } END { print sum + 0 }'; }
skipped=$(grep -c 'SKIPPED: ' "$log" || true)
echo
if [ "$skipped" -gt 0 ]; then
    echo "Skipped, with the reason:"
    grep -o 'SKIPPED: .*' "$log" | sed 's/^SKIPPED: /  /'
fi
echo "services: $(count passed) passed, $(count failed) failed, $skipped skipped"
exit $status
