#!/usr/bin/env bash
# Packages for who will not compile, in target/package:
#   package.sh            deb and image
#   package.sh deb        prony_VERSION_ARCHITECTURE.deb: program, manual pages, completions, guide
#   package.sh image      prony-VERSION-ARCHITECTURE.image.tar, for `podman load` or `docker load`: Debian's smallest system with
#                         that package
#   package.sh agent      prony-agent-VERSION-ARCHITECTURE.image.tar: program and C library, nothing else, for load hosts and runs
#                         in a cluster; and root-ARCHITECTURE, of which deploy/Containerfile makes the same image
# A release of more than 25 MB is not packaged: look for what came in. PRONY_SIZE_MAX=BYTES is another limit.
# PRONY_PROGRAM=FILE packages this program instead of building the release; OUT=DIRECTORY puts the files there.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${OUT:-target/package}
cargo=${CARGO:-cargo}
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version *= *"\(.*\)"/\1/p' Cargo.toml)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

need() { # PROGRAM, PACKAGE that has it
  command -v "$1" >/dev/null && return
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    echo "installing $2 with apt" >&2
    apt-get update -q >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$2" >&2
  else
    echo "missing: $1. Install it (Debian: apt install $2) and try again." >&2
    exit 2
  fi
}

program() {
  if [ -z "${PRONY_PROGRAM:-}" ]; then
    echo "building the release: about four minutes on two processors the first time" >&2
    "$cargo" build --release >&2
  fi
  local file=${PRONY_PROGRAM:-target/release/prony} size size_max=${PRONY_SIZE_MAX:-}
  # a program that was given may be a debug build, which is four times as large
  [ -n "$size_max" ] || [ -n "${PRONY_PROGRAM:-}" ] || size_max=25000000
  size=$(stat -Lc %s "$file")
  echo "$file has $size bytes" >&2
  if [ -n "$size_max" ] && ((size > size_max)); then
    echo "that is more than $size_max: look for what made it larger (cargo tree -e features, nm --size-sort)" >&2
    exit 1
  fi
  echo "$file"
}

