"""`python -m tests.clusters.slurm up|down [DIR] [--accounting]`: start or stop a Slurm by hand."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.clusters.slurm.cluster import SlurmCluster, missing

HERE = Path(tempfile.gettempdir()) / "esweb-slurm"


def main() -> int:
    """Run the action; after `up`, print the variable to export for Slurm's own commands."""
    parser = argparse.ArgumentParser(prog="python -m tests.clusters.slurm", description=__doc__)
    parser.add_argument("what", choices=("up", "down"))
    parser.add_argument("dir", nargs="?", type=Path, default=HERE, help=f"where it lives ({HERE})")
    parser.add_argument("--accounting", action="store_true", help="with slurmdbd and its database, so that sacct works")
    options = parser.parse_args()
    cluster = SlurmCluster(options.dir.resolve(), options.accounting)
    if reason := missing(options.accounting):
        print(reason, file=sys.stderr)
        return 1
    if options.what == "down":
        cluster.down()
        return 0
    cluster.up()
    print(f"export SLURM_CONF={cluster.conf}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
