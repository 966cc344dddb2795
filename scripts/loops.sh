#!/usr/bin/env bash
# Compiles the C programs of the benchmark, of which most are loops that nettoll is measured against:
# scripts/loops.sh FOLDER. Those of io_uring
# and of AF_XDP need liburing and libxdp; where one is missing, its loop is left out and the
# benchmark says so.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
mkdir -p "$folder"

# Compiles a line that includes a header of the library.
has() { # HEADER
    echo "#include <$1>" | cc -x c -fsyntax-only - 2>/dev/null
}

flags=()
libraries=()
if has liburing.h; then
    flags+=(-DWITH_URING)
    libraries+=(-luring)
fi
if has xdp/xsk.h; then
    flags+=(-DWITH_XDP)
    libraries+=(-lxdp -lbpf)
fi

cc -O2 -Wall -o "$folder/bare" bench/bare.c
cc -O2 -Wall "${flags[@]}" -o "$folder/ways" bench/ways.c "${libraries[@]}"
cc -O2 -Wall -o "$folder/endpoint" examples/endpoint/endpoint.c
cc -O2 -Wall -o "$folder/echo" bench/echo.c
# Linked statically where there is a static libc: a small process is made and ends in less time.
cc -O2 -Wall -static -o "$folder/churn" bench/churn.c 2>/dev/null || cc -O2 -Wall -o "$folder/churn" bench/churn.c
