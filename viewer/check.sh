#!/bin/sh
# Compares what is committed with what it is made from, byte by byte: the types of the report with its JSON schema, the
# viewer with its source. Needs Node.js 20.19 or newer.
set -eu
cd "$(dirname "$0")"
committed=$(mktemp -d)
trap 'rm -rf "$committed"' EXIT
cp -R dist/. "$committed"
npm ci --silent
node types.mjs --check
npm run --silent build
if ! diff -rq "$committed" dist; then
    echo "viewer/dist is not what viewer/src gives: commit what 'npm run build' made" >&2
    exit 1
fi
echo "viewer/dist is what viewer/src gives"
