#!/usr/bin/env bash
# A real Kubernetes on this machine, for tests: control plane, one or more nodes, pods on a bridge. Root only, Linux only.
#   kubernetes.sh build           its programs and helm, from Go modules, kept in the user's cache (10 minutes once): tells where
#   kubernetes.sh up DIRECTORY [NODES]    starts it; everything that it writes is below that directory, kubeconfig admin.conf included
#   kubernetes.sh down DIRECTORY  ends it and removes the directory
#   kubernetes.sh import DIRECTORY ARCHIVE...   gives the node images
# There is no DNS and no kube-proxy: pods reach this machine at 10.244.0.1 and the API at 10.245.0.1:16443.
set -euo pipefail
version=v1.34.1
here=$(cd "$(dirname "$0")" && pwd)
bin=${XDG_CACHE_HOME:-$HOME/.cache}/prony-kubernetes/$version
PATH=$PATH:$bin
api=10.245.0.1 port=16443 gateway=10.244.0.1 etcd=http://127.0.0.1:12379

build() {
  local program
  mkdir -p "$bin"
  for program in kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl helm; do
    command -v $program >/dev/null && continue
    command -v go >/dev/null || { echo "missing: go, to build Kubernetes" >&2 && exit 2; }
    echo "building $program" >&2
    if [ $program = helm ]; then
      GOBIN=$bin go install -trimpath -ldflags '-s -w' helm.sh/helm/v3/cmd/helm@v3.19.0
      continue
    fi
    (cd "$here/kubernetes" && GOFLAGS=-mod=mod go build -trimpath -ldflags '-s -w' -o "$bin/$program.new" "k8s.io/kubernetes/cmd/$program")
    mv "$bin/$program.new" "$bin/$program"
  done
  echo "$bin"
}

# A program in the background, by name; its output and its number are files of that name.
run() {
  local name=$1
  shift
  setsid "$@" >"$name.log" 2>&1 </dev/null &
  echo $! >"$name.pid"
}

await() { # SECONDS COMMAND...
  local tries=$(($1 * 4))
  shift
  until "$@" >/dev/null 2>&1; do
    ((tries-- > 0)) || { echo "waited in vain for: $*" >&2 && return 1; }
    sleep 0.25
  done
}

sign() { # NAME SUBJECT: a certificate of the cluster's authority
  openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "$2" 2>/dev/null
  printf 'subjectAltName=IP:%s,IP:127.0.0.1,IP:10.96.0.1\n' "$api" >names
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out "$1.crt" 2>/dev/null
}

login() { # NAME: a kubeconfig with its certificate
  cat >"$1.conf" <<END
apiVersion: v1
kind: Config
current-context: local
clusters: [{name: local, cluster: {server: "https://$api:$port", certificate-authority: $dir/ca.crt}}]
users: [{name: me, user: {client-certificate: $dir/$1.crt, client-key: $dir/$1.key}}]
contexts: [{name: local, context: {cluster: local, user: me, namespace: default}}]
END
}

control_plane() {
  run etcd etcd --data-dir etcd-data --listen-client-urls $etcd --advertise-client-urls $etcd --unsafe-no-fsync \
    --listen-peer-urls http://127.0.0.1:12380 --initial-advertise-peer-urls http://127.0.0.1:12380 \
    --initial-cluster default=http://127.0.0.1:12380
  run apiserver "$bin/kube-apiserver" --etcd-servers=$etcd --bind-address=$api --advertise-address=$api --secure-port=$port \
    --tls-cert-file=server.crt --tls-private-key-file=server.key --client-ca-file=ca.crt --authorization-mode=Node,RBAC \
    --service-account-key-file=ca.key --service-account-signing-key-file=ca.key --service-cluster-ip-range=10.96.0.0/16 \
    --service-account-issuer=https://kubernetes.default.svc --endpoint-reconciler-type=none \
    --kubelet-client-certificate=admin.crt --kubelet-client-key=admin.key --kubelet-preferred-address-types=InternalIP
  await 90 kubectl get --raw /readyz
  run controllers "$bin/kube-controller-manager" --kubeconfig=admin.conf --service-account-private-key-file=ca.key \
    --root-ca-file=ca.crt --use-service-account-credentials=true --leader-elect=false --bind-address=127.0.0.1
  run scheduler "$bin/kube-scheduler" --kubeconfig=admin.conf --leader-elect=false --bind-address=127.0.0.1
}

pause_image() { # what holds a pod's namespaces: a program that waits
  mkdir -p pause
  cat >pause.c <<'END'
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void over(int number) { _exit(number == SIGTERM || number == SIGINT ? 0 : 1); }
static void reap(int number) { (void)number; while (waitpid(-1, 0, WNOHANG) > 0) {} }
int main(void) {
  signal(SIGTERM, over); signal(SIGINT, over); signal(SIGCHLD, reap);
  for (;;) pause();
}
END
  cc -static -O1 -o pause/pause pause.c
  "$here/image.sh" localhost/pause:1 pause pause.tar /pause
}

