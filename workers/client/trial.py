"""Program of a cluster's connection test, `python -m workers.client.trial`: records the machine, and if torch works."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from workers.client.machine import environment
from workers.records import RecordWriter, Status


def main() -> int:
    """Write both records. Return 0 even if torch does not work: that is a result, not a failure of the job."""
    writer = RecordWriter(Path(), 0)
    writer.write(environment())
    writer.write(_torch())
    writer.close()
    return 0


def _torch() -> Status:
    try:
        torch = importlib.import_module("torch")
        return Status("done", f"torch {torch.__version__}, {torch.cuda.device_count()} GPUs")
    except (ImportError, OSError, AttributeError) as error:
        # OSError: a library that it was built against is not there.
        return Status("failed", f"torch cannot be used: {error}")


if __name__ == "__main__":
    sys.exit(main())
