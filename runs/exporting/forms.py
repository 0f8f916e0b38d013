"""The parts of an export as an address names them."""

from __future__ import annotations

from django.http import HttpRequest

from runs.exporting.attempt_folder import Parts
from runs.http import require_choice

YES, NO = "yes", "no"


def read_parts(request: HttpRequest) -> Parts:
    """Return the selected parts: `checkpoints=yes` adds them, `logs=no` leaves the logs out. Refuse other values."""
    logs, checkpoints = (require_choice(request, name, (YES, NO), "") for name in ("logs", "checkpoints"))
    return Parts(has_logs=logs != NO, has_checkpoints=checkpoints == YES)
