#!/bin/sh
# Builds the viewer anew and compares it with what is committed, byte by byte. Needs Node.js 20.19 or newer.
set -eu
cd "$(dirname "$0")"
committed=$(mktemp -d)
trap 'rm -rf "$committed"' EXIT
cp -R dist/. "$committed"
npm ci --silent
npm run --silent build
if ! diff -rq "$committed" dist; then
    echo "viewer/dist is not what viewer/src gives: commit what 'npm run build' made" >&2
    exit 1
fi
echo "viewer/dist is what viewer/src gives"
