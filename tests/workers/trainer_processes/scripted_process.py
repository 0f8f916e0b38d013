"""One of several processes of a training, which trains nothing: it waits until it is told to end.

The first process ends with a failure instead if the command is `fails`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from workers.attempt import RESUMABLE
from workers.trainer_processes import Control

FAILED = 1


def main() -> None:
    """Run the process. Its notes are in its folder: `pid-RANK`, and `end-RANK` with the reason of its end."""
    rank = os.environ["RANK"]
    control = Control(int(sys.argv[1]), int(rank))
    argv, where = control.receive_arguments()
    folder = Path(where)

    def end(note: str, code: int, reason: str = "") -> None:
        (folder / f"end-{rank}").write_text(note)
        control.report(code, reason)
        os._exit(code)

    signal.signal(signal.SIGTERM, lambda *_: end("stopped", RESUMABLE))
    control.listen(lambda reason: end(reason, FAILED))
    (folder / f"pid-{rank}").write_text(f"{os.getpid()} {' '.join(argv)}")
    if argv == ["fails"] and rank == "0":
        end("failed", FAILED, "no reward today")
    while True:
        # Not for long: a signal that arrives just before a wait begins is handled when that wait has ended.
        threading.Event().wait(0.05)


if __name__ == "__main__":
    main()
