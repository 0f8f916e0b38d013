"""`python -m tests.clusters.ray install|up|down [DIR]`: start or stop a Ray by hand."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.clusters.ray.head import CannotStart, RayHead
from tests.clusters.ray.installation import CannotInstall, install, missing

HERE = Path(tempfile.gettempdir()) / "esweb-ray"


def main() -> int:
    """Run the action; after `up`, print the config of a cluster for it."""
    parser = argparse.ArgumentParser(prog="python -m tests.clusters.ray", description=__doc__)
    parser.add_argument("what", choices=("install", "up", "down"))
    parser.add_argument("dir", nargs="?", type=Path, default=HERE, help=f"where it lives ({HERE})")
    options = parser.parse_args()
    try:
        return _run(options.what, RayHead(options.dir.resolve()))
    except (CannotInstall, CannotStart) as error:
        print(error, file=sys.stderr)
        return 1


def _run(action: str, head: RayHead) -> int:
    if action == "install":
        install()
    elif action == "down":
        head.down()
    elif reason := missing():
        print(reason, file=sys.stderr)
        return 1
    else:
        head.up()
        print(f'{{"dashboard": "{head.address}", "token_file": "{head.token_file}"}}')
    return 0


if __name__ == "__main__":
    sys.exit(main())
