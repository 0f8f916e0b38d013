"""The turn of a process that loads its code first, and begins when its supervisor tells it to.

A second process may thus be ready when the first one dies, and two never do the same work. Both sides speak over a pair
of sockets, of which one is the standard input of the process. `esweb/supervisor/turn.py` has the other side.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

OPTION = "--standby"
"""The argument with which a program waits for its turn."""
LOADED, BEGIN = b"L", b"B"
STANDARD_INPUT = 0


def await_turn() -> None:
    """Report that this process is loaded, and return when its turn has come. Exit if its supervisor is gone."""
    answer = b""
    with suppress(OSError):
        os.write(STANDARD_INPUT, LOADED)
        answer = os.read(STANDARD_INPUT, len(BEGIN))
    if answer != BEGIN:
        sys.exit("The supervisor of this process is gone.")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, STANDARD_INPUT)
    os.close(nothing)
