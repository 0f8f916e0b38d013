"""`esweb COMMAND …`, or `python -m esweb_client.cli COMMAND …`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from esweb_client.cli.arguments import parser
from esweb_client.cli.errors import Failure, print_failure


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Return its exit code: 0 all went well, else one of `esweb_client.cli.errors`."""
    options = parser().parse_args(argv)
    try:
        return int(options.run(options))
    except Failure as failure:
        print_failure(failure, as_json=options.json)
        return failure.code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has closed the pipe; the rest of the buffer must raise no error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
