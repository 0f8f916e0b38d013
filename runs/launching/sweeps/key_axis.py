"""Axis of one key of a sweep: its values in order, or ranges of them if they are many, and their positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.utils.translation import gettext, ngettext

from runs.launching.run_names import format_value
from runs.launching.sweeps.scales import Scale, scale_of
from runs.launching.sweeps.values import identity_in, in_order, number_of

ABSENT_SHARE = 0.14
"""Share of a numeric axis, at its low end, that cells without the key take."""


@dataclass(frozen=True)
class Stop:
    """Value or range of an axis. It spans `low` to `high`, 0 to 1; a single value has both in the same place."""

    label: str
    low: float
    high: float

    @property
    def middle(self) -> float:
        """Return the position of the middle, 0 to 1."""
        return (self.low + self.high) / 2


@dataclass(frozen=True)
class KeyAxis:
    """Axis of a key. scale: None if the values are categories. ticks: (label, position) of the ends of its ranges.

    places: (stop, position) of each value by its identity.
    """

    key: str
    stops: tuple[Stop, ...]
    places: Mapping[str, tuple[int, float]]
    scale: Scale | None = None
    ticks: tuple[tuple[str, float], ...] = ()

    @property
    def is_banded(self) -> bool:
        """Return whether the stops are ranges of values."""
        return bool(self.ticks)

    def stop(self, cell: Mapping[str, Any]) -> int:
        """Return the index of the cell's stop."""
        return self.places[identity_in(cell, self.key)][0]

    def position(self, cell: Mapping[str, Any]) -> float:
        """Return the position of the cell's value, 0 to 1."""
        return self.places[identity_in(cell, self.key)][1]


def key_axis(key: str, cells: Iterable[Mapping[str, Any]], most: int, bands: int) -> KeyAxis:
    """Return the axis of a key over these cells, with at most `most` values.

    More numbers are combined into `bands` ranges, and the last of more categories into one stop.
    """
    by_identity = {identity_in(cell, key): cell.get(key) for cell in cells}
    has_absent = by_identity.pop("", "present") != "present"
    numbers = {name: number for name, value in by_identity.items() if (number := number_of(value)) is not None}
    if len(numbers) == len(by_identity) and (scale := scale_of(numbers.values())):
        is_banded = len(numbers) > most
        axis = _banded(key, scale, numbers, bands) if is_banded else _numeric(key, scale, numbers, by_identity)
        return _with_absent(axis) if has_absent else axis
    return _categories(key, by_identity, most, has_absent)


def band_stops(scale: Scale, bands: int) -> tuple[tuple[Stop, ...], tuple[tuple[str, float], ...]]:
    """Return equal ranges of a scale, and the labels and positions of their ends. A single value has one range."""
    if scale.low == scale.high:
        label = format_short(scale.low)
        return (Stop(label, 0.0, 1.0),), ((label, 0.5),)
    ends = [n / bands for n in range(bands + 1)]
    labels = [format_short(scale.value_at(end)) for end in ends]
    names = [gettext("%(low)s to %(high)s") % {"low": low, "high": high} for low, high in pairwise(labels)]
    stops = tuple(Stop(name, low, high) for name, (low, high) in zip(names, pairwise(ends), strict=True))
    return stops, tuple(zip(labels, ends, strict=True))


def band_index(position: float, bands: int) -> int:
    """Return the index of the range in which a position, 0 to 1, is."""
    return min(bands - 1, int(position * bands))


def format_short(value: float) -> str:
    """Return a number with three significant digits, as a user writes it."""
    return f"{value:.3g}".replace("-", "\N{MINUS SIGN}")


def _numeric(key: str, scale: Scale, numbers: Mapping[str, float], values: Mapping[str, Any]) -> KeyAxis:
    ordered = sorted(numbers.items(), key=lambda item: item[1])
    places = {name: (n, scale.at(number)) for n, (name, number) in enumerate(ordered)}
    stops = tuple(Stop(format_value(values[name]), at, at) for name, (_n, at) in places.items())
    return KeyAxis(key, stops, places, scale)


def _banded(key: str, scale: Scale, numbers: Mapping[str, float], bands: int) -> KeyAxis:
    stops, ticks = band_stops(scale, bands)
    positions = {name: scale.at(number) for name, number in numbers.items()}
    places = {name: (band_index(at, len(stops)), at) for name, at in positions.items()}
    return KeyAxis(key, stops, places, scale, ticks)


def _categories(key: str, by_identity: Mapping[str, Any], most: int, has_absent: bool) -> KeyAxis:
    """Return an axis of categories, from the first at 1 to the last at 0, evenly spaced."""
    order = in_order(by_identity)
    singles = order if len(order) <= most else order[: most - 1]
    labels = [format_value(by_identity[name]) for name in singles]
    if left := len(order) - len(singles):
        labels.append(ngettext("%(n)s more value", "%(n)s more values", left) % {"n": left})
    if has_absent:
        labels.append(gettext("not set"))
    last = max(len(labels) - 1, 1)
    positions = [1 - n / last for n in range(len(labels))] if len(labels) > 1 else [0.5]
    stops = tuple(Stop(label, at, at) for label, at in zip(labels, positions, strict=True))
    index = {name: min(n, len(singles)) if left else n for n, name in enumerate(order)}
    places = {name: (n, positions[n]) for name, n in index.items()}
    if has_absent:
        places[""] = len(stops) - 1, positions[-1]
    return KeyAxis(key, stops, places)


def _with_absent(axis: KeyAxis) -> KeyAxis:
    """Return the axis with a last stop for cells without the key, below the numbers."""

    def moved(at: float) -> float:
        return ABSENT_SHARE + at * (1 - ABSENT_SHARE)

    stops = [Stop(stop.label, moved(stop.low), moved(stop.high)) for stop in axis.stops]
    places = {name: (n, moved(at)) for name, (n, at) in axis.places.items()}
    ticks = tuple((label, moved(at)) for label, at in axis.ticks)
    places[""] = len(stops), 0.0
    return KeyAxis(axis.key, (*stops, Stop(gettext("not set"), 0.0, 0.0)), places, axis.scale, ticks)
