#!/usr/bin/env bash
# The viewer of the HTML report: `build` it anew, `check` that what is committed is what its source gives, `test` it in a
# real browser. Building and using Prony needs none of this; without Node.js or Chromium it is skipped, but not in CI.
set -euo pipefail
cd "$(dirname "$0")/../viewer"
skip() {
  echo "NOT TESTED: the viewer's $1: needs $2" | tee -a "${PRONY_NOT_TESTED:-/dev/null}" >&2
  case ${CI:-} in "" | 0 | false | no) exit 0 ;; esac
  exit 1
}
if ! command -v npm >/dev/null || ! ../scripts/node.sh; then skip "$1" "npm and Node.js 20.19 or newer"; fi
case $1 in
  build) npm ci --silent && npm run --silent build ;;
  check) ./check.sh ;;
  test)
    for browser in "${CHROMIUM:-chromium}" chromium-browser google-chrome ""; do
      if command -v "$browser" >/dev/null; then break; fi
    done
    [ -n "$browser" ] || skip "$1" "Chromium (Debian: apt install chromium)"
    CHROMIUM=$(command -v "$browser") ./test.sh
    ;;
  *) echo "usage: viewer.sh build|check|test" >&2 && exit 2 ;;
esac
