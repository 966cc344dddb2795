#!/usr/bin/env bash
# A regression gate for what cannot be measured in one boot, such as two kernels: measures runs of
# a study and compares them with the baseline's. What can is compared better by gate-arms.sh.
#
#   gate.sh BASELINE CANDIDATE STUDY [FLAG...]
#
# BASELINE and CANDIDATE are directories of runs; STUDY and its flags are those of
# `nettoll study`. Where BASELINE is not there the candidate's runs become the baseline.
# Runs of earlier calls are removed from CANDIDATE.
# RUNS     runs to measure (3)
# GATE     metrics that the exit code follows from (cpu: of both ends)
# THRESHOLD  change that is too small to care about (2%)
# SUMMARY  file that the comparison is appended to, as Markdown (none)
#
# Exit: 0 nothing is worse, nothing inconclusive; 3 worse; 4 inconclusive; 1 and 2
# failures, as of nettoll itself.
set -euo pipefail
if [ $# -lt 3 ]; then
    echo "usage: gate.sh BASELINE CANDIDATE STUDY [FLAG...]" >&2
    exit 2
fi
baseline=$1 candidate=$2
shift 2

# The runs of a directory behind commas, as `nettoll compare` takes a side.
side() { find "$1" -mindepth 1 -maxdepth 1 -type d | sort | paste -sd,; }

if [ "$(realpath -m "$candidate")" = "$(realpath -m "$baseline")" ]; then
    echo "gate: BASELINE and CANDIDATE are one: name two directories" >&2
    exit 2
fi
# Of what is there, only runs are removed.
[ ! -d "$candidate" ] || find "$candidate" -mindepth 2 -maxdepth 2 -name run.json -printf '%h\0' | xargs -0r rm -rf
for _ in $(seq "${RUNS:-3}"); do
    # Exit codes 3 and 4 of a study are of its arms: this gate has none.
    nettoll study "$@" --runs "$candidate" > /dev/null
done
if [ ! -d "$baseline" ] || [ -z "$(side "$baseline")" ]; then
    mkdir -p "$baseline"
    cp -r "$candidate"/. "$baseline"/
    echo "no baseline yet: these runs are the baseline from now on"
    exit 0
fi

compare() {
    nettoll compare "$(side "$baseline")" "$(side "$candidate")" \
        --gate "${GATE:-cpu}" --threshold "${THRESHOLD:-2%}" "$@"
}
code=0
compare || code=$?
if [ -n "${SUMMARY:-}" ] && [ $code != 1 ] && [ $code != 2 ]; then
    compare --markdown >> "$SUMMARY" || true
fi
exit $code
