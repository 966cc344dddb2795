#!/usr/bin/env bash
# A regression gate that measures two versions next to each other, as two arms of one study: the
# drift of the machine hits both, so that a shared runner is enough.
#
#   gate-arms.sh STUDY [FLAG...]
#
# STUDY and its flags are those of `nettoll study`. Versions are this commit and BASE:
# BUILD      command that builds a version, by `sh -c` in its tree (none: nothing is built)
# ARM        settings of a version's arm, {} being its tree, such as 'api=exec:{}/server', or
#            'tool={}/target/release/nettoll'
# BASE       commit to compare with (of a pull or merge request its merge base, else the parent)
# Two settings of one version, without BUILD and ARM:
# BASE_ARM, CANDIDATE_ARM   settings of the arms, such as 'cc=cubic' and 'cc=bbr'
#
# GATE       metrics that the exit code follows from (cpu: of both ends)
# THRESHOLD  change that is too small to care about (5%)
# OUT        directory for what is kept: comment.md, badge.json, report.html, runs/ (nettoll-gate)
# SUMMARY    file that the comment is appended to (none)
#
# Exit: 0 nothing is worse, nothing open; 3 worse; 4 open; 1 and 2 failures, as of nettoll itself.
set -euo pipefail
if [ $# -lt 1 ]; then
    echo "usage: gate-arms.sh STUDY [FLAG...]" >&2
    exit 2
fi
# Two arms that are one pass always.
refuse() {
    echo "gate-arms: $1" >&2
    exit 2
}
fail() {
    echo "gate-arms: $1" >&2
    exit 1
}
for word in "$@"; do
    case $word in
    --dry-run | --check | --runs | --runs=*) refuse "leave $word out: the gate is one run, below OUT" ;;
    esac
done
if [ -n "${ARM:-}" ]; then
    [[ $ARM == *"{}"* ]] || refuse "ARM has no {}, so that both versions are one: name the version's tree, such as api=exec:{}/server"
    [ -z "${BASE_ARM:-}${CANDIDATE_ARM:-}" ] || refuse "ARM compares two versions, BASE_ARM and CANDIDATE_ARM two settings: set either"
elif [ -n "${BUILD:-}" ]; then
    refuse "BUILD without ARM: set ARM to what uses the version built, such as api=exec:{}/server"
elif [ "${BASE_ARM:-}" = "${CANDIDATE_ARM:-}" ]; then
    refuse "both arms are equal: set ARM, or BASE_ARM and CANDIDATE_ARM"
fi
for program in nettoll ${ARM:+git}; do
    command -v "$program" >/dev/null || fail "$program is not in PATH: install it"
done
if [ -n "${ARM:-}" ]; then
    tree=$(git rev-parse --show-toplevel 2>/dev/null) || fail "$PWD is in no work tree of git: call this where both versions are"
    [[ $tree != *[[:space:],]* ]] || refuse "blanks and commas end the settings of an arm, and $tree has some: clone to another path"
fi
out=${OUT:-nettoll-gate}
# What an earlier call left is no part of this one.
if [ -n "$(ls -A "$out" 2>/dev/null)" ] && [ ! -f "$out/.gate" ]; then
    echo "gate-arms: $out holds what no gate wrote: name another OUT" >&2
    exit 2
fi
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
touch "$out/.gate"

arms=("base${BASE_ARM:+: $BASE_ARM}" "candidate${CANDIDATE_ARM:+: $CANDIDATE_ARM}")
if [ -n "${ARM:-}" ]; then
    if [ -z "${BASE:-}" ]; then
        # What a pull request of GitHub, and a merge request of GitLab, is to be merged into.
        target=${GITHUB_BASE_REF:+origin/$GITHUB_BASE_REF}
        target=${target:-${CI_MERGE_REQUEST_DIFF_BASE_SHA:-HEAD^}}
        BASE=$(git merge-base "$target" HEAD 2>/dev/null) ||
            fail "git finds no common commit of $target and HEAD: fetch the whole history (fetch-depth: 0), or set BASE"
    fi
    commit=$(git rev-parse --verify --quiet --end-of-options "$BASE^{commit}") ||
        fail "git has no commit $BASE: fetch the whole history, or set another BASE"
    [ "$commit" != "$(git rev-parse HEAD)" ] || [ -n "$(git -C "$tree" status --porcelain --untracked-files=no)" ] ||
        refuse "BASE is this commit, so that both versions are one: set another BASE"
    base=$(mktemp -d)
    trap 'git -C "$tree" worktree remove --force "$base/tree" 2>/dev/null || true; rm -rf "$base"' EXIT
    git -C "$tree" worktree add --quiet --detach "$base/tree" "$commit" ||
        fail "git makes no tree of $BASE: fetch the whole history, or set another BASE"
    for version in "$base/tree" "$tree"; do
        # Codes 3 and 4 are verdicts: that of a build is none.
        (cd "$version" && sh -c "${BUILD:-:}") >&2 || fail "BUILD failed in $version (exit $?): $BUILD"
    done
    arms=("base: ${ARM//\{\}/"$base/tree"}" "candidate: ${ARM//\{\}/"$tree"}")
fi

verdict=(--gate "${GATE:-cpu}" --threshold "${THRESHOLD:-5%}")
code=0
nettoll study "$@" --runs "$out/runs" --arm "${arms[0]}" --arm "${arms[1]}" "${verdict[@]}" || code=$?
case $code in
0) message="not worse" color=brightgreen ;;
3) message=worse color=red ;;
4) message=open color=yellow ;;
*) exit "$code" ;;
esac
# The code was said above.
nettoll report latest --runs "$out/runs" --markdown "${verdict[@]}" >"$out/comment.md" || true
# By it a workflow finds its own comment, which it replaces.
printf '\n<!-- nettoll gate -->\n' >>"$out/comment.md"
cp "$out"/runs/*/report.html "$out/report.html"
# As shields.io reads it (endpoint badge).
printf '{"schemaVersion":1,"label":"nettoll","message":"%s","color":"%s"}\n' "$message" "$color" >"$out/badge.json"
[ -z "${SUMMARY:-}" ] || cat "$out/comment.md" >>"$SUMMARY"
exit "$code"
