"""Times of records: Unix seconds. Another number, such as milliseconds or NaN, is stored, but not used as a time."""

from __future__ import annotations

from datetime import UTC, datetime

AFTER_LAST = 1e11
"""End of the range of times, in the year 5138. In milliseconds it is in 1973, so recent times in them are above."""
UNITS = ((1e14, "milliseconds (ms)"), (1e17, "microseconds (µs)"), (1e20, "nanoseconds (ns)"))
"""Ends of the ranges above, and the unit of each: in that unit its numbers are the times from 1973 to 5138."""


def is_time(number: float) -> bool:
    """Return whether a number is a time in Unix seconds. Times before 1970, NaN and infinities are not."""
    return 0 <= number < AFTER_LAST


def likely_unit(number: float) -> str:
    """Return the unit in which a number that is no time in Unix seconds would be one; empty if there is none."""
    return "" if not number >= AFTER_LAST else next((unit for end, unit in UNITS if number < end), "")


def to_datetime(number: float) -> datetime | None:
    """Return the time in UTC; None if the number is no time in Unix seconds."""
    return datetime.fromtimestamp(number, UTC) if is_time(number) else None


def describe_bad_time(number: float) -> str:
    """Return what is wrong with a number that is no time in Unix seconds, with the likely unit, as a clause."""
    unit = likely_unit(number)
    return f"{number:.15g} looks like {unit}, not Unix seconds" if unit else f"{number:.15g} is no time in Unix seconds"
