"""State in sentences what must be known before a comparison is believed. Nothing here is a number of the comparison."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from django.utils.translation import gettext, ngettext

from runs.compare.baseline_table import Setting
from runs.compare.final_results import OUTCOMES, Final
from runs.metrics import Provenances, ways, ways_in_words
from runs.models import Attempt, Run
from workers.executors.states import State

FEW_SEEDS = 5
"""Below this many seeds a range says little; the reference protocols of the field ask for at least five."""
ALIKE = (
    "model.path", "task.name", "task.options", "evaluation.prompts", "evaluation.samples", "evaluation.temperature",
    "evaluation.max_new_tokens", "evaluation.seed",
)  # fmt: skip
"""Knobs in which runs that are measured against each other must agree, or they answered different questions."""
OUTCOME = {outcome.name: outcome for outcome in OUTCOMES}

Rule: TypeAlias = Callable[[Sequence[Setting], Mapping[int, Final]], list[str]]


def cautions(
    settings: Sequence[Setting], numbers: Mapping[int, Final], measured: Provenances = MappingProxyType({})
) -> list[str]:
    """Sentences, the gravest first; none where nothing speaks against the comparison."""
    if not settings:
        return []
    differing = _measured_in_ways([run for setting in settings for run in setting.runs], numbers, measured)
    return [*differing, *(said for rule in RULES for said in rule(settings, numbers))]


def _measured_in_ways(runs: Sequence[Run], numbers: Mapping[int, Final], measured: Provenances) -> list[str]:
    """Name the outcomes that were not measured alike, each with its ways."""
    listed = []
    for outcome in OUTCOMES:
        several = ways(measured.get((run.pk, outcome.key)) for run in runs if outcome.name in numbers[run.pk].values)
        if len(several) > 1:
            listed.append(f"{outcome.title} ({ways_in_words(several)})")
    words = gettext("Measured differently, so that they may differ for that reason alone: %(outcomes)s.")
    return [words % {"outcomes": "; ".join(listed)}] if listed else []


def _measured_otherwise(settings: Sequence[Setting], _: Mapping[int, Final]) -> list[str]:
    differing = [path for path in ALIKE if len({_knob(s.runs[0].config, path) for s in settings}) > 1]
    if not differing:
        return []
    said = ngettext("Not measured alike: %(knobs)s differs.", "Not measured alike: %(knobs)s differ.", len(differing))
    return [said % {"knobs": ", ".join(differing)}]


def _several_methods(settings: Sequence[Setting], _: Mapping[int, Final]) -> list[str]:
    if len({setting.runs[0].method for setting in settings}) < 2:
        return []
    return [gettext("A step of one method costs another amount than a step of the other: compare along samples, tokens "
                    "or GPU seconds too.")]  # fmt: skip


def _not_ended_well(settings: Sequence[Setting], _: Mapping[int, Final]) -> list[str]:
    runs = [run for setting in settings for run in setting.runs]
    still = [run for run in runs if run.is_open]
    broken = [run for run in runs if not run.is_open and run.state != State.SUCCEEDED]
    partial = [run for run in broken if run.state == State.PARTIAL]
    stopped = [run for run in broken if run.state not in (State.PARTIAL, State.UNKNOWN)]
    return [said(of) for said, of in ((_so_far, still), (_stopped, stopped), (_partial, partial)) if of]


def _partial(runs: Sequence[Run]) -> str:
    reasons = dict(Attempt.objects.filter(run__in=runs).order_by("n").values_list("run", "reason"))
    listed = "; ".join(f"{run.name}: {reasons.get(run.pk, '')}" for run in runs[:5])
    words = ngettext(
        "%(n)s run is partial and is left out of the means (%(listed)s).",
        "%(n)s runs are partial and are left out of the means (%(listed)s).",
        len(runs),
    )
    return words % {"n": len(runs), "listed": listed}


# One run is named apart from the plural: msgfmt refuses a singular that holds a value which the plural lacks.
def _so_far(runs: Sequence[Run]) -> str:
    if len(runs) == 1:
        return gettext("%(name)s has not ended: the last numbers so far are compared.") % {"name": runs[0].name}
    said = ngettext(
        "%(n)s run has not ended: the last numbers so far are compared.",
        "%(n)s runs have not ended: the last numbers so far are compared.",
        len(runs),
    )
    return said % {"n": len(runs)}


def _stopped(runs: Sequence[Run]) -> str:
    if len(runs) == 1:
        return gettext("%(name)s has not reached the end: compared where it stopped.") % {"name": runs[0].name}
    said = ngettext(
        "%(n)s run has not reached the end: compared where it stopped.",
        "%(n)s runs have not reached the end: compared where it stopped.",
        len(runs),
    )
    return said % {"n": len(runs)}


def _at_different_steps(settings: Sequence[Setting], numbers: Mapping[int, Final]) -> list[str]:
    out = []
    for setting in settings:
        steps = {numbers[run.pk].steps.get("reward") for run in setting.runs} - {None}
        if len(steps) > 1:
            named = ", ".join(str(step) for step in sorted(s for s in steps if s is not None))
            said = gettext("The seeds of %(name)s were last evaluated at different steps: %(steps)s.")
            out.append(said % {"name": setting.name, "steps": named})
    return out


def _unusable(settings: Sequence[Setting], numbers: Mapping[int, Final]) -> list[str]:
    counts = Counter(name for s in settings for run in s.runs for name in numbers[run.pk].unusable)
    return [_counts_for_nothing(name, n) for name, n in sorted(counts.items())]


def _counts_for_nothing(name: str, n: int) -> str:
    said = ngettext(
        "%(title)s: %(n)s run has no finite number and counts for nothing.",
        "%(title)s: %(n)s runs have no finite number and count for nothing.",
        n,
    )
    return said % {"title": OUTCOME[name].title, "n": n}


def _repeated_seeds(settings: Sequence[Setting], _: Mapping[int, Final]) -> list[str]:
    out = []
    for setting in settings:
        again = sorted(seed for seed, n in Counter(run.seed for run in setting.runs).items() if n > 1)
        if again:
            said = ngettext(
                "%(name)s has several runs of seed %(seeds)s: each seed counts once, by its newest run.",
                "%(name)s has several runs of seeds %(seeds)s: each seed counts once, by its newest run.",
                len(again),
            )
            out.append(said % {"name": setting.name, "seeds": ", ".join(map(str, again))})
    return out


def _few_seeds(settings: Sequence[Setting], _: Mapping[int, Final]) -> list[str]:
    few = [s for s in settings if len({run.seed for run in s.runs}) < FEW_SEEDS]
    if not few:
        return []
    named = ", ".join(f"{s.name} (n = {len({run.seed for run in s.runs})})" for s in few)
    said = gettext("Fewer than %(n)s seeds: %(settings)s. Their spread is itself uncertain.")
    return [said % {"n": FEW_SEEDS, "settings": named}]


RULES: tuple[Rule, ...] = (
    _measured_otherwise, _unusable, _not_ended_well, _at_different_steps, _repeated_seeds, _few_seeds,
    _several_methods,
)  # fmt: skip


def _knob(config: Mapping[str, Any], path: str) -> str:
    """The value at a path as text that is equal where the values are."""
    value: Any = config
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return json.dumps(value, sort_keys=True)
