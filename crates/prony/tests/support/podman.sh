#!/bin/sh
# What Prony needs of podman, for tests: a "container" is a program in a session of its own, which does not end with this client.
# FAKE is a directory for what is known of containers, ROOT an unpacked server, LIBRARIES where its libraries are.
set -u
know="$FAKE/$(basename "$0")"
mkdir -p "$know"
echo "$*" >> "$know/said"
case "$1" in
image)
    [ "$5" = tested:1 ] || [ "$5" = 0123abc ] || exit 125
    echo 0123abc ;;
pull)
    echo "no registry has $3" >&2
    exit 125 ;;
create) ;;
export)
    tar -cf "$3" -C "$ROOT" usr ;;
rm)
    [ -f "$know/$4" ] && kill -9 "$(cat "$know/$4")"
    rm -f "$know/$4" ;;
inspect)
    cat "$know/$4" ;;
run)
    name=none
    while [ "$1" != --entrypoint ]; do
        [ "$1" = --name ] && name=$2
        case "$1" in --workdir) cd "$2" || exit 125 ;; esac
        shift
    done
    program="$ROOT$2"
    shift 3
    for word in "$@"; do
        # paths of the image
        case "$word" in --defaults-file=*) sed -i "s#= /usr#= $ROOT/usr#" "${word#*=}" ;; esac
    done
    # a shell gives what it does not wait for an empty input
    exec 3<&0
    LD_LIBRARY_PATH="$LIBRARIES" setsid "$program" "$@" <&3 &
    echo $! > "$know/$name"
    wait $!
    code=$?
    rm -f "$know/$name"
    exit $code ;;
esac
