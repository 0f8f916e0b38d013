"""Write which test executes which fault: run by the changed sources of `tests.faults.trace`, wherever they run.

It is no module to import: sources execute its text, since a program on another machine's Python has no `tests`.
"""

import os
import pathlib
import sys

_seen = set()


def _hit(fault, folder):
    """Append the id of the running test to the file of this fault, once a process and test. Return False."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if (fault, test) not in _seen:
        _seen.add((fault, test))
        try:
            with (pathlib.Path(folder) / str(fault)).open("a", encoding="utf-8") as file:
                file.write(test + "\n")
        except OSError:
            pass
    return False


sys._esweb_hit = _hit
