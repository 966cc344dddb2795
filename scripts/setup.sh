#!/usr/bin/env bash
# Installs what a purpose needs and this machine lacks, and says what and why.
# Does nothing, and needs no network, when all of it is there.
#
#   scripts/setup.sh study    build nettoll and run studies
#   scripts/setup.sh test     run all of its tests
#   scripts/setup.sh bench    run its benchmarks
#   scripts/setup.sh book     make a book of its pages
#   scripts/setup.sh audit    check its dependencies
#   scripts/setup.sh release TARGET  pack an archive
#   scripts/setup.sh deb TARGET      pack a Debian package
#   scripts/setup.sh roots    try that package in bare roots
set -euo pipefail

cd "$(dirname "$0")/.."
purpose=${1:-}
case $purpose in
study | test | bench | book | audit | roots) ;;
release | deb) zigbuild=${2:?TARGET: where cargo builds}/zigbuild ;;
*)
    echo "usage: scripts/setup.sh study|test|bench|book|audit|roots, or release|deb TARGET" >&2
    exit 2
    ;;
esac

# Where rustup puts cargo, and where tc is for users whose path leaves it out.
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin:/usr/sbin:/sbin

if ! command -v cargo >/dev/null; then
    cat >&2 <<'END'
setup: cargo was not found, neither in PATH nor in ~/.cargo/bin.
setup: Install a Rust toolchain (1.88 or later) from https://rustup.rs and run this again.
END
    exit 1
fi

missing=()  # what is not there
packages=() # the Debian packages that hold it
crates=()   # what cargo installs

lacks() { # WHAT REASON PACKAGE...
    missing+=("$1: $2")
    shift 2
    packages+=("$@")
}

