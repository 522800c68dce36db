# Says which run this is, and what libfabric finds in this very container. Sourced by every rank's pod.
echo "clusterctl-run: ${CLUSTERCTL_RUN_ID} node=${NODE_NAME:-unknown} host=$(hostname)"
PATH="$PATH:/opt/amazon/efa/bin:/opt/amazon/openmpi/bin"
clusterctl_fi_info() {
  if ! command -v fi_info >/dev/null; then
    echo "$(hostname): fi_info: not in this image"
    return
  fi
  fi_info -p efa -t FI_EP_RDM 2>&1 | awk -v host="$(hostname)" \
    '/provider:|domain:|fi_getinfo:/ && !seen[$0]++ { sub(/^[ \t]+/, ""); print host ": " $0 }'
}
# clusterctl_transport efa|tcp|default NUMBER: the next measurement's transport, and a line that says where it begins
clusterctl_transport() {
  echo "clusterctl-measure: $1 $2 host=$(hostname)"
  unset NCCL_NET NCCL_NET_PLUGIN
  case "$1" in
    tcp) export NCCL_NET=Socket NCCL_NET_PLUGIN=none FI_PROVIDER=tcp ;;
    efa) export FI_PROVIDER=efa ;;
  esac
}
