#!/bin/sh
# Makes .venv and installs pinned sets into it:  requirements/install.sh web train [dev]
# The set loggers adds TensorBoard and Weights & Biases to a .venv:  requirements/install.sh loggers
# The set vllm goes into .venv-vllm, an environment of its own:  requirements/install.sh vllm
# Needs Python >= 3.11 with venv, and nothing else: no root, no compiler, no Docker, no system database.
# PYTHON=...  which Python.  TORCH=auto|cpu|cuda  which build of torch (auto looks for nvidia-smi).
# TORCH_INDEX=...  a mirror of PyTorch's index of CPU builds.  Other mirrors and folders of wheels are named as pip or uv
# name them: PIP_INDEX_URL, PIP_FIND_LINKS, PIP_NO_INDEX, pip's settings, UV_DEFAULT_INDEX, UV_FIND_LINKS, UV_OFFLINE.
# The set torch is torch alone, which train and dev bring too, with what it needs.
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

# pip and uv each read their own settings, so each gets those of both: all folders of wheels, and uv's index, else pip's.
share_settings() {
  links="${UV_FIND_LINKS:-} ${PIP_FIND_LINKS:-$(pip_setting find-links)}"
  links=$(printf '%s' "$links" | tr -s ', ' '\n\n' | awk 'NF && !seen[$0]++' | tr '\n' ' ')
  links=${links% }
  index=${UV_DEFAULT_INDEX:-${UV_INDEX_URL:-${PIP_INDEX_URL:-$(pip_setting index-url)}}}
  index=${index% }
  if is_on "${UV_NO_INDEX:-}" || is_on "${PIP_NO_INDEX:-$(pip_setting no-index)}"; then no_index=--no-index; fi
  # Offline, uv has what it has downloaded before; pip has only what lies in folders.
  if [ -n "$no_index" ] || is_on "${UV_OFFLINE:-}"; then export PIP_NO_INDEX=1; fi
  if [ -n "$links" ]; then
    UV_FIND_LINKS=$(printf '%s' "$links" | tr ' ' ',')
    PIP_FIND_LINKS=$links
    export UV_FIND_LINKS PIP_FIND_LINKS
  fi
  if [ -n "$index" ]; then export UV_DEFAULT_INDEX="$index" PIP_INDEX_URL="$index"; fi
}

pip_setting() { .venv/bin/python -m pip config get "global.$1" 2>/dev/null | tr '\n' ' ' || true; }

is_on() {
  case ${1% } in 1 | t | T | true | True | TRUE | y | yes | on) return 0 ;; *) return 1 ;; esac
}

# Sets `uv` to the pinned version, else to one that is installed here.
use_uv() {
  version=$(cat requirements/uv.txt)
  uv=.venv/bin/uv
  case $("$uv" --version 2>/dev/null) in "uv $version" | "uv $version "*) return ;; esac
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "uv==$version" 2>/dev/null && return
  uv=$(command -v uv)
}

install() { install_into .venv "$@"; }

install_into() {
  environment=$1
  shift
  # shellcheck disable=SC2086  # one option, or none
  if [ "$installer" = uv ]; then
    "$uv" pip install --quiet --python "$environment/bin/python" $no_index --no-deps "$@"
  else
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$@"
  fi
}

# The first source whose torch imports is taken: a folder of wheels that was named, the index of CPU builds, then a mirror
# that was named. A folder or mirror may have the CUDA build, which without its libraries is installed but not imported.
install_torch() {
  version=$(sed -n 's/^torch==//p' requirements/torch.txt)
  if prove_torch; then return; fi
  remove_torch
  failures=
  wanted=${TORCH:-auto}
  if [ "$wanted" = auto ]; then
    if command -v nvidia-smi >/dev/null 2>&1; then wanted=cuda; else wanted=cpu; fi
  fi
  if [ "$wanted" = cuda ]; then
    try_torch "with CUDA, about 3 GB of downloads" torch_with_cuda && return
    if [ -n "$links" ] && [ -z "$no_index" ]; then
      try_torch "with CUDA, without the wheels in $links" without_wheels torch_with_cuda && return
    fi
  else
    if [ -n "$links" ]; then try_torch "from the wheels in $links" torch_of_wheels && return; fi
    if [ -z "$no_index" ]; then
      if [ "$(uname -s)" = Linux ]; then try_torch "from the index of CPU builds" without_wheels torch_of_cpu_index && return; fi
      if [ -n "$index" ] || [ "$(uname -s)" != Linux ]; then
        try_torch "from the index of all packages" without_wheels install -r requirements/torch.txt && return
      fi
    fi
  fi
  explain_torch
  exit 1
}

