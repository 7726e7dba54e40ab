#!/usr/bin/env bash
# The viewer of the HTML report: `build` it anew, `check` that what is committed is what its source gives, `test` it in a
# real browser. Building and using Prony needs none of this; without Node.js or Chromium it is skipped, but not in CI.
set -euo pipefail
cd "$(dirname "$0")/../viewer"
skip() {
  echo "skipped: the viewer's $1 needs $2" >&2
  [ -z "${CI:-}" ] || exit 1
  exit 0
}
command -v npm >/dev/null || skip "$1" "Node.js 20.19 or newer"
case $1 in
  build) npm ci --silent && npm run --silent build ;;
  check) ./check.sh ;;
  test)
    command -v "${CHROMIUM:-chromium}" >/dev/null || skip "$1" "Chromium (Debian: apt install chromium)"
    ./test.sh
    ;;
  *) echo "usage: viewer.sh build|check|test" >&2 && exit 2 ;;
esac
