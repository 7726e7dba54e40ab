#!/usr/bin/env bash
# Checks for what building needs. Installs missing build packages with apt where that is allowed; else names them.
set -euo pipefail

need=()
command -v cc >/dev/null || need+=(build-essential) # SQLite and ring have parts in C and assembly
command -v perl >/dev/null || need+=(perl)          # older MySQL servers make their system tables with it

if ((${#need[@]})); then
  if command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }; then
    as_root=() && [ "$(id -u)" = 0 ] || as_root=(sudo -n)
    echo "installing ${need[*]} with apt" >&2
    "${as_root[@]}" apt-get update -q >&2
    "${as_root[@]}" apt-get install -y -q --no-install-recommends "${need[@]}" >&2
  else
    echo "missing: ${need[*]} (these are Debian's names). Install them and try again." >&2
    exit 1
  fi
fi

if ! command -v cargo >/dev/null; then
  echo "missing: the Rust compiler (cargo). Install it with rustup, or with your distribution's packages, and try again." >&2
  exit 1
fi
wanted=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml")
have=$(rustc --version | awk '{ print $2 }')
if [ "$(printf '%s\n%s\n' "$wanted" "${have%%-*}" | sort -V | head -n 1)" != "$wanted" ]; then
  echo "Rust $wanted or newer is needed; this is $have. Update it (rustup update) and try again." >&2
  exit 1
fi
