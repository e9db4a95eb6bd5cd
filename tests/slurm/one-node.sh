#!/bin/bash
# A Slurm of one node for tests: `one-node.sh start FOLDER` as root, then `one-node.sh stop FOLDER`.
# Needs Debian's slurmctld, slurmd, slurm-client and munge; no systemd, no cgroups, nothing in /etc.
# Everything lies in FOLDER; programs find the cluster by SLURM_CONF=FOLDER/slurm.conf.
#
# Partitions: cpu (the default, up to a day), gpu (two H100 and one A100 that are plain files), short
# (at most two minutes). A job that goes back into the queue may start after five seconds.
set -euo pipefail

[ $# = 2 ] || { echo "usage: $0 start|stop FOLDER" >&2; exit 2; }
mkdir -p "$2"
folder="$(cd "$2" && pwd)"
export SLURM_CONF="$folder/slurm.conf"

# Ends what a file of a process number names, and waits for its end.
end() {
    local pid
    pid="$(cat "$1" 2>/dev/null)" || return 0
    kill "$pid" 2>/dev/null || return 0
    for _ in $(seq 50); do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null || true
}

stop() {
    scancel --user="$(id -un)" 2>/dev/null || true
    end "$folder/slurmd.pid"
    end "$folder/slurmctld.pid"
    end "$folder/munged.pid"
}

if [ "$1" = stop ]; then
    stop
    exit 0
fi
[ "$(id -u)" = 0 ] || { echo "a node of Slurm is started by root" >&2; exit 2; }

umask 022
host="$(hostname -s)"
mkdir -p "$folder/state" "$folder/spool" "$folder/munge" "$folder/gpus"
touch "$folder/gpus/"{0,1,2}
# Numbers of ports that other clusters on this machine do not have.
port=$((20000 + 2 * ($$ % 10000)))
memory=$(awk '/MemTotal/ { print int($2 / 1024 * 0.8) }' /proc/meminfo)
head -c 1024 /dev/urandom >"$folder/munge/key"
chmod 700 "$folder/munge"
chmod 600 "$folder/munge/key"

cat >"$folder/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$folder/munge.socket,cred_expire=5
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,defer_batch,batch_sched_delay=0,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SlurmdParameters=config_overrides
KillWait=5
MaxArraySize=64
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=32 RealMemory=$memory Gres=gpu:h100:2,gpu:a100:1 State=UNKNOWN
PartitionName=cpu Nodes=$host Default=YES MaxTime=1-00:00:00 State=UP
PartitionName=gpu Nodes=$host MaxTime=01:00:00 State=UP
PartitionName=short Nodes=$host MaxTime=00:02:00 State=UP
CONF
cat >"$folder/gres.conf" <<CONF
AutoDetect=off
NodeName=$host Name=gpu Type=h100 File=$folder/gpus/[0-1]
NodeName=$host Name=gpu Type=a100 File=$folder/gpus/2
CONF

trap 'echo "the cluster did not start:" >&2; tail -n 20 "$folder"/*.log >&2; stop' ERR
/usr/sbin/munged --force --socket="$folder/munge.socket" --key-file="$folder/munge/key" \
    --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" \
    --seed-file="$folder/munge/seed" --num-threads=2
/usr/sbin/slurmctld -c
/usr/sbin/slurmd
for _ in $(seq 100); do
    [ "$(sinfo --noheader --format=%t --partition=cpu 2>/dev/null)" = idle ] && exit 0
    sleep 0.2
done
false
