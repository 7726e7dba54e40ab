#!/usr/bin/env bash
# Licences, sources and duplicates of dependencies, by cargo-deny (deny.toml).
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v cargo-deny >/dev/null; then
  echo "installing cargo-deny" >&2
  cargo install --quiet --locked cargo-deny
fi
cargo deny --log-level error check licenses bans sources
