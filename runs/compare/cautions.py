"""Build warning sentences about a comparison's validity. They change no number of the comparison."""

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
from runs.models import Attempt, Flag, Run
from workers.executors.states import State

FEW_SEEDS = 5
"""Seeds below which a range says little. The reference protocols of the field require at least five."""
MEASUREMENT_SETTINGS = (
    "model.path", "task.name", "task.options", "evaluation.prompts", "evaluation.samples", "evaluation.temperature",
    "evaluation.max_new_tokens", "evaluation.seed",
)  # fmt: skip
"""Settings in which compared runs must agree; otherwise they answered different questions."""
MAX_NAMED_RUNS = 5
OUTCOMES_BY_KEY = {outcome.key: outcome for outcome in OUTCOMES}

Rule: TypeAlias = Callable[[Sequence[Setting], Mapping[int, Final]], list[str]]


def cautions(
    settings: Sequence[Setting],
    numbers: Mapping[int, Final],
    provenances: Provenances = MappingProxyType({}),
    flags: Mapping[int, Sequence[Flag]] = MappingProxyType({}),
) -> list[str]:
    """Return warning sentences, the gravest first; an empty list if nothing speaks against the comparison.

    flags: the open flags by run id.
    """
    if not settings:
        return []
    runs = [run for setting in settings for run in setting.runs]
    flagged = [run for run in runs if flags.get(run.pk)]
    differing = _measured_in_ways(runs, numbers, provenances)
    return [
        *_flagged(flagged, len(runs)),
        *differing,
        *(sentence for rule in CAUTION_RULES for sentence in rule(settings, numbers)),
    ]


def _flagged(flagged: Sequence[Run], total: int) -> list[str]:
    """Return a sentence that names the flagged runs, of so many in all; an empty list if none is flagged."""
    if not flagged:
        return []
    if total == 1:
        return [gettext("%(name)s has open flags: its reward may come from cheating.") % {"name": flagged[0].name}]
    names = [run.name for run in flagged[:MAX_NAMED_RUNS]] + ["…"] * (len(flagged) > MAX_NAMED_RUNS)
    message = ngettext(
        "%(n)s of %(total)s runs has open flags (%(names)s): its reward may come from cheating.",
        "%(n)s of %(total)s runs have open flags (%(names)s): their reward may come from cheating.",
        len(flagged),
    )
    return [message % {"n": len(flagged), "total": total, "names": ", ".join(names)}]


def _measured_in_ways(runs: Sequence[Run], numbers: Mapping[int, Final], provenances: Provenances) -> list[str]:
    """Return a sentence that names each outcome measured in several ways, with the ways; an empty list if none."""
    listed = []
    for outcome in OUTCOMES:
        several = ways(provenances.get((run.pk, outcome.key)) for run in runs if outcome.key in numbers[run.pk].values)
        if len(several) > 1:
            listed.append(f"{outcome.heading} ({ways_in_words(several)})")
    message = gettext("Measured differently, so they may differ for that reason alone: %(outcomes)s.")
    return [message % {"outcomes": "; ".join(listed)}] if listed else []


def _measurement_settings_differ(settings: Sequence[Setting], _: Mapping[int, Final]) -> list[str]:
    differing = [
        path
        for path in MEASUREMENT_SETTINGS
        if len({_setting_text(run.config, path) for s in settings for run in s.runs}) > 1
    ]
    if not differing:
        return []
    message = ngettext(
        "Measured differently: %(settings)s differs.", "Measured differently: %(settings)s differ.", len(differing)
    )
    return [message % {"settings": ", ".join(differing)}]


def _several_methods(settings: Sequence[Setting], _: Mapping[int, Final]) -> list[str]:
    if len({run.method for setting in settings for run in setting.runs}) < 2:
        return []
    return [gettext("A step costs differently in each method. Compare also along samples, tokens or GPU seconds.")]


def _not_ended_well(settings: Sequence[Setting], _: Mapping[int, Final]) -> list[str]:
    runs = [run for setting in settings for run in setting.runs]
    still = [run for run in runs if run.is_open]
    broken = [run for run in runs if not run.is_open and run.state != State.SUCCEEDED]
    partial = [run for run in broken if run.state == State.PARTIAL]
    stopped = [run for run in broken if run.state not in (State.PARTIAL, State.UNKNOWN)]
    return [
        describe(described_runs)
        for describe, described_runs in ((_so_far, still), (_stopped, stopped), (_partial, partial))
        if described_runs
    ]


def _partial(runs: Sequence[Run]) -> str:
    reasons = dict(Attempt.objects.filter(run__in=runs).order_by("n").values_list("run", "reason"))
    listed = "; ".join(f"{run.name}: {reasons.get(run.pk, '')}" for run in runs[:5])
    message = ngettext(
        "%(n)s run is partial and is left out of the means (%(listed)s).",
        "%(n)s runs are partial and are left out of the means (%(listed)s).",
        len(runs),
    )
    return message % {"n": len(runs), "listed": listed}


# A single run has a message of its own: msgfmt refuses a singular that holds a value which the plural lacks.
def _so_far(runs: Sequence[Run]) -> str:
    if len(runs) == 1:
        return gettext("%(name)s has not finished: its group is compared at a step it has so far.") % {
            "name": runs[0].name
        }
    message = ngettext(
        "%(n)s run has not finished: its group is compared at a step it has so far.",
        "%(n)s runs have not finished: their groups are compared at a step they have so far.",
        len(runs),
    )
    return message % {"n": len(runs)}


