"""`esweb COMMAND …`, or `python -m esweb.cli COMMAND …`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from esweb.cli.arguments import parser
from esweb.cli.errors import Failure, tell


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command. Returns its exit code: 0 all went well, else one of `esweb.cli.errors`."""
    asked = parser().parse_args(argv)
    try:
        return int(asked.run(asked))
    except Failure as failure:
        tell(failure, as_json=asked.json)
        return failure.code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read has read enough; what is left in the buffer must not be complained about at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
