#!/bin/sh
# Renews the locks: versions and hashes for every platform, no URL anywhere. Needs `make setup` first.
set -eu
cd "$(dirname "$0")"
for set in base web train dev; do
  ../.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --override without-torch.txt \
    --no-emit-index-url --no-emit-find-links --no-header --no-annotate --output-file "$set.lock" "$set.in"
done
