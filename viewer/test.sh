#!/bin/sh
# Tests of the viewer: units, then the sample report and `prony serve` in a real Chromium. Needs Node.js 20.19 or newer, cargo and Chromium
# (apt install chromium, or CHROMIUM=path). Screenshots go to the directory named as the first argument, if any.
set -eu
pictures=${1:-}
case $pictures in "" | /*) ;; *) pictures=$PWD/$pictures ;; esac
cd "$(dirname "$0")"
[ -d node_modules/playwright-core ] && cmp -s package-lock.json node_modules/.prony-lock || {
    npm ci --silent
    cp package-lock.json node_modules/.prony-lock
}
npm run --silent test
report=$(mktemp -d)
trap 'rm -rf "$report"' EXIT
sample() { cargo run --quiet --manifest-path ../Cargo.toml -p prony --example sample_report -- "$@"; }
sample "$report/report.html"
mkdir "$report/loads"
sample "$report/loads/loads.html" html 100 en loads
sample "$report/report.md" markdown
node test/browser.mjs "$report/report.html" "$report/loads/loads.html" ${pictures:+"$pictures"}
cargo run --quiet --manifest-path ../Cargo.toml -p prony --example sample_store -- "$report/prony.sqlite" 1000
cargo build --quiet --manifest-path ../Cargo.toml -p prony --bin prony
target=$(cargo metadata --format-version 1 --no-deps --manifest-path ../Cargo.toml | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
node test/serve.mjs "$target/debug/prony" "$report/prony.sqlite" ${pictures:+"$pictures"}
