#!/usr/bin/env bash
# Writes man pages and shell completions of the program that was built last.
#
#   scripts/generate.sh NETTOLL DIRECTORY    into DIRECTORY/man and DIRECTORY/completions
set -euo pipefail
if [ $# != 2 ]; then
    echo "usage: scripts/generate.sh NETTOLL DIRECTORY" >&2
    exit 2
fi
# What an earlier version wrote must not stay.
rm -rf "$2/man" "$2/completions"
"$1" __generate "$2"
echo "man pages: $2/man; completions: $2/completions"
