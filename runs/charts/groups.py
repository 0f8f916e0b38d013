"""Groups of runs that charts summarize: runs that differ only in their seed, or that have some values in common."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

from django.utils.translation import get_language, gettext

from runs.charts import style
from runs.metrics import Curve
from runs.models import Run
from workers.analysis.aggregate import Floats
from workers.config import RunConfig, presets
from workers.config.methods import short_title
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
    """Runs of one method and setting, or with some values in common; method is empty if they have several methods.

    variant: number of the group's look among those of its method, from 0. identity: what its runs have in common, as
    `key=value&key=value`, by which other pages find its look. chosen_colour: `#rrggbb` that a user set, or empty.
    total: number of runs of the group if it is larger than that of `runs`, which then holds the newest. style_id: id of
    its stored look, 0 if it has none.
    """

    method: str
    label: str
    variant: int
    runs: tuple[Run, ...]
    identity: str = ""
    chosen_colour: str = ""
    total: int = 0
    style_id: int = 0

    @property
    def whole(self) -> tuple[Run, ...]:
        """Return the runs that means are taken over: all but those with only a part of the responses."""
        return tuple(run for run in self.runs if run.state != State.PARTIAL)

    @property
    def name(self) -> str:
        """Return method and setting as text; the labels of most presets name the method already."""
        says_method = self.label.lower().startswith(self.method.lower())
        return self.label if says_method else f"{short_title(self.method)} · {self.label}"

    @property
    def slug(self) -> str:
        """Return the group's name in CSS and in the page's scripts."""
        return f"{self.method or 'all'}-{self.variant}"

    @property
    def colour(self) -> str:
        """Return the token of its colour, or the chosen colour `#rrggbb`."""
        return self.chosen_colour or style.colour(self.method, self.variant)

    @property
    def tone(self) -> str:
        """Return the token of its colour, for the class of an HTML element, which cannot hold a chosen colour."""
        return style.colour(self.method, self.variant)

    @property
    def hex_colour(self) -> str:
        """Return its colour in the light theme, as a form's field holds it."""
        return self.chosen_colour or style.LIGHT[self.tone]

    @property
    def n(self) -> int:
        """Return the number of its runs."""
        return max(self.total, len(self.runs))

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
    """Return the groups of runs that differ only in their seed, by method and preset. Labels name the settings in which
    the groups of a preset differ; that of a single group those that differ from the preset."""
    runs_by_recipe: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        runs_by_recipe[run.method, run.preset, run.recipe].append(run)
    by_preset: dict[tuple[str, str], list[list[Run]]] = defaultdict(list)
    for (method, preset, _), members in sorted(runs_by_recipe.items(), key=lambda item: min(r.pk for r in item[1])):
        by_preset[method, preset].append(members)
    labelled = [
        Group(method, text, 0, tuple(members), f"recipe={members[0].recipe}")
        for (method, _), settings in by_preset.items()
        for members, text in zip(settings, _labels_of([members[0] for members in settings]), strict=True)
    ]
    return _numbered(sorted(labelled, key=lambda group: (group.method, group.label)))


def groups_by(runs: Iterable[Run], values: Mapping[int, tuple[str, str]]) -> list[Group]:
    """Return the groups of runs with the same values, by method, then label. values: (identity, label) by run id."""
    members: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        members[values[run.pk]].append(run)
    groups = [Group(_shared_method(own), text, 0, tuple(own), identity) for (identity, text), own in members.items()]
    return _numbered(sorted(groups, key=lambda group: (group.method, _natural(group.label))))


def _shared_method(runs: Sequence[Run]) -> str:
    methods = {run.method for run in runs}
    return methods.pop() if len(methods) == 1 else ""


def _natural(text: str) -> list[tuple[bool, float, str]]:
    """Return a key that sorts numbers in texts by their value."""
    parts = re.split(r"(\d+(?:\.\d+)?(?:e-?\d+)?)", text)
    return [(i % 2 == 0, float(part) if i % 2 else 0.0, part) for i, part in enumerate(parts)]


def _numbered(groups: Iterable[Group]) -> list[Group]:
    """Return the groups with variants, in their order, from 0 for each method."""
    counts: Counter[str] = Counter()
    out = []
    for group in groups:
        out.append(replace(group, variant=counts[group.method]))
        counts[group.method] += 1
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
    return _with(run, _differences(base, _knobs(run.config)) if base else "")


def _with(run: Run, changed: str) -> str:
    return f"{run.preset or gettext('own settings')}{', ' if changed else ''}{changed}"


def _labels_of(runs: Sequence[Run]) -> list[str]:
    """Return a label for each run of one method and preset, whose settings all differ."""
    if len(runs) == 1:
        return [label(runs[0])]
    knobs = [_knobs(run.config) for run in runs]
    base = _preset_leaves(runs[0].preset) or knobs[0]
    differing = {key for own in knobs for key in {*own, *knobs[0]} if own.get(key) != knobs[0].get(key)}
    base, knobs = _only(base, differing), [_only(own, differing) for own in knobs]
    labels = [_with(run, _differences(base, own)) for run, own in zip(runs, knobs, strict=True)]
    counts = Counter(labels)
    return [
        text if counts[text] == 1 else _with(run, _differences(base, own, len(differing)))
        for run, text, own in zip(runs, labels, knobs, strict=True)
    ]


def _only(knobs: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: knobs[key] for key in keys if key in knobs}


@cache
def _preset_leaves(name: str) -> Mapping[str, Any] | None:
    """Return a preset's settings including defaults; None if there is no preset of that name, or no longer."""
    preset = presets().get(name)
    return _knobs(RunConfig.from_json(preset.config).to_json()) if preset else None


def _differences(base: Mapping[str, Any], other: Mapping[str, Any], limit: int = MAX_DIFFERENCES) -> str:
    """Describe the settings of `other` that differ from `base`, at most `limit` by name."""
    differing = sorted(k for k in {*base, *other} if base.get(k) != other.get(k))
    changed = [f"{k.rsplit('.', 1)[-1]} {other.get(k, gettext('unset'))}" for k in differing]
    more = len(changed) - limit
    text = ", ".join(changed[:limit])
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
