"""`python -m tests.clusters.ray install|up|down [DIR]`: a Ray to try things on by hand."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.clusters.ray.head import CannotStart, RayHead
from tests.clusters.ray.installed import CannotInstall, install, missing

HERE = Path(tempfile.gettempdir()) / "esweb-ray"


def main() -> int:
    """Prints what the config of a cluster would say."""
    parser = argparse.ArgumentParser(prog="python -m tests.clusters.ray", description=__doc__)
    parser.add_argument("what", choices=("install", "up", "down"))
    parser.add_argument("dir", nargs="?", type=Path, default=HERE, help=f"where it lives ({HERE})")
    asked = parser.parse_args()
    try:
        return _do(asked.what, RayHead(asked.dir.resolve()))
    except (CannotInstall, CannotStart) as error:
        print(error, file=sys.stderr)
        return 1


def _do(what: str, head: RayHead) -> int:
    if what == "install":
        install()
    elif what == "down":
        head.down()
    elif why := missing():
        print(why, file=sys.stderr)
        return 1
    else:
        head.up()
        print(f'{{"dashboard": "{head.address}", "token_file": "{head.token_file}"}}')
    return 0


if __name__ == "__main__":
    sys.exit(main())
