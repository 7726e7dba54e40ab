#!/usr/bin/env bash
# Makes the pictures in the README anew: the first screen of a report in English and in Chinese.
#   screenshot.sh            of a new run of the study quickstart (2 minutes on a quiet machine)
#   screenshot.sh RUN        of a run in the store (PRONY_STORE, or the user's)
# Needs a release (`make build`), Chromium, and a font with Chinese characters (Debian: fonts-noto-cjk).
set -euo pipefail
cd "$(dirname "$0")/.."
prony=${PRONY_PROGRAM:-target/release/prony}
width=1200 height=740 bytes_max=200000

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for browser in "${CHROMIUM:-chromium}" chromium-browser google-chrome ""; do
  if command -v "$browser" >/dev/null; then break; fi
done
[ -n "$browser" ] || { echo "missing: Chromium (Debian: apt install chromium)" >&2 && exit 2; }

run=${1:-last}
if [ $# = 0 ]; then
  export PRONY_STORE=$work/store
  "$prony" run quickstart
fi
mkdir -p docs/images
for language in en zh; do
  case $language in en) picture=report.png ;; *) picture=report.zh-CN.png ;; esac
  "$prony" report "$run" --language "$language" --format html --write "$work/$language.html"
  "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 \
    --user-data-dir="$work/browser" --window-size="$width,$height" --virtual-time-budget=5000 \
    --screenshot="$work/$picture" "file://$work/$language.html" 2>"$work/said" ||
    { cat "$work/said" >&2 && exit 1; }
  size=$(stat --format %s "$work/$picture")
  ((size < bytes_max)) || { echo "$picture has $size bytes, more than $bytes_max" >&2 && exit 1; }
  mv "$work/$picture" "docs/images/$picture"
  echo "docs/images/$picture: $size bytes"
done
