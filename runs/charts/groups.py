"""Groups of runs that differ only in their seed: a method with one preset, or one set of settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from django.utils.translation import get_language, gettext

from runs.charts import style
from runs.metrics import Curve
from runs.models import Run
from workers.analysis.aggregate import Floats
from workers.config import RunConfig, presets
from workers.executors.states import State

Curves: TypeAlias = dict[tuple[int, str], Curve]
"""(run id, key) -> its curve."""

IGNORED_KEYS = ("seed", "compute", "tracking")
"""Config keys that may differ inside a group: they change the place of execution, not the training."""
MAX_DIFFERENCES = 3
MAX_CACHED_LABELS = 5000
_labels: dict[tuple[str, str, str | None], str] = {}


@dataclass(frozen=True)
class Group:
    """Seeds of one method and setting. `variant` numbers the settings of a method, from 0."""

    method: str
    label: str
    variant: int
    runs: tuple[Run, ...]

    @property
    def whole(self) -> tuple[Run, ...]:
        """Return the runs that means are taken over: all but those with only a part of the responses."""
        return tuple(run for run in self.runs if run.state != State.PARTIAL)

    @property
    def name(self) -> str:
        """Return method and setting as text; the labels of most presets name the method already."""
        says_method = self.label.lower().startswith(self.method.lower())
        return self.label if says_method else f"{style.METHODS.get(self.method, self.method)} · {self.label}"

    @property
    def slug(self) -> str:
        """Return the group's name in CSS and in the page's scripts."""
        return f"{self.method}-{self.variant}"

    @property
    def colour(self) -> str:
        return style.colour(self.method)

    @property
    def dash(self) -> str:
        return style.dash(self.method, self.variant)

    @property
    def strokes(self) -> str:
        """Return the dash pattern of an SVG line in the legend."""
        return style.STROKES[self.dash]

    @property
    def marker(self) -> str:
        return style.marker(self.method, self.variant)

    @property
    def is_round(self) -> bool:
        """Return whether the marker is a circle."""
        return self.marker.startswith("circle")

    @property
    def is_open(self) -> bool:
        """Return whether the marker is not filled."""
        return self.marker.endswith("-open")


def groups_of(runs: Iterable[Run]) -> list[Group]:
    """Return groups by method, then label. If two settings have the same label, their differences are added to it."""
    runs_by_setting: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        runs_by_setting[run.method, label(run), run.recipe].append(run)
    ordered = sorted(runs_by_setting.items(), key=lambda item: (*item[0][:2], min(r.pk for r in item[1])))
    first: dict[tuple[str, str], Run] = {}
    variants: dict[str, int] = defaultdict(int)
    out = []
    for (method, name, _), members in ordered:
        base = first.setdefault((method, name), members[0])
        full = name if base is members[0] else f"{name}, {_differences(_knobs(base.config), _knobs(members[0].config))}"
        out.append(Group(method, full, variants[method], tuple(members)))
        variants[method] += 1
    return out


def line(curve: Curve) -> tuple[Floats, Floats]:
    """Return (x, y) of a curve without points that a resume has overwritten."""
    if not curve.overwritten.any():
        return curve.x, curve.y
    is_current = ~curve.overwritten
    return curve.x[is_current], curve.y[is_current]


def look(group: Group) -> dict[str, Any]:
    """Return the properties that all traces of a group have in common."""
    return {"legendgroup": group.slug, "type": "scatter"}


def label(run: Run) -> str:
    """Return the preset of a run, with the changed settings. Cached, since a page needs it for hundreds of runs."""
    cache_key = (run.preset, run.recipe, get_language())
    if cache_key not in _labels:
        if len(_labels) == MAX_CACHED_LABELS:
            _labels.clear()
        _labels[cache_key] = _label(run)
    return _labels[cache_key]


def _label(run: Run) -> str:
    base = _preset_leaves(run.preset)
    changed = _differences(base, _knobs(run.config)) if base else ""
    return f"{run.preset or gettext('own settings')}{', ' if changed else ''}{changed}"


@cache
def _preset_leaves(name: str) -> Mapping[str, Any] | None:
    """Return a preset's settings including defaults; None if there is no preset of that name, or no longer."""
    preset = presets().get(name)
    return _knobs(RunConfig.from_json(preset.config).to_json()) if preset else None


def _differences(base: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Describe the settings of `other` that differ from `base`."""
    differing = sorted(k for k in {*base, *other} if base.get(k) != other.get(k))
    changed = [f"{k.rsplit('.', 1)[-1]} {other.get(k, gettext('unset'))}" for k in differing]
    more = len(changed) - MAX_DIFFERENCES
    text = ", ".join(changed[:MAX_DIFFERENCES])
    return gettext("%(some)s and %(n)s more") % {"some": text, "n": more} if more > 0 else text


def _knobs(config: Mapping[str, Any]) -> dict[str, Any]:
    return dict(_leaves(config))


def _leaves(config: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in config.items():
        if prefix + key in IGNORED_KEYS:
            continue
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, list(value) if isinstance(value, tuple) else value
