#!/bin/sh
# Repeats the run in this directory and says whether its findings come out again.
#   ./repeat.sh [OPTION...]    options are passed on to `prony run`
#   PRONY=PATH                 the program, where it is not in the search path
# Everything is kept in repeat.sqlite beside this script; another repeat adds a run to it.
# Exit codes: 0 no finding is contradicted, 1 one is, or trials failed, 2 it could not begin
set -eu

root=$(cd "$(dirname "$0")" && pwd)
prony=${PRONY:-prony}
store=$root/repeat.sqlite

refuse() {
    echo "repeat.sh: $1" >&2
    exit 2
}

command -v "$prony" >/dev/null || refuse "prony is not in the search path; install it, or set PRONY to its path"
(cd "$root" && sha256sum --check --quiet --strict SHA256SUMS) || refuse "these are not the files that were packed"
if [ @HIDDEN@ = yes ]; then
    refuse "passwords were removed from the study; write them into a copy of it and run that copy as below"
fi
version=$("$prony" --version)
[ "$version" = "prony "@VERSION@ ] || echo "note: the run was made with Prony "@VERSION@"; this is $version" >&2

"$prony" import "$root/run.prony" --store "$store"
"$prony" run "$root"/@STUDY@ @OPTIONS@ --store "$store" --write "$root/repeat.html" "$@"
"$prony" compare 1 last --store "$store" --confirm
