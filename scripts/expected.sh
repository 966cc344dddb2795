#!/usr/bin/env bash
# Writes what tests expect again, as the program prints it now: snapshots, pictures of pages, the output
# of stored runs, tables of docs/. Runs the tests that have such files, with the build of `make test`.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/build.sh
export INSTA_UPDATE=always NETTOLL_UPDATE_EXPECTED=1

run() { # FOLDER PROGRAM ARGUMENT...
    (cd "$1" && CARGO_MANIFEST_DIR=$1 "$2" --quiet "${@:3}" </dev/null) || status=1
}

cargo build --locked --workspace --all-targets
status=0
while read -r folder program; do
    case ${folder##*/}/${program##*/} in
    report/report-*) run "$folder" "$program" ;;
    # Those in a browser and of readers of CSV have no such files, and take minutes.
    report/output-*) run "$folder" "$program" --skip browser:: --skip csv:: ;;
    # This harness takes one filter. The keys of JSON (forms::the_keys) are those of a run on this machine,
    # which may lack some: INSTA_UPDATE=always writes them where all are measured.
    cli/tool-*)
        for claims in help:: forms::a_dry_run microscope:: stored_runs:: docs::the_tables docs::the_readme_shows; do
            run "$folder" "$program" "$claims"
        done
        ;;
    esac
done < <(programs)
git status --short
echo 'Read the changes: git -c diff.gz.textconv=zcat diff'
exit $status
