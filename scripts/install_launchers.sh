#!/bin/sh
# install_launchers.sh [PIP…]: the real launchers that tests/launchers starts: Slurm, Open MPI, torch and Ray.
# Ends with 0 when all of them are there, with 3 when a package source cannot be reached, with 1 for any other failure.
set -u
pip=${*:-python3 -m pip}
programs="sbatch slurmctld slurmd mpirun ip unshare"

missing() {
  for program in $programs; do
    command -v "$program" >/dev/null 2>&1 || echo "$program"
  done
}

if [ -n "$(missing)" ]; then
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "no apt-get here: install by hand what gives $(missing | tr '\n' ' ')" >&2
    exit 3
  fi
  run=
  [ "$(id -u)" = 0 ] || run=sudo
  export DEBIAN_FRONTEND=noninteractive
  if ! $run apt-get update -q -o APT::Update::Error-Mode=any >&2; then
    echo "the package source of the system cannot be reached" >&2
    exit 3
  fi
  $run apt-get install -q -y --no-install-recommends slurm-wlm openmpi-bin iproute2 util-linux >&2 || exit 1
  [ -z "$(missing)" ] || { echo "still missing: $(missing | tr '\n' ' ')" >&2; exit 1; }
fi

cd "$(dirname "$0")/.." || exit 1
if ! $pip download --quiet --no-deps --dest "$(mktemp -d)" iniconfig >&2; then # a small package shows whether there is an index
  echo "the package index cannot be reached" >&2
  exit 3
fi
$pip install --quiet --editable '.[dev,launchers]' >&2 || exit 1
