#!/bin/sh
# Installs what some tests need beyond `make setup`: Chromium, Slurm and OpenSSH with apt, and a Ray of its own.
# Without root or apt it names what is missing; the tests that need it are skipped.
set -eu
cd "$(dirname "$0")/.."

packages=
command -v chromium-headless-shell >/dev/null 2>&1 || packages="$packages chromium-headless-shell"
if ! command -v slurmctld >/dev/null 2>&1 || [ ! -x /usr/sbin/sshd ] || [ ! -x /usr/sbin/mariadbd ]; then
  packages="$packages slurmctld slurmd slurm-client munge slurmdbd slurm-wlm-mysql-plugin mariadb-server"
  packages="$packages openssh-server openssh-client"
fi

if [ -n "$packages" ]; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "Only root can install these packages, with apt-get:$packages" >&2
    exit 1
  fi
  # The tests start and stop the servers themselves, so the packages must start none.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
  fi
  apt-get update -qq
  # shellcheck disable=SC2086  # a list of words
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
fi

.venv/bin/python -m tests.clusters.ray install