deb() {
  need dpkg-deb dpkg
  need objdump binutils
  local program root=$work/deb page
  program=$(program)
  local doc=$root/usr/share/doc/prony
  install -D "$program" "$root/usr/bin/prony"
  "$program" man --directory "$root/usr/share/man/man1"
  gzip -9n "$root"/usr/share/man/man1/*.1
  mkdir -p "$root"/usr/share/{bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d} "$doc"
  "$program" completions bash >"$root/usr/share/bash-completion/completions/prony"
  "$program" completions zsh >"$root/usr/share/zsh/vendor-completions/_prony"
  "$program" completions fish >"$root/usr/share/fish/vendor_completions.d/prony.fish"
  cp --parents README.md README.zh-CN.md BENCHMARKS.md schemas/study.toml "$doc"
  cp --parents -r docs deploy "$doc"
  {
    echo "Prony, licensed under the Apache License 2.0: /usr/share/common-licenses/Apache-2.0"
    echo
    echo "The viewer in reports:"
    cat viewer/dist/THIRD-PARTY.txt
  } >"$doc/copyright"
  gzip -9nc CHANGELOG.md >"$doc/changelog.gz"

  # the newest C library of which it uses something
  local libc
  libc=$(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sort -V | tail -n 1)
  architecture=$(dpkg --print-architecture)
  mkdir "$root/DEBIAN"
  cat >"$root/DEBIAN/control" <<END
Package: prony
Version: $version
Architecture: $architecture
Maintainer: The Prony developers <prony@localhost>
Section: database
Priority: optional
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f 1)
Depends: libc6 (>= ${libc#GLIBC_}), libgcc-s1
Recommends: perl
Suggests: iproute2, linux-perf
Description: benchmarks MySQL and MariaDB servers
 One file says which servers to compare and under which load. One command
 starts the servers, runs the load, and writes a report with the answer and
 how far it can be trusted.
END
  mkdir -p "$out"
  file=$out/prony_${version}_$architecture.deb
  dpkg-deb --root-owner-group --build "$root" "$file" >&2
  echo "$file"
}

agent() {
  local program architecture root file
  program=$(program)
  case $(uname -m) in x86_64) architecture=amd64 ;; aarch64) architecture=arm64 ;; *) architecture=$(uname -m) ;; esac
  root=$out/root-$architecture
  rm -rf "$root"
  install -D "$program" "$root/usr/bin/prony"
  # its loader and libraries, and what the C library loads by itself to look names up
  { ldd "$program" | grep -o '/[^ ]*' && ldd "$program" | sed -n 's,.*=> \(/.*\)/libc\.so\.6.*,\1/libnss_dns.so.2\n\1/libresolv.so.2,p'; } |
    sort -u | while read -r file; do [ ! -e "$file" ] || install -D "$file" "$root$file"; done
  mkdir -p "$root/etc/ssl/certs"
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || true
  echo 'prony:x:65532:65532:Prony:/work:/' >"$root/etc/passwd"
  echo 'prony:x:65532:' >"$root/etc/group"
  echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
  install -d -m 1777 "$root/tmp" "$root/work"
  file=$out/prony-agent-$version-$architecture.image.tar
  IMAGE_USER=65532:65532 scripts/image.sh "localhost/prony-agent:$version" "$root" "$file" /usr/bin/prony
  echo "$file"
}

image() {
  need mmdebstrap mmdebstrap
  local suite image=$work/image sum
  suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  deb | tee "$work/file"
  file=$(cat "$work/file") architecture=$(dpkg --print-architecture)
  echo "making the image from Debian $suite" >&2
  mkdir "$image"
  # packages come from where this system has them; inside stands Debian's own address
  apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' |
    awk -v suite="$suite" '($2 == suite || $2 == suite "-updates" || $2 == suite "-security") && !seen[$0]++ {
      print "deb " $1 " " $2 " main" }' >"$work/sources"
  [ -s "$work/sources" ] || { echo "apt knows no packages of Debian $suite; the image needs them" >&2 && exit 2; }
  cp "$file" "$work/prony.deb"
  chmod a+rx "$work"
  mmdebstrap --quiet --variant=apt --include=ca-certificates,perl-base \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*/changelog*' \
    --customize-hook="copy-in $work/prony.deb /" \
    --customize-hook='chroot "$1" apt-get install --yes --no-install-recommends /prony.deb && rm "$1/prony.deb"' \
    --customize-hook='chroot "$1" apt-get clean && rm -rf "$1"/var/lib/apt/lists/*' \
    --customize-hook='grep "^deb " "$1/usr/share/doc/apt/examples/sources.list" >"$1/etc/apt/sources.list"' \
    --customize-hook='rm -f "$1"/etc/apt/sources.list.d/* "$1"/etc/apt/apt.conf.d/99mmdebstrap; mkdir "$1/work"' \
    "$suite" "$image/layer.tar" "$work/sources" >&2
  sum=$(sha256sum "$image/layer.tar" | cut -d ' ' -f 1)
  cat >"$image/config.json" <<END
{"architecture": "$architecture", "os": "linux",
 "config": {"Entrypoint": ["/usr/bin/prony"], "WorkingDir": "/work",
  "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"]},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$sum"]},
 "history": [{"created_by": "scripts/package.sh image"}]}
END
  cat >"$image/manifest.json" <<END
[{"Config": "config.json", "RepoTags": ["localhost/prony:$version", "localhost/prony:latest"], "Layers": ["layer.tar"]}]
END
  file=$out/prony-$version-$architecture.image.tar
  tar -C "$image" -cf "$file" manifest.json config.json layer.tar
  echo "$file"
}

case ${1:-} in
  deb) deb ;;
  image) image ;;
  agent) agent ;;
  "") image ;; # makes the package on the way
  *) sed -n '2,10s/^# \?//p' "$0" >&2 && exit 2 ;;
esac