def _stopped(runs: Sequence[Run]) -> str:
    if len(runs) == 1:
        return gettext("%(name)s stopped early: its group is compared at a step that it has.") % {"name": runs[0].name}
    message = ngettext(
        "%(n)s run stopped early: its group is compared at a step that it has.",
        "%(n)s runs stopped early: their groups are compared at a step that they have.",
        len(runs),
    )
    return message % {"n": len(runs)}


def _at_different_steps(settings: Sequence[Setting], numbers: Mapping[int, Final]) -> list[str]:
    return [sentence for setting in settings for sentence in _common_steps(setting, numbers)]


def _common_steps(setting: Setting, numbers: Mapping[int, Final]) -> list[str]:
    """Return a sentence for the outcomes of a setting that were read at a common step of its seeds, by step."""
    titles: dict[tuple[int | None, tuple[int, ...]], list[str]] = {}
    for outcome in OUTCOMES:
        read = [final for run in setting.runs if outcome.key in (final := numbers[run.pk]).last_steps]
        if read:
            step = next((final.steps[outcome.key] for final in read if outcome.key in final.steps), None)
            ends = tuple(sorted({final.last_steps[outcome.key] for final in read}))
            titles.setdefault((step, ends), []).append(outcome.heading)
    return [_common_step(setting.name, titles[step, ends], step, ends) for step, ends in titles]


def _common_step(name: str, titles: Sequence[str], step: int | None, ends: Sequence[int]) -> str:
    params = {"name": name, "outcomes": ", ".join(titles), "step": step, "ends": ", ".join(map(str, ends))}
    if step is None:
        message = gettext(
            "%(name)s, no step is common to all seeds, so there is no value: %(outcomes)s. Last steps of the seeds: "
            "%(ends)s."
        )
    else:
        message = gettext(
            "%(name)s, values at step %(step)s, the last at which all seeds have a finite value: %(outcomes)s. Last "
            "steps of the seeds: %(ends)s."
        )
    return message % params


def _groups_at_different_steps(settings: Sequence[Setting], numbers: Mapping[int, Final]) -> list[str]:
    """Return a sentence for the outcomes of which groups have values at different steps, with these steps."""
    titles: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for outcome in OUTCOMES:
        steps = [(s.name, step) for s in settings if (step := _step_of(s, outcome.key, numbers)) is not None]
        if len({step for _, step in steps}) > 1:
            titles.setdefault(tuple(steps), []).append(outcome.heading)
    return [_unequal_steps(steps, outcomes) for steps, outcomes in titles.items()]


def _step_of(setting: Setting, outcome: str, numbers: Mapping[int, Final]) -> int | None:
    return next((step for run in setting.runs if (step := numbers[run.pk].steps.get(outcome)) is not None), None)


def _unequal_steps(steps: Sequence[tuple[str, int]], outcomes: Sequence[str]) -> str:
    named = [gettext("%(name)s at %(step)s") % {"name": name, "step": step} for name, step in steps[:MAX_NAMED_RUNS]]
    named += ["…"] * (len(steps) > MAX_NAMED_RUNS)
    message = gettext("Groups are compared at different steps: %(steps)s (%(outcomes)s).")
    return message % {"steps": ", ".join(named), "outcomes": ", ".join(outcomes)}


def _unusable(settings: Sequence[Setting], numbers: Mapping[int, Final]) -> list[str]:
    counts = Counter(key for s in settings for run in s.runs for key in numbers[run.pk].unusable)
    return [_counts_for_nothing(key, n) for key, n in sorted(counts.items())]


def _counts_for_nothing(key: str, n: int) -> str:
    message = ngettext(
        "%(title)s: %(n)s run has no finite number and is not counted.",
        "%(title)s: %(n)s runs have no finite number and are not counted.",
        n,
    )
    return message % {"title": OUTCOMES_BY_KEY[key].heading, "n": n}


def _repeated_seeds(settings: Sequence[Setting], _: Mapping[int, Final]) -> list[str]:
    out = []
    for setting in settings:
        counts = Counter(run.repetition for run in setting.runs)
        repeated = sorted({seed for (_, seed), n in counts.items() if n > 1})
        if repeated:
            message = ngettext(
                "%(name)s has several runs of seed %(seeds)s: each seed counts once, by its newest run.",
                "%(name)s has several runs of seeds %(seeds)s: each seed counts once, by its newest run.",
                len(repeated),
            )
            out.append(message % {"name": setting.name, "seeds": ", ".join(map(str, repeated))})
    return out


def _few_seeds(settings: Sequence[Setting], _: Mapping[int, Final]) -> list[str]:
    few = [s for s in settings if _count_seeds(s) < FEW_SEEDS]
    if not few:
        return []
    named = ", ".join(f"{s.name} (n = {_count_seeds(s)})" for s in few)
    message = gettext(
        "Fewer than %(n)s seeds: %(settings)s. Their spread is uncertain, and p-values assume that seeds vary normally."
    )
    return [message % {"n": FEW_SEEDS, "settings": named}]


def _count_seeds(setting: Setting) -> int:
    """Return the number of different seeds of a setting; each unknown seed counts as one."""
    return len({run.repetition[1] for run in setting.runs})


CAUTION_RULES: tuple[Rule, ...] = (
    _measurement_settings_differ, _unusable, _not_ended_well, _at_different_steps, _groups_at_different_steps,
    _repeated_seeds, _few_seeds, _several_methods,
)  # fmt: skip


def _setting_text(config: Mapping[str, Any], path: str) -> str:
    """Return the value at a path as JSON text. Equal values have equal texts."""
    value: Any = config
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return json.dumps(value, sort_keys=True)
