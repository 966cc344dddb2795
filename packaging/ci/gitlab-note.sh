#!/usr/bin/env bash
# Writes the comment of gate-arms.sh to the merge request of a GitLab pipeline. The merge request has
# one such note: the first call posts it, later calls replace its text.
#
#   gitlab-note.sh FILE
#
# FILE is the comment. Without it, and in a pipeline of no merge request, there is no note.
# GITLAB_TOKEN   access token of the project, of role Reporter and scope `api`, as a CI/CD variable
#                that is masked and not protected (none: no note). CI_JOB_TOKEN may write no notes.
#
# Exit: 0 a note, or no note and a line with the reason; 1 GitLab refuses; 2 misuse.
set -euo pipefail
if [ $# != 1 ]; then
    echo "usage: gitlab-note.sh FILE" >&2
    exit 2
fi
file=$1
# By it the note is found; it is in the comment of gate-arms.sh.
mark="<!-- nettoll gate -->"
without() {
    echo "gitlab-note: no note: $1"
    exit 0
}
fail() {
    echo "gitlab-note: $1" >&2
    exit 1
}
[ -f "$file" ] || without "$file is missing, so nothing was measured"
[ -n "${CI_MERGE_REQUEST_IID:-}" ] || without "this pipeline belongs to no merge request"
[ -n "${GITLAB_TOKEN:-}" ] || without "the variable GITLAB_TOKEN is not set, and CI_JOB_TOKEN may write no notes"
for program in curl jq; do
    command -v "$program" >/dev/null || fail "$program is not in PATH: install it in the image of the job"
done

# The token is no argument: other processes can read those.
api() { curl --silent --show-error --fail --header @- "$@" <<<"PRIVATE-TOKEN: $GITLAB_TOKEN"; }

me=$(api "$CI_API_V4_URL/user" | jq .id) ||
    fail "$CI_API_V4_URL names no user for GITLAB_TOKEN: set a token that is valid, with the scope api"
notes=$CI_API_V4_URL/projects/$CI_MERGE_REQUEST_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes
page=1
while :; do
    answer=$(api "$notes?per_page=100&page=$page") || fail "GitLab does not list the notes of the merge request: GITLAB_TOKEN needs the scope api"
    # A comment that quotes the mark is no note of a gate.
    own=$(jq --argjson me "$me" --arg mark "$mark" \
        'map(select(.author.id == $me and any(.body | split("\n")[]; . == $mark)) | .id) | first // empty' <<<"$answer")
    [ -z "$own" ] && [ "$(jq length <<<"$answer")" = 100 ] || break
    page=$((page + 1))
done
if [ -n "$own" ]; then
    request=(--request PUT "$notes/$own")
else
    request=(--request POST "$notes")
fi
api --output /dev/null --data-urlencode "body@$file" "${request[@]}" ||
    fail "GitLab takes no note: GITLAB_TOKEN needs the role Reporter and the scope api"
