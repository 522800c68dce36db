#!/bin/bash
# ray_box.sh STATE_DIR COMMAND…: a Ray head and two workers in namespaces of their own; all of it ends with the command.
set -u
state=$1
shift
if [ -z "${IN_BOX:-}" ]; then
  IN_BOX=1 exec unshare --net --mount --pid --uts --fork --mount-proc --kill-child "$0" "$state" "$@"
fi
ip link set lo up || exit 9
for address in 2 3; do ip addr add "127.0.0.$address/8" dev lo || exit 9; done
hostname box
echo "127.0.0.1 localhost box" >"$state/hosts"
mount --bind "$state/hosts" /etc/hosts || exit 9
export RAY_USAGE_STATS_ENABLED=0 RAY_TMPDIR=$state RAY_ADDRESS=http://127.0.0.1:8265
options="--object-store-memory=80000000 --disable-usage-stats --num-gpus=0"
# shellcheck disable=SC2086
RAY_ADDRESS='' ray start --head --node-ip-address=127.0.0.1 --port=6379 --dashboard-host=127.0.0.1 --dashboard-port=8265 \
  --num-cpus=2 --temp-dir="$state" $options >"$state/head.log" 2>&1 || { cat "$state/head.log" >&2; exit 9; }
for address in 2 3; do
  # shellcheck disable=SC2086
  RAY_ADDRESS='' ray start --address=127.0.0.1:6379 --node-ip-address="127.0.0.$address" --num-cpus=2 $options \
    >"$state/$address.log" 2>&1 || { cat "$state/$address.log" >&2; exit 9; }
done
"$@"