node() { # NUMBER: a kubelet with a containerd of its own; all nodes are this machine, with addresses of pods of their own
  local number=$1 own=$dir/node$1 address=10.245.0.$1 range=10.244.$(($1 - 1))
  mkdir -p "$own/cni"
  ip address replace "$address/32" dev prony-node
  sign "node$number" "/O=system:nodes/CN=system:node:n$number"
  login "node$number"
  cat >"$own/cni/pods.conflist" <<END
{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "prony-pods$number", "isGateway": true,
 "ipam": {"type": "host-local", "dataDir": "$own/addresses",
  "ranges": [[{"subnet": "$range.0/24", "gateway": "$range.1"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
  cat >"$own/containerd.toml" <<END
version = 2
root = "$own/containerd"
state = "$own/containerd-state"
[grpc]
address = "$own/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "localhost/pause:1"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "$own/cni"
END
  run "containerd$number" containerd --config "$own/containerd.toml"
  [ -f pause.tar ] || pause_image
  await 30 ctr --address "$own/containerd.sock" version
  ctr --address "$own/containerd.sock" --namespace k8s.io images import pause.tar >/dev/null
  # kubelets remove groups of pods that they do not know: each has its own
  local group=/prony-n$number controller
  for controller in /sys/fs/cgroup /sys/fs/cgroup/*; do
    [ -f "$controller/cgroup.procs" ] && mkdir -p "$controller$group"
  done
  for controller in /sys/fs/cgroup/cpuset; do
    [ -f "$controller/cpuset.cpus" ] || continue
    cat "$controller/cpuset.cpus" >"$controller$group/cpuset.cpus"
    cat "$controller/cpuset.mems" >"$controller$group/cpuset.mems"
  done
  cat >"$own/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $address
port: 11250
healthzBindAddress: $address
healthzPort: 11248
authentication: {anonymous: {enabled: false}, x509: {clientCAFile: $dir/ca.crt}}
cgroupDriver: cgroupfs
cgroupRoot: $group
failSwapOn: false
failCgroupV1: false
localStorageCapacityIsolation: false
enforceNodeAllocatable: []
evictionHard: {}
containerRuntimeEndpoint: unix://$own/containerd.sock
END
  run "kubelet$number" "$bin/kubelet" --config="$own/kubelet.yaml" --kubeconfig="node$number.conf" --hostname-override="n$number" \
    --node-ip="$address" --root-dir="$own/kubelet" --cert-dir="$own/kubelet-pki"
  await 60 sh -c "kubectl get nodes n$number --no-headers | grep -q ' Ready'"
  await 30 kubectl get serviceaccount default
}

up() {
  build >/dev/null
  local program
  for program in etcd containerd runc ctr kubectl openssl cc ip; do
    command -v $program >/dev/null || { echo "missing: $program" >&2 && exit 2; }
  done
  mkdir -p "$1" && cd "$1"
  dir=$PWD
  export KUBECONFIG=$dir/admin.conf
  ip link show prony-node >/dev/null 2>&1 || ip link add prony-node type bridge
  ip address replace $api/32 dev prony-node
  ip link set prony-node up
  openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=authority 2>/dev/null
  sign server /CN=kube-apiserver
  sign admin /O=system:masters/CN=admin
  login admin
  control_plane
  local number
  for number in $(seq "${2:-1}"); do node "$number"; done
}

end() { # NAME: one that `run` started; the next waits for it
  [ -f "$1.pid" ] || return 0
  local pid
  pid=$(cat "$1.pid")
  kill "$pid" 2>/dev/null || return 0
  await 10 sh -c "! kill -0 $pid" || kill -9 "$pid" 2>/dev/null
}

networks() { # NODE: of pods that did not end in order, network namespaces and what CNI remembers
  local address file id name
  for address in "$1"/addresses/*/10.*; do
    [ -f "$address" ] || continue
    id=$(head -n 1 "$address" | tr -d '\r')
    for file in /var/lib/cni/results/*-"$id"-*; do
      [ -f "$file" ] || continue
      name=$(grep -oE '/netns/cni-[0-9a-f-]+' "$file" | head -n 1) || true
      [ -z "$name" ] || ip netns delete "${name##*/}" 2>/dev/null || true
      rm -f "$file"
    done
  done
}

down() {
  cd "$1"
  local dir=$PWD task mount
  KUBECONFIG=$dir/admin.conf timeout 20 kubectl delete jobs,pods --all --all-namespaces --grace-period=0 --force >/dev/null 2>&1 || true
  local node
  for node in node*/; do
    node=${node%/}
    end "kubelet${node#node}"
    for task in $(ctr --address "$node/containerd.sock" --namespace k8s.io tasks list --quiet 2>/dev/null); do
      ctr --address "$node/containerd.sock" --namespace k8s.io tasks kill --signal 9 "$task" 2>/dev/null || true
    done
  done
  sleep 1
  for task in scheduler controllers apiserver etcd; do end $task; done
  for node in node*/; do
    node=${node%/}
    end "containerd${node#node}"
    # what it leaves running for its containers
    for task in $(ps -eo pid=,args= | awk -v socket="$dir/$node/containerd.sock" '/containerd-shim/ && index($0, socket) { print $1 }'); do
      kill -9 "$task" 2>/dev/null || true
    done
    networks "$node"
  done
  awk -v under="$dir/" 'index($2, under) == 1 { print $2 }' /proc/mounts | sort -r | while read -r mount; do umount -l "$mount" || true; done
  find /sys/fs/cgroup -depth -type d \( -path '*/kubepods*' -o -name 'prony-n[0-9]*' \) -exec rmdir {} + 2>/dev/null || true
  ip link delete prony-node 2>/dev/null || true
  for node in $(seq 9); do ip link delete "prony-pods$node" 2>/dev/null || true; done
  cd / && rm -rf "$dir"
}

case ${1:-} in
  build) build ;;
  up) up "$2" "${3:-1}" ;;
  down) down "$2" ;;
  import)
    cd "$2" && shift 2
    for socket in node*/containerd.sock; do
      for archive in "$@"; do ctr --address "$socket" --namespace k8s.io images import "$archive" >/dev/null; done
    done
    ;;
  *) sed -n '2,8s/^# \?//p' "$0" >&2 && exit 2 ;;
esac