torch_of_wheels() {
  if [ "$installer" = uv ]; then
    "$uv" pip install --quiet --python .venv/bin/python --no-index --no-deps -r requirements/torch.txt
  else
    install --no-index -r requirements/torch.txt
  fi
}

# uv knows the address of the index; TORCH_INDEX names a mirror of it.
torch_of_cpu_index() {
  if [ -n "${TORCH_INDEX:-}" ]; then
    export UV_DEFAULT_INDEX="$TORCH_INDEX" PIP_INDEX_URL="$TORCH_INDEX"
    install -r requirements/torch.txt
  elif [ "$installer" = uv ]; then
    install --torch-backend=cpu -r requirements/torch.txt
  else
    say "pip does not know its address, and uv is not installed: install uv, or name a mirror with TORCH_INDEX"
    return 1
  fi
}

# With its libraries, which no lock has.
torch_with_cuda() {
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/torch.txt
}

# Runs a command that sees no folder of wheels: they were tried before. A folder without any hides those of pip's settings.
without_wheels() (
  unset UV_FIND_LINKS
  export PIP_FIND_LINKS="$PWD/requirements"
  "$@"
)

# Installs torch by a command, and proves it. If that fails, removes it, notes why, and returns 1.
try_torch() {
  from=$1
  shift
  say "Installing torch $version $from ..."
  if output=$("$@" 2>&1); then
    if prove_torch; then return; fi
  else
    why=$(printf '%s' "$output" | tr -s ' \n' ' ' | cut -c1-400)
  fi
  say "It cannot be used: $why"
  failures="$failures
  - $from: $why"
  remove_torch
  return 1
}

# Imports torch and adds numbers, and with TORCH=cuda asks for its build. If that fails, sets `why`.
prove_torch() {
  output=$(.venv/bin/python -W ignore -c '
import sys, torch
version = torch.__version__.split("+")[0]
if version != sys.argv[1]:
    sys.exit(f"its version is {version}, not {sys.argv[1]}")
if (torch.ones(2) + 1).sum().item() != 4:
    sys.exit("it adds numbers wrongly")
if sys.argv[2] == "cuda" and torch.version.cuda is None:
    sys.exit("it is a CPU build")' "$version" "${TORCH:-}" 2>&1) && return
  why=$(printf '%s\n' "$output" | tail -n 1)
  return 1
}

remove_torch() {
  if [ "$installer" = uv ]; then
    "$uv" pip uninstall --quiet --python .venv/bin/python torch >/dev/null 2>&1 || true
  else
    .venv/bin/python -m pip uninstall --quiet --yes torch >/dev/null 2>&1 || true
  fi
}

explain_torch() {
  tag=$(.venv/bin/python -c 'import sys; print(f"cp{sys.version_info[0]}{sys.version_info[1]}")')
  say ""
  say "torch $version, without which nothing trains here, could not be installed so that it imports:${failures:-
  - no source was named, and indexes are switched off}"
  say "One of these helps:"
  say "  - a CPU build for this Python in a folder of wheels, torch-$version+cpu-$tag-…$(uname -m).whl:"
  say "    make setup PIP_FIND_LINKS=/path/to/folder"
  if [ -n "$no_index" ]; then say "  - indexes: unset UV_NO_INDEX and PIP_NO_INDEX, and no-index of pip's settings"; fi
  say "  - a mirror of PyTorch's index of CPU builds: make setup TORCH_INDEX=…"
  if [ "$wanted" = cuda ]; then
    say "  - the CPU build instead of CUDA's: make setup TORCH=cpu"
  else
    say "  - the CUDA build with its libraries, about 3 GB, which works without a GPU too: make setup TORCH=cuda"
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
no_index=
share_settings
if use_uv; then installer=uv; else say "uv cannot be installed here; pip does it, more slowly."; fi
for set in "$@"; do
  case $set in
    vllm) install_vllm ;;
    torch) install_torch ;;
    *)
      say "Installing the $set set with $installer ..."
      install -r "requirements/$set.lock"
      # Only after what torch itself needs, so that it can be imported.
      case $set in train | dev) install_torch ;; esac
      ;;
  esac
done
[ "$*" = vllm ] || [ "$*" = torch ] || install --no-build-isolation --editable . --editable ./client
imports=
for set in "$@"; do
  import_once "$set" &
  imports="$imports $!"
done
for import in $imports; do wait "$import"; done
say "Installed: $*"
