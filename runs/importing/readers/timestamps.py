"""Parse times of files in any form of ISO 8601, without a zone as UTC, and place records by the times of a file."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from runs.importing.records import ImportedRun, ImportReport
from workers.records.times import describe_bad_time, is_time, likely_unit


def parse_timestamp(text: Any) -> float | None:
    """Return the time in Unix seconds, also of a number that is one; None if it is no time."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        return float(text) if is_time(text) else None
    try:
        timestamp = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return (timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)).timestamp()


class RunClock:
    """Place the records of a run by the Unix seconds that its file states, and count the numbers that are no time.

    The protocols of such files state seconds, so a number of another unit is not converted: its record is imported
    without a time. `name` is the file's name for its times.
    """

    def __init__(self, name: str, run: ImportedRun) -> None:
        self._name, self._run = name, run
        self._bad: dict[str, tuple[str, float, int]] = {}

    def begin(self, number: float) -> None:
        """Let the run begin at this time, unless it has begun or the number is no time."""
        if self._run.started_at is None and is_time(number):
            self._run.started_at = number

    def at(self, number: float, position: str) -> float | None:
        """Return the seconds since the run began; None if the number is no time."""
        if not is_time(number):
            unit = likely_unit(number)
            first_position, first_number, count = self._bad.get(unit, (position, number, 0))
            self._bad[unit] = first_position, first_number, count + 1
            return None
        self.begin(number)
        seconds = number - (self._run.started_at or 0.0)
        self._run.seconds = max(self._run.seconds, seconds)
        return seconds

    def report_bad_times(self, report: ImportReport) -> None:
        """Add a remark for each likely unit: the first number, its position, and how many there are."""
        for position, number, count in self._bad.values():
            records = f"{count} records are" if count > 1 else "1 record is"
            report.add_remark(
                f"{position}, {self._name}", f"{describe_bad_time(number)}: {records} imported without a time"
            )
