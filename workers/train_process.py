"""One of several processes of a training, started by the process of `python -m workers.train`.

    python -m workers.train_process DESCRIPTOR

The descriptor is that of the connection to the supervisor (`workers/trainer_processes`). The exit code is that of
workers.train.
"""

from __future__ import annotations

import os
import sys

from workers import train
from workers.trainer_processes import Control


def main() -> int:
    """Run the process. Return the exit code."""
    control = Control(int(sys.argv[1]), int(os.environ.get("RANK", "0")))
    try:
        argv, folder = control.receive_arguments()
    except (EOFError, OSError):
        return train.FAILED
    os.chdir(folder)
    return train.main(argv, control)


if __name__ == "__main__":
    sys.exit(main())