has() { command -v "$1" >/dev/null; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A compiler may be there without the C library that programs are linked with.
cc_works() {
    echo '#include <stdio.h>
int main(void) { return puts("") < 0; }' >"$scratch/try.c"
    has cc && cc "$scratch/try.c" -o "$scratch/try" 2>/dev/null
}

includes() { # HEADER
    echo "#include <$1>" | cc -x c -fsyntax-only - 2>/dev/null
}

check() {
    cc_works || lacks "a C compiler (cc)" "Rust calls it to link programs" gcc libc6-dev

    if [ "$purpose" = test ]; then
        [ -x /usr/bin/chromium ] || lacks "/usr/bin/chromium" "the tests of the HTML report drive it headless" chromium
        for program in ip tc; do
            has $program || lacks $program "tests of lossy links and of leftovers use it" iproute2
        done
        has script || lacks script "tests of the output on a terminal use it" bsdutils
        has nft || lacks nft "tests of slow and lossy ways to an agent use it" nftables
        has sysctl || lacks sysctl "tests of agents behind a router use it" procps
        has mandoc || lacks mandoc "it checks the man pages" mandoc
        has man || lacks man "it shows the man pages" man-db
        for program in zsh fish; do
            has $program || lacks $program "it checks its completions" $program
        done
        python3 -c 'import ensurepip, venv' 2>/dev/null || lacks "python3 with venv" "tests read the CSV with DuckDB and pandas, and the JSON of one trial with the package iperf3" python3 python3-venv
        has Rscript || lacks Rscript "tests read the CSV with R" r-base-core
        Rscript --vanilla -e 'library(data.table)' >/dev/null 2>&1 || lacks "data.table for R" "tests read the CSV with it" r-cran-data.table
        for program in curl jq; do
            has $program || lacks $program "the gates in CI write their comments with it" $program
        done
        has mount || lacks mount "tests of full disks use it" mount
        for program in unshare nsenter setpriv taskset chrt; do
            has $program || lacks $program "tests of namespaces and of other users' rights use it" util-linux
        done
    fi

    if [ "$purpose" = bench ]; then
        has iperf3 || lacks "iperf3" "the benchmarks compare goodput with it" iperf3
        includes liburing.h || lacks "liburing" "the benchmarks compare io_uring with a loop over it" liburing-dev
        includes xdp/xsk.h || lacks "libxdp" "the benchmarks compare AF_XDP with a loop over it" libxdp-dev libbpf-dev
        for program in nsenter taskset; do
            has $program || lacks $program "it starts iperf3 inside a host, bound to a CPU" util-linux
        done
    fi

    if [ "$purpose" = book ]; then
        has mdbook || crates+=(mdbook)
    fi

    if [ "$purpose" = audit ]; then
        has cargo-deny || crates+=(cargo-deny)
    fi

    if [ "$purpose" = release ] || [ "$purpose" = deb ]; then
        has objdump || lacks objdump "it tells which C library the program needs" binutils
        python3 -c 'import ensurepip, venv' 2>/dev/null || lacks "python3 with venv" "the linker for old C libraries comes as wheels" python3 python3-venv
    fi

    if [ "$purpose" = release ]; then
        has jq || lacks jq "it lists the packages that a program is made of" jq
        has cargo-cyclonedx || crates+=(cargo-cyclonedx)
    fi

    if [ "$purpose" = roots ]; then
        has debootstrap || lacks debootstrap "it makes bare roots of Debian" debootstrap
        has lintian || lacks lintian "it checks the package" lintian
        has unshare || lacks unshare "the roots are in a namespace of their own" util-linux
    fi

    if [ "$purpose" = deb ]; then
        has dpkg-shlibdeps || lacks dpkg-shlibdeps "it finds the packages that the program depends on" dpkg-dev
        has cargo-deb || crates+=(cargo-deb)
    fi
}

# Built from source, into where cargo puts programs; nobody has to be root.
install_crates() {
    local crate
    for crate in "${crates[@]}"; do
        echo "setup: installing with cargo, once, in a minute or two: $crate"
        cargo install --quiet --locked "$crate" || {
            echo "setup: 'cargo install $crate' failed; its message is above. Install it by hand and run this again." >&2
            exit 1
        }
    done
}

# cargo-zigbuild and zig, from wheels, into a folder below where cargo builds.
install_zigbuild() {
    local wanted=scripts/zigbuild.txt
    [ -n "${zigbuild:-}" ] || return 0
    ! cmp -s "$wanted" "$zigbuild/done" || return 0
    echo "setup: unpacking into $zigbuild, once, a linker for programs that run with old C libraries: $(paste -sd' ' "$wanted")"
    rm -rf "$zigbuild"
    if ! python3 -m venv "$zigbuild" || ! "$zigbuild/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --requirement "$wanted"; then
        echo "setup: pip could not fetch what $wanted lists; its message is above. Run this again when the network is back." >&2
        exit 1
    fi
    cp "$wanted" "$zigbuild/done"
}

# What no package of the distribution holds.
install_others() {
    install_crates
    install_zigbuild
}

check
if [ ${#missing[@]} -eq 0 ]; then
    install_others
    exit 0
fi

echo "setup: missing on this machine:"
printf 'setup:   %s\n' "${missing[@]}"
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)

by_hand() { # WHY
    echo "setup: $1" >&2
    echo "setup: Install by hand what is listed above, then run this again." >&2
    echo "setup: Debian and its relatives have it in: ${packages[*]}" >&2
    exit 1
}

has apt-get || by_hand "There is no apt-get here to install it with."
as_root=()
if [ "$(id -u)" != 0 ]; then
    has sudo || by_hand "Installing needs root, and there is no sudo."
    as_root=(sudo)
    # Without a terminal nobody can type a password.
    [ -t 0 ] || as_root=(sudo -n)
fi

apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null; }

echo "setup: installing with apt-get: ${packages[*]}"
# A fresh machine has no lists of packages; stale ones name files that are gone.
apt update || echo "setup: 'apt-get update' failed; trying with the lists that are there" >&2
apt install -y --no-install-recommends "${packages[@]}" >/dev/null || by_hand "'apt-get install' failed; its message is above."

# Elsewhere a package of the same name may hold something else.
missing=()
crates=()
check
[ ${#missing[@]} -eq 0 ] || by_hand "apt-get installed them, but still missing: ${missing[*]}"
install_others
