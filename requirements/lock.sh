#!/bin/sh
# Renews the locks: versions and hashes for every platform, no URL anywhere. Needs `make setup` first.
set -eu
cd "$(dirname "$0")"
lock() { lock_without torch "$@"; }
# Sets of one environment have the versions of dev, which has all of them: the last set that is installed would otherwise
# replace a version that another one needs.
lock_as_dev() { lock "$@" --constraint dev.lock; }
lock_without() {
  override=without-$1.txt
  name=$2
  shift 2
  ../.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --override "$override" \
    --no-emit-index-url --no-emit-find-links --no-header --no-annotate --output-file "$name.lock" "$@"
}
lock dev base.in web.in train.in scorer.in loggers.in torch-needs.in dev.in
lock_as_dev base base.in
lock_as_dev web base.in web.in
lock_as_dev train base.in train.in torch-needs.in
lock_as_dev scorer base.in scorer.in
lock_as_dev loggers base.in loggers.in
lock_without kernels vllm vllm.in
# Ray is no part of any set: only tests of clusters start one, in an environment of its own.
lock ../tests/clusters/ray/ray ../tests/clusters/ray/ray.in
