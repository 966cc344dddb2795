#!/usr/bin/env bash
# Installs a Debian package in bare roots of Debian, uses it there as a reader of its manual
# would, and removes it; a file that stays fails.
#
#   scripts/roots.sh PACKAGE [SUITE...]    by default bookworm and trixie
#
# The roots are in memory, in namespaces of this script: when it ends, however it ends, they,
# their mounts and processes are gone. debootstrap fetches each root.
set -euo pipefail
if [ $# = 0 ]; then
    echo "usage: scripts/roots.sh PACKAGE [SUITE...]" >&2
    exit 2
fi
if [ "$(id -u)" != 0 ]; then
    echo "roots: debootstrap makes devices: run this as root" >&2
    exit 1
fi
if [ -z "${NETTOLL_ROOTS:-}" ]; then
    NETTOLL_ROOTS=1 exec unshare --mount --pid --ipc --fork --kill-child --mount-proc "$0" "$@"
fi
package=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- bookworm trixie

# Files that pages or the law ask for.
FILES="nettoll-agent.service nettoll-top.service nettoll-top.json exact.conf NOTICES.gz"
# Seconds that the making of a root, and a command in it, may take.
MAKE=900 RUN=300
root=/media/root
mount -t tmpfs -o mode=755,size=3g roots /media
export TMPDIR=/tmp LC_ALL=C.UTF-8 HOME=/root

inside() { timeout --kill-after=10 "$RUN" chroot "$root" "$@"; }

# Files of the root, but for those that the package manager writes for itself.
files() {
    (cd "$root" && find . -xdev -path ./proc -prune -o -path ./sys -prune -o -path ./dev -prune -o -path ./run -prune -o \
        \( -path './var/lib/dpkg/*' -o -path './var/cache/*' -o -path './var/log/*' \) -prune -o -print) | LC_ALL=C sort
}

check() { # SUITE
    local said
    timeout "$MAKE" debootstrap --variant=minbase --include=man-db "$1" "$root" >/media/log 2>&1 || {
        tail /media/log >&2
        return 1
    }
    mount -t proc proc "$root/proc"
    mount -t sysfs sysfs "$root/sys"
    files >/media/before
    cp "$package" "$root/nettoll.deb"
    inside dpkg --install /nettoll.deb
    rm "$root/nettoll.deb"
    local listed
    listed=$(inside dpkg -L nettoll)
    for file in $FILES; do
        grep -qF "/$file" <<<"$listed" || {
            echo "roots: $1: the package has no $file" >&2
            return 1
        }
    done
    inside nettoll doctor
    inside sh -c 'cd /tmp && nettoll study quick && nettoll report'
    rm -r "$root/tmp/runs"
    said=$(inside env MANWIDTH=80 man nettoll)
    grep -q SYNOPSIS <<<"$said"
    inside dpkg --purge nettoll
    files >/media/after
    diff /media/before /media/after || {
        echo "roots: $1: the files above differ after the removal" >&2
        return 1
    }
    umount "$root/proc" "$root/sys"
    rm -rf "$root"
    echo "roots: $1: installed, used, removed; nothing is left"
}

for suite; do
    mkdir "$root"
    check "$suite"
done
