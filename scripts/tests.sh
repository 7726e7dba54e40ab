#!/usr/bin/env bash
# Runs tests and ends with how many passed and what this machine could not test:
#   tests.sh quick       all that take seconds, those of the viewer included
#   tests.sh long        all others, as scripts/long-tests.txt lists them; what has passed at this commit is not repeated
#   tests.sh long 3/8    the third of eight parts that take about as long
#   tests.sh long turn   the part whose turn it is: one commit after another has another
#   tests.sh plan 3/8    only says what `long 3/8` would run
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
list=scripts/long-tests.txt
part_seconds=720 # a part in turn takes at most so long, as listed: quick tests and lints have the rest of a pipeline's hour

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
touch "$log"
export PRONY_NOT_TESTED=$work/not-tested
touch "$PRONY_NOT_TESTED"
[ ! -t 1 ] || export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-always}
failed=()

# Runs one step whatever became of those before it.
step() {
  echo "+ $*" | tee -a "$log"
  if ! "$@" 2>&1 | tee -a "$log"; then
    failed+=("$*")
    return 1
  fi
}

# Part PART of PARTS of the list: each test, longest first, goes to the part that has least to do.
part() {
  grep -vE '^ *(#|$)' "$list" | sort -k1,1nr -k2 | awk -v part="$1" -v parts="$2" '
    {
      least = 1
      for (i = 2; i <= parts; i++) if (sum[i] + 0 < sum[least] + 0) least = i
      sum[least] += $1
      if (least == part) print
    }'
}

# How many parts there are where none may be too long.
parts() {
  grep -vE '^ *(#|$)' "$list" | awk -v most="$part_seconds" '{ sum += $1 } END { print int((sum + most - 1) / most) }'
}

# A number that the next commit has another of. A shallow clone does not know how many there were before.
turn() {
  if [ "$(git rev-parse --is-shallow-repository 2>/dev/null)" = false ]; then
    git rev-list --count HEAD
  else
    echo $((16#$(git rev-parse HEAD 2>/dev/null | cut -c1-7 || date +%j)))
  fi
}

# One line of the list: SECONDS PACKAGE PROGRAM TEST [optimised] [NAME=VALUE]
long_test() {
  local seconds=$1 package=$2 program=$3 test=$4 settings=() environment=() target
  shift 4
  for more in "$@"; do
    case $more in
      optimised) # as fast as a release, without building all dependencies anew
        settings=(--config 'profile.dev.package.prony.opt-level=2' --config 'profile.dev.package.prony.debug-assertions=false')
        ;;
      *=*) environment+=("$more") ;;
    esac
  done
  case $program in lib) target=(--lib) ;; *) target=(--test "$program") ;; esac
  # built beforehand, so that the limit is the test's alone: three times what is listed, and a minute
  "$cargo" test --quiet "${settings[@]}" -p "$package" "${target[@]}" --no-run || return 1
  echo "$package $program $test: about $seconds s"
  env "${environment[@]}" timeout --kill-after=30 $((3 * seconds + 60)) \
    "$cargo" test --quiet "${settings[@]}" -p "$package" "${target[@]}" -- --exact "$test" --ignored --nocapture |
    tee "$work/one" || return 1
  grep -q '^test result:.* 1 passed' "$work/one"
}

# Sets number, count and lines to what is to be run.
plan() {
  case $1 in
    "") number=1 count=1 ;;
    turn) count=$(parts) number=$(($(turn) % count + 1)) ;;
    *) number=${1%/*} count=${1#*/} ;;
  esac
  if ! [[ $number/$count =~ ^[1-9][0-9]*/[1-9][0-9]*$ ]] || ((number > count)); then
    echo "a part looks like 3/8, not like $1" >&2
    exit 2
  fi
  mapfile -t lines < <(part "$number" "$count")
}

long() {
  local wanted=$1 done=target/long-tests.done number count lines
  plan "$wanted"
  echo "long tests, part $number of $count"
  if [ -z "$wanted" ]; then
    mkdir -p target
    [ "$(head -n 1 "$done" 2>/dev/null)" = "$(git rev-parse HEAD)" ] || git rev-parse HEAD >"$done"
  fi
  for line in "${lines[@]}"; do
    if [ -z "$wanted" ] && grep -qxF "$line" "$done"; then
      echo "passed before at this commit: $line"
      continue
    fi
    # shellcheck disable=SC2086 # a line is several words
    if step long_test $line && [ -z "$wanted" ]; then echo "$line" >>"$done"; fi
  done
  if [ -z "$wanted" ] && ((${#failed[@]} == 0)); then rm "$done"; fi
}

case ${1:-} in
  quick)
    step "$cargo" test --workspace --no-fail-fast || true
    step "$cargo" test -p prony --bench peers -- --smoke || true
    step scripts/viewer.sh test || true
    ;;
  long) long "${2:-}" ;;
  plan)
    plan "${2:-}"
    printf '%s\n' "${lines[@]}"
    exit
    ;;
  *) sed -n '2,7s/^# \?//p' "$0" >&2 && exit 2 ;;
esac

if [ -s "$PRONY_NOT_TESTED" ]; then
  echo
  sort -u "$PRONY_NOT_TESTED"
fi
for step in "${failed[@]}"; do echo "FAILED: $step"; done
# what tests start as processes of their own is filtered, and no test by itself
awk -v steps="$1" '{ gsub(/\033\[[0-9;]*m/, "") }
  /^test result:/ && (steps == "long" || / 0 filtered out/) { passed += $4; failed += $6 }
  END { printf "%d passed, %d failed\n", passed, failed }' "$log"
((${#failed[@]} == 0))
