#!/bin/sh
# Makes .venv and installs pinned sets into it:  requirements/install.sh web train [dev]
# The set loggers adds TensorBoard and Weights & Biases to a .venv:  requirements/install.sh loggers
# The set vllm goes into .venv-vllm, an environment of its own:  requirements/install.sh vllm
# Needs Python >= 3.11 with venv, and nothing else: no root, no compiler, no Docker, no system database.
# PYTHON=...  which Python.  TORCH=auto|cpu|cuda  which build of torch (auto looks for nvidia-smi).
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

# Prints a Python of version 3.11 to 3.N, of any version from 3.11 without N.
find_python() {
  versions=">= 3.11${1:+ and <= 3.$1}"
  for candidate in ${PYTHON:-} python3.13 python3.12 python3.11 python3 python; do
    if "$candidate" -c "import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, ${1:-99}))" 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  say "No Python $versions with venv was found. Install one (Debian and Ubuntu: apt install python3 python3-venv),"
  say "or name it: make setup PYTHON=/path/to/python3.11"
  exit 1
}

# pip's own settings name mirrors and folders of wheels; uv does not read them, so they are handed over.
pip_setting() { .venv/bin/python -m pip config get "global.$1" 2>/dev/null | tr '\n' ' ' || true; }

use_uv() {
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "uv==$(cat requirements/uv.txt)" 2>/dev/null || return 1
  : "${UV_FIND_LINKS:=${PIP_FIND_LINKS:-$(pip_setting find-links)}}"
  index=${PIP_INDEX_URL:-$(pip_setting index-url)}
  if [ -n "$index" ]; then export UV_DEFAULT_INDEX="${index% }"; fi
  UV_FIND_LINKS=$(printf '%s' "$UV_FIND_LINKS" | sed 's/ *$//; s/  */,/g')
  export UV_FIND_LINKS
}

install() { install_into .venv "$@"; }

install_into() {
  environment=$1
  shift
  if [ "$installer" = uv ]; then
    .venv/bin/uv pip install --quiet --python "$environment/bin/python" --no-deps "$@"
  else
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$@"
  fi
}

install_torch() {
  wanted=${TORCH:-auto}
  if [ "$wanted" = auto ]; then
    if command -v nvidia-smi >/dev/null 2>&1; then wanted=cuda; else wanted=cpu; fi
  fi
  if [ "$wanted" = cuda ]; then
    say "Installing torch with CUDA: about 3 GB of downloads."
    .venv/bin/python -m pip install --quiet -r requirements/torch.txt
  elif [ "$(uname -s)" != Linux ] || [ -n "${UV_FIND_LINKS:-}${PIP_FIND_LINKS:-}" ]; then
    install -r requirements/torch.txt
  elif [ "$installer" = uv ]; then
    install --torch-backend=cpu -r requirements/torch.txt
  else
    say "Without uv, pip would fetch the CUDA build of torch (about 3 GB). Install uv, or say so: make setup TORCH=cuda"
    exit 1
  fi
}

# vLLM's wheel wants a torch of its own, and Python up to 3.14.
install_vllm() {
  if [ "$(uname -s)" != Linux ]; then
    say "vLLM runs on Linux alone: es.backend vllm cannot be used here. Leave VLLM=1 out."
    exit 1
  fi
  say "Installing vLLM and its torch into .venv-vllm with $installer: about 3.3 GB of downloads, 6 GB on disk."
  if [ ! -x .venv-vllm/bin/python ]; then
    python=$(find_python 14)
    "$python" -m venv .venv-vllm
  fi
  install_into .venv-vllm --require-hashes -r requirements/vllm.lock
}

# Imports what esweb runs, so that its bytecode is on disk: a run starts many short processes, and each would compile
# again where it may not write. Compiling all that is installed takes three times as long; most of it is never imported.
import_once() {
  case $1 in
    web) modules="esweb.asgi, esweb.celery, esweb.urls" ;;
    train) modules="workers.engines.grpo.train, workers.models.tiny.build" ;;
    *) return 0 ;;
  esac
  data=$(mktemp -d)
  status=0
  env -u PYTHONDONTWRITEBYTECODE ESWEB_DATA="$data" DJANGO_SETTINGS_MODULE=esweb.settings \
    .venv/bin/python -c "import $modules" || status=$?
  rm -r "$data"
  return $status
}

if [ ! -x .venv/bin/python ]; then "$(find_python)" -m venv .venv; fi
installer=pip
if use_uv; then installer=uv; else say "uv cannot be installed here; pip does it, more slowly."; fi
for set in "$@"; do
  if [ "$set" = vllm ]; then
    install_vllm
    continue
  fi
  say "Installing the $set set with $installer ..."
  case $set in train | dev) .venv/bin/python -c 'import torch' 2>/dev/null || install_torch ;; esac
  install -r "requirements/$set.lock"
done
[ "$*" = vllm ] || install --no-build-isolation --editable . --editable ./client
imports=
for set in "$@"; do
  import_once "$set" &
  imports="$imports $!"
done
for import in $imports; do wait "$import"; done
say "Installed: $*"
