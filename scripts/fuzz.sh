#!/usr/bin/env bash
# Fuzzes both sides of the protocol for so many seconds each (default 60). Needs the nightly compiler; fetches cargo-fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
if ! command -v cargo-fuzz >/dev/null; then
  echo "installing cargo-fuzz" >&2
  cargo install --quiet --locked cargo-fuzz
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for target in client_reads server_reads; do
  echo "fuzzing $target for $seconds s"
  mkdir -p "fuzz/corpus/$target"
  if ! cargo +nightly fuzz run "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=2048 -print_final_stats=1 >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    exit 1
  fi
  grep -E 'stat::(number_of_executed_units|average_exec_per_sec)' "$log"
done
