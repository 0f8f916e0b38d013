"""Say whether the engines of a run had equal weights when they were last compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.text import get_text_list
from django.utils.translation import gettext, ngettext

from runs.models import EngineReport

Engine = dict[str, Any]
"""An engine as a report stores it."""
COMPARED_WITHIN = 10
"""At most so many steps after a comparison a report shows its result."""


@dataclass(frozen=True)
class Agreement:
    """A sentence on the weights, and the badge in front of it."""

    tone: str
    sign: str
    word: str
    words: str


def agreement(report: EngineReport) -> Agreement:
    """Compare the weights of the report's engines with those of engine 0, which is hashed whenever others are compared.

    An engine that was given up stays at an earlier step; one that was started again may be at a later one.
    """
    engines = sorted(report.engines, key=lambda engine: engine["number"])
    compared = [engine for engine in engines if engine["compared_at"] is not None and engine["weights"]]
    if len(compared) < 2 or compared[0]["number"] != 0:
        return Agreement("idle", "○", gettext("not compared"), gettext("No weights have been compared yet."))
    step = compared[0]["compared_at"]
    at_step = [engine for engine in compared if engine["compared_at"] == step]
    behind = [engine for engine in compared if engine["compared_at"] < step]
    differing = _differing(at_step, behind, lambda at: _reference(report, at))
    if differing:
        words = " ".join(_difference(numbers, at) for at, numbers in sorted(differing.items()))
        return Agreement("bad", "✕", gettext("different"), words)
    if len(at_step) < 2:
        words = gettext("After step %(step)s no engine was compared with engine 0.") % {"step": step}
        return Agreement("idle", "○", gettext("not compared"), words)
    return Agreement("good", "✓", gettext("equal"), _equality(engines, at_step, step))


def _differing(
    at_step: Sequence[Engine], behind: Iterable[Engine], reference: Callable[[int], str | None]
) -> dict[int, list[int]]:
    """Return the numbers of the engines that differ from engine 0, by the step at which they were compared."""
    differing: dict[int, list[int]] = defaultdict(list)
    for engine in at_step:
        if engine["weights"] != at_step[0]["weights"]:
            differing[engine["compared_at"]].append(engine["number"])
    for engine in behind:
        if (weights := reference(engine["compared_at"])) is not None and weights != engine["weights"]:
            differing[engine["compared_at"]].append(engine["number"])
    return differing


def _reference(report: EngineReport, step: int) -> str | None:
    """Return the hash of engine 0's weights at an earlier comparison, or None if no report has it."""
    near = EngineReport.objects.filter(run_id=report.run_id, attempt_id=report.attempt_id, epoch=report.epoch)
    found = near.filter(
        step__range=(step, step + COMPARED_WITHIN), engines__contains=[{"number": 0, "compared_at": step}]
    )
    earlier = found.order_by("step", "seq").first()
    return None if earlier is None else next(e["weights"] for e in earlier.engines if e["number"] == 0)


def _difference(numbers: Sequence[int], step: int) -> str:
    return ngettext(
        "Engine %(engines)s's weights differ from engine 0's after step %(step)s.",
        "The weights of engines %(engines)s differ from engine 0's after step %(step)s.",
        len(numbers),
    ) % {"engines": _listed(numbers), "step": step}


def _equality(engines: Sequence[Engine], equal: Sequence[Engine], step: int) -> str:
    params = {"n": len(equal), "equal": _listed([engine["number"] for engine in equal]), "step": step}
    if len(equal) < len(engines):
        others = [engine["number"] for engine in engines if engine not in equal]
        return ngettext(
            "Engines %(equal)s had equal weights after step %(step)s; engine %(others)s was not compared then.",
            "Engines %(equal)s had equal weights after step %(step)s; engines %(others)s were not compared then.",
            len(others),
        ) % (params | {"others": _listed(others)})
    if len(equal) == 2:
        return gettext("Both engines had equal weights after step %(step)s.") % params
    return gettext("All %(n)s engines had equal weights after step %(step)s.") % params


def _listed(numbers: Sequence[int]) -> str:
    return get_text_list([str(number) for number in numbers], gettext("and"))
