#!/usr/bin/env bash
# Makes an image archive (`docker load`, `podman load`, `ctr images import`) of a directory, without any other program:
#   image.sh NAME[:TAG] DIRECTORY ARCHIVE PROGRAM...
set -euo pipefail
name=$1 root=$2 archive=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --directory "$root" --file "$work/layer.tar" .
sum=$(sha256sum "$work/layer.tar" | cut -d ' ' -f 1)
case ${ARCHITECTURE:-$(uname -m)} in x86_64 | amd64) architecture=amd64 ;; aarch64 | arm64) architecture=arm64 ;; *) architecture=$(uname -m) ;; esac
entry=$(printf '"%s", ' "$@")
cat >"$work/config.json" <<END
{"architecture": "$architecture", "os": "linux",
 "config": {"Entrypoint": [${entry%, }], "WorkingDir": "/", "User": "${IMAGE_USER:-}", "Env": ["PATH=/usr/bin:/bin", "HOME=/work"]},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$sum"]}}
END
cat >"$work/manifest.json" <<END
[{"Config": "config.json", "RepoTags": ["$name"], "Layers": ["layer.tar"]}]
END
tar --create --directory "$work" --file "$archive" manifest.json config.json layer.tar
