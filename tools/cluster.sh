#!/bin/bash
# An emulated cluster on one machine: network namespaces as nodes, no ssh, no containers. Needs root.
#
#   cluster.sh up NODES [SLOTS]    NODES nodes of SLOTS (1) ranks each; see the variables below
#   cluster.sh exec I COMMAND...   run COMMAND on node I; there a plain `mpiexec -n N ./app` (Open MPI 4,
#                                  Open MPI 5 or MPICH) fills the nodes in order
#   cluster.sh status | down
#
#   CLUSTER_NAME    prefix of the nodes' names (halo), and identity of the cluster
#   CLUSTER_NET     first three numbers of their addresses (10.78.0)
#   CLUSTER_CLEAN   1 at `up`: the other nodes start processes with an empty environment, as ssh does
#   CLUSTER_NIC     bandwidth of a node's link, such as 1gbit (unlimited)
#   CLUSTER_LEAF    nodes a leaf switch (all), CLUSTER_UPLINK bandwidth from leaf to spine (unlimited)
set -euo pipefail
name=${CLUSTER_NAME:-halo}
net=${CLUSTER_NET:-10.78.0}
dir=/run/haloscope-cluster.$name
switch=${name}sw

fail() { echo "cluster.sh: $*" >&2; exit 1; }
usage() { sed -n '4,13s/^# \{0,1\}//p' "$0" >&2; exit 2; }

# Runs a command in the namespaces of node $1.
enter() {
  local node=$1; shift
  exec nsenter --net="/run/netns/$name$node" --uts="$dir/uts.$node" -- "$@"
}

# ip in namespace $1. Not `ip -n`, which wants to remount /, and can't in a chroot.
ip_in() {
  local namespace=$1; shift
  nsenter --net="/run/netns/$namespace" ip "$@"
}

# Limits what leaves device $2 of namespace $1 to rate $3. 128 KiB of burst is where a 1 Gbit/s link
# carries its nominal rate; less starves it, more exceeds it.
limit() {
  [ -z "$3" ] || nsenter --net="/run/netns/$1" tc qdisc replace dev "$2" root tbf rate "$3" burst 128kb latency 50ms
}

add_leaf() { # LEAF
  ip_in "$switch" link add "leaf$1" type bridge
  ip_in "$switch" link set "leaf$1" up
  ip_in "$switch" link add "up$1" type veth peer name "down$1"
  ip_in "$switch" link set "up$1" master "leaf$1" up
  ip_in "$switch" link set "down$1" master spine up
  limit "$switch" "up$1" "${CLUSTER_UPLINK:-}"
  limit "$switch" "down$1" "${CLUSTER_UPLINK:-}"
}

add_node() { # NODE LEAF
  ip netns add "$name$1"
  ip_in "$name$1" link set lo up
  ip_in "$name$1" link add eth0 type veth peer name "port$1" netns "$switch"
  ip_in "$name$1" addr add "$net.$(($1 + 1))/24" dev eth0
  ip_in "$name$1" link set eth0 up
  ip_in "$switch" link set "port$1" master "leaf$2" up
  limit "$name$1" eth0 "${CLUSTER_NIC:-}"
  limit "$switch" "port$1" "${CLUSTER_NIC:-}"
  touch "$dir/uts.$1"
  unshare --uts="$dir/uts.$1" hostname "$name$1"
}

# The stand-in for ssh: agent [OPTIONS] HOST COMMAND...
write_agent() {
  local clean=
  [ "${CLUSTER_CLEAN:-}" != 1 ] || clean="env -i HOME=\$HOME PATH=/usr/local/bin:/usr/bin:/bin"
  cat >"$dir/agent" <<AGENT
#!/bin/sh
while :; do case \$1 in -*) shift ;; *) break ;; esac; done
host=\$1
shift
case \$host in
  $net.*) node=\$((\${host##*.} - 1)) ;;
  *) node=\${host#$name} ;;
esac
exec $clean nsenter --net=/run/netns/$name\$node --uts=$dir/uts.\$node -- /bin/sh -c "\$*" </dev/null
AGENT
  chmod +x "$dir/agent"
}

# What makes a plain mpiexec on a node use the cluster. Each launcher reads only its own variables.
launchers() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_MCA_plm_rsh_agent=$dir/agent OMPI_MCA_plm_rsh_no_tree_spawn=1
  export OMPI_MCA_orte_default_hostfile=$dir/hosts.openmpi OMPI_MCA_oob_tcp_if_include=$net.0/24
  export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
  # Version 4's launcher may see a process end before it reads that it called MPI_Finalize.
  export OMPI_MCA_orte_allowed_exit_without_sync=1
  export OMPI_MCA_pml=ob1 OMPI_MCA_btl_tcp_if_include=$net.0/24
  export PRTE_MCA_plm_ssh_agent=$dir/agent PRTE_MCA_plm_ssh_no_tree_spawn=1
  export PRTE_MCA_prte_default_hostfile=$dir/hosts.openmpi PRTE_MCA_prte_if_include=$net.0/24
  export PRTE_MCA_hwloc_default_binding_policy=none
  export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$dir/agent HYDRA_IFACE=eth0
  export HYDRA_HOST_FILE=$dir/hosts.mpich
  # UCX, inside MPICH, takes nodes with one boot id for one node, and loses a first message between
  # them about once in twenty runs, with and without shared memory. MPICH 5 has another way; Debian's
  # 4.0 has not, but loses nothing unless UCX_TLS is set.
  export MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp
}

up() {
  local nodes=$1 slots=$2 leaf=${CLUSTER_LEAF:-$1} node
  [ "$nodes" -le 250 ] || fail "$nodes nodes: 250 is the most"
  [ ! -e "$dir" ] || fail "cluster $name is up already: $dir (cluster.sh down)"
  mkdir -p "$dir"
  trap 'down' ERR
  ip netns add "$switch"
  ip_in "$switch" link add spine type bridge
  ip_in "$switch" link set spine up
  for ((node = 0; node < nodes; node++)); do
    ((node % leaf)) || add_leaf $((node / leaf))
    add_node "$node" $((node / leaf))
    echo "$name$node slots=$slots" >>"$dir/hosts.openmpi"
    echo "$name$node:$slots" >>"$dir/hosts.mpich"
  done
  write_agent
}

down() {
  local file node pids
  for file in "$dir"/uts.*; do
    [ -e "$file" ] || continue
    node=${file##*.}
    pids=$(ip netns pids "$name$node" 2>/dev/null || :)
    # shellcheck disable=SC2086 # a list of process ids
    [ -z "$pids" ] || kill $pids 2>/dev/null || :
    umount "$file" 2>/dev/null || :
    ip netns del "$name$node" 2>/dev/null || :
  done
  ip netns del "$switch" 2>/dev/null || :
  rm -rf "$dir"
}

[ "$(id -u)" = 0 ] || fail "network namespaces need root"
command -v ip >/dev/null || fail "no ip command: apt-get install iproute2"
case ${1:-} in
  up) [ $# -ge 2 ] || usage; up "$2" "${3:-1}" ;;
  exec)
    [ $# -ge 3 ] || usage
    [ -e "$dir/uts.$2" ] || fail "cluster $name has no node $2"
    shift; launchers; enter "$@" ;;
  status) [ -e "$dir" ] || fail "cluster $name is down"; cat "$dir/hosts.openmpi" ;;
  down) down ;;
  *) usage ;;
esac
