"""Runs that differ only in their seed are one group: a method with one preset, or one set of knobs."""

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
from workers.analysis.middles import Floats
from workers.config import RunConfig, presets
from workers.executors.states import State

Curves: TypeAlias = dict[tuple[int, str], Curve]
"""(run id, key) -> its curve."""

BESIDES = ("seed", "compute", "tracking")
"""What may differ inside a group: it changes where a run runs, not what it does."""
DIFFERENCES_AT_MOST = 3
LABELS_KEPT = 5000
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
        """The runs that means are taken over: all but those of which an import holds a part of the answers."""
        return tuple(run for run in self.runs if run.state != State.PARTIAL)

    @property
    def name(self) -> str:
        """Method and setting, in words; most presets say their method themselves."""
        says_method = self.label.lower().startswith(self.method.lower())
        return self.label if says_method else f"{style.METHODS.get(self.method, self.method)} · {self.label}"

    @property
    def slug(self) -> str:
        """What CSS and the page's scripts know the group by."""
        return f"{self.method}-{self.variant}"

    @property
    def colour(self) -> str:
        return style.colour(self.method)

    @property
    def dash(self) -> str:
        return style.dash(self.method, self.variant)

    @property
    def strokes(self) -> str:
        """The dash, as an SVG line of the legend has it."""
        return style.STROKES[self.dash]

    @property
    def marker(self) -> str:
        return style.marker(self.method, self.variant)

    @property
    def is_round(self) -> bool:
        """True where the marker is a circle."""
        return self.marker.startswith("circle")

    @property
    def is_open(self) -> bool:
        """True where the marker is not filled."""
        return self.marker.endswith("-open")


def groups_of(runs: Iterable[Run]) -> list[Group]:
    """Groups by method, then label. Two settings with the same label are told apart by the knobs that differ."""
    found: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        found[run.method, label(run), run.recipe].append(run)
    ordered = sorted(found.items(), key=lambda item: (*item[0][:2], min(r.pk for r in item[1])))
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
    """(x, y) of a curve without what a resume has overwritten."""
    if not curve.overwritten.any():
        return curve.x, curve.y
    kept = ~curve.overwritten
    return curve.x[kept], curve.y[kept]


def look(group: Group) -> dict[str, Any]:
    """What all traces of a group have in common."""
    return {"legendgroup": group.slug, "type": "scatter"}


def label(run: Run) -> str:
    """The preset that a run was made from, and what was changed in it. A page asks this of hundreds of runs."""
    made = (run.preset, run.recipe, get_language())
    if made not in _labels:
        if len(_labels) == LABELS_KEPT:
            _labels.clear()
        _labels[made] = _label(run)
    return _labels[made]


def _label(run: Run) -> str:
    base = _preset_leaves(run.preset)
    changed = _differences(base, _knobs(run.config)) if base else ""
    return f"{run.preset or gettext('own settings')}{', ' if changed else ''}{changed}"


@cache
def _preset_leaves(name: str) -> Mapping[str, Any] | None:
    """A preset's knobs with its defaults written out; None where there is none of that name, or none any more."""
    preset = presets().get(name)
    return _knobs(RunConfig.from_json(preset.config).to_json()) if preset else None


def _differences(one: Mapping[str, Any], two: Mapping[str, Any]) -> str:
    """The knobs of `two` that are not as in `one`."""
    differing = sorted(k for k in {*one, *two} if one.get(k) != two.get(k))
    changed = [f"{k.rsplit('.', 1)[-1]} {two.get(k, gettext('unset'))}" for k in differing]
    more = len(changed) - DIFFERENCES_AT_MOST
    said = ", ".join(changed[:DIFFERENCES_AT_MOST])
    return gettext("%(some)s and %(n)s more") % {"some": said, "n": more} if more > 0 else said


def _knobs(config: Mapping[str, Any]) -> dict[str, Any]:
    return dict(_leaves(config))


def _leaves(config: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in config.items():
        if prefix + key in BESIDES:
            continue
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, list(value) if isinstance(value, tuple) else value
