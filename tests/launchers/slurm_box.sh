#!/bin/bash
# slurm_box.sh STATE_DIR COMMAND…: a Slurm of $NODES nodes in namespaces of its own; all of it ends with the command.
# The nodes are slurmd processes of this machine, each with 8 GPUs that are character devices.
set -u
state=$1
shift
nodes=${NODES:-4}
if [ -z "${IN_BOX:-}" ]; then
  IN_BOX=1 exec unshare --net --mount --pid --uts --fork --mount-proc --kill-child "$0" "$state" "$@"
fi
ip link set lo up && ip addr add 127.0.0.2/8 dev lo || exit 9 # with 127.0.0.1 alone no name has an address
hostname box
mkdir -p "$state"/{state,spool,run,log}
echo "127.0.0.1 localhost box $(seq -f node%g -s ' ' "$nodes")" >"$state/hosts"
mount --bind "$state/hosts" /etc/hosts || exit 9
cat >"$state/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=box(127.0.0.1)
SlurmctldPort=6817
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0
ReturnToService=2
KillWait=5
JobRequeue=1
StateSaveLocation=$state/state
SlurmdSpoolDir=$state/spool/%n
SlurmctldPidFile=$state/run/slurmctld.pid
SlurmdPidFile=$state/run/slurmd.%n.pid
SlurmctldLogFile=$state/log/slurmctld.log
SlurmdLogFile=$state/log/slurmd.%n.log
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=node[1-$nodes] NodeHostname=box NodeAddr=127.0.0.1 Port=[17001-$((17000 + nodes))] CPUs=128 RealMemory=2000000 Gres=gpu:8 State=UNKNOWN
PartitionName=gpu Nodes=node[1-$nodes] Default=YES MaxTime=INFINITE State=UP
CONF
echo "NodeName=node[1-$nodes] Name=gpu File=/dev/tty[0-7]" >"$state/gres.conf"
export SLURM_CONF=$state/slurm.conf
slurmctld -c || exit 9
for node in $(seq -f node%g "$nodes"); do
  mkdir -p "$state/spool/$node"
  unshare --uts sh -c "hostname $node; exec slurmd -N $node" || exit 9
done
idle=0
for _ in $(seq 300); do
  kill -0 "$(cat "$state/run/slurmctld.pid" 2>/dev/null)" 2>/dev/null || { tail -5 "$state/log/slurmctld.log" >&2; exit 9; }
  idle=$(timeout 5 sinfo -h -N -o '%N %T' 2>/dev/null | sort -u | grep -c idle)
  [ "$idle" = "$nodes" ] && break
  sleep 0.2
done
[ "$idle" = "$nodes" ] || { echo "only $idle of $nodes nodes came up" >&2; exit 9; }
"$@"
