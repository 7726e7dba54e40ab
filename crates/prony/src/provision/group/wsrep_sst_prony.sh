#!/bin/sh
# Made by Prony. A node that joins a cluster gets a copy of another node's files, on the same machine, with nothing but a shell
# and cp. The server runs this at both: the one that joins says where its files belong, the other one puts them there.
while [ $# -gt 0 ]; do
    case "$1" in
        --role) role=$2; shift ;;
        --address) address=$2; shift ;;
        --datadir) data=${2%/}; shift ;;
        --gtid) gtid=$2; shift ;;
        --bypass) bypass=yes ;;
    esac
    shift
done

# What each node has for itself.
is_own() {
    case "${1##*/}" in
        galera.cache | grastate.dat | gvwstate.dat | tables_flushed | prony_position*) return 0 ;;
    esac
    return 1
}

# The server ends this script with itself, but a wait must end by itself, too.
wait_for() {
    tries=0
    until [ -f "$1" ]; do
        tries=$((tries + 1))
        [ $tries -lt 6000 ] || exit 110
        sleep 0.1
    done
}

if [ "$role" = joiner ]; then
    rm -f "$data/prony_position"
    echo "ready $data"
    wait_for "$data/prony_position"
    cat "$data/prony_position"
    rm -f "$data/prony_position"
    exit 0
fi

if [ -z "$bypass" ]; then
    echo "flush tables"
    wait_for "$data/tables_flushed"
    for file in "$address"/*; do is_own "$file" || rm -rf "$file"; done
    for file in "$data"/*; do is_own "$file" || cp -a "$file" "$address/" || exit 5; done
    echo "continue"
fi
echo "$gtid" > "$address/prony_position.new" || exit 5
mv "$address/prony_position.new" "$address/prony_position"
echo "done $gtid"
