#!/usr/bin/env bash
# A study a night, and whether anything has changed since the first of them.
#
#   nightly.sh RUNS STUDY [FLAG...]
#
# RUNS is the directory that keeps the runs of all nights. METRICS are those whose history is
# told (time,sender-cpu,receiver-cpu unless told otherwise). SINCE is the first run that counts,
# after a change that is accepted. Ends with 3 where the newest run is past a change for the
# worse, else as nettoll does.
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: nightly.sh RUNS STUDY [FLAG...]" >&2
    exit 2
fi
runs=$1 study=$2
shift 2

nettoll study "$study" --runs "$runs" "$@" >/dev/null
worst=0
for metric in $(tr , ' ' <<<"${METRICS:-time,sender-cpu,receiver-cpu}"); do
    code=0
    nettoll history "$metric" --study "$study" --by kernel --runs "$runs" ${SINCE:+--since "$SINCE"} || code=$?
    echo
    # 3 is a result; anything else keeps the others from being told.
    [ "$code" = 0 ] || [ "$code" = 3 ] || exit "$code"
    [ "$code" = 0 ] || worst=$code
done
exit "$worst"
