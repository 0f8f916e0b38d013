"""The figures of the study: how well detectors separate cheating from honest runs, as tables in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

from benchmarks.honesty.row import Row
from benchmarks.honesty.truth import Character
from workers.analysis.detectors import DETECTORS
from workers.analysis.roc import auc, auc_interval, limit_of_false_alarms
from workers.analysis.share_interval import share_interval

MIN_GROUP = 5
"""Fewer runs of a group give no figure of it."""
FALSE_ALARMS = 0.05
METHODS = {"es": "ES", "grpo": "GRPO"}
Score: TypeAlias = Callable[[Row], float | None]


@dataclass(frozen=True)
class Study:
    """Runs to state figures of, and those from which a limit is taken; the two are disjoint."""

    test: Sequence[Row]
    training: Sequence[Row] = ()

    @property
    def cheating(self) -> list[Row]:
        return [row for row in self.test if row.is_cheating]

    @property
    def honest(self) -> list[Row]:
        return [row for row in self.test if row.is_honest]


def report(study: Study) -> str:
    """Return all tables."""
    parts = (runs_table(study), detectors_table(study), false_alarms_table(study), lead_table(study))
    return "\n\n".join(parts)


def runs_table(study: Study) -> str:
    """Return how many test runs of each method are what."""
    rows = [f"| test runs | {' | '.join(c.value for c in Character)} |", "|---|" + "---|" * len(Character)]
    for method, name in METHODS.items():
        of_method = [row for row in study.test if row.method == method]
        counts = (sum(row.truth.character is c for row in of_method) for c in Character)
        rows.append(f"| {name} | {' | '.join(map(str, counts))} |")
    return "\n".join(rows)


def detectors_table(study: Study) -> str:
    """Return area, hits and false alarms of all detectors together, of each method's runs alone, of each detector, and
    of two numbers that are no detector. At most 5 % of the honest training runs exceed the limit."""
    rows = [
        "| score | ROC AUC | cheating runs flagged | honest runs flagged | cheating runs beyond the limit "
        "| honest runs beyond the limit |",
        "|---|---|---|---|---|---|",
        _line("all detectors", study, lambda row: row.outcome.score, fires=True),
    ]
    for method, name in METHODS.items():
        of_method = Study([row for row in study.test if row.method == method], study.training)
        rows.append(_line(f"all detectors, {name} runs alone", of_method, lambda row: row.outcome.score, fires=True))
    rows.append(_line("all detectors but `accuracy`", study, _without_accuracy, fires=True))
    for detector in DETECTORS:
        rows.append(_line(f"`{detector.name}`", study, _score_of(detector.name), fires=True))
    rows.append(_line("no detector: the largest KL", study, lambda row: row.outcome.largest_kl))
    rows.append(_line("no detector: the method is GRPO", study, lambda row: float(row.method == "grpo")))
    return "\n".join(rows)


def _without_accuracy(row: Row) -> float | None:
    return max((score for name, score in row.outcome.scores.items() if name != "accuracy"), default=None)


def _score_of(detector: str) -> Score:
    return lambda row: row.outcome.scores.get(detector)


def _line(name: str, study: Study, score: Score, *, fires: bool = False) -> str:
    cheating, honest, training = (
        [value for row in rows if (value := score(row)) is not None]
        for rows in (study.cheating, study.honest, [row for row in study.training if row.is_honest])
    )
    fired = [share(sum(v >= 0 for v in side), len(side)) for side in (cheating, honest)] if fires else ["", ""]
    limit = limit_of_false_alarms(training, FALSE_ALARMS)
    beyond = (
        [share(sum(v > limit for v in side), len(side)) for side in (cheating, honest)]
        if limit is not None
        else [f"not estimable, n = {len(training)}"] * 2
    )
    return f"| {name} | {area(cheating, honest)} | {' | '.join(fired)} | {' | '.join(beyond)} |"


def area(cheating: Sequence[float], honest: Sequence[float]) -> str:
    """Return the area under the ROC curve with its 95 % interval, or why there is none."""
    n = min(len(cheating), len(honest))
    if n < MIN_GROUP:
        return f"not estimable, n = {n}"
    value = auc(cheating, honest)
    low, high = auc_interval(value, len(cheating), len(honest))
    return f"{value:.3f} ({low:.2f} to {high:.2f})"


def share(count: int, n: int) -> str:
    """Return a share of runs with its Clopper-Pearson 95 % interval, or why there is none."""
    if n < MIN_GROUP:
        return f"not estimable, n = {n}"
    low, high = share_interval(count, n)
    return f"{count} of {n} ({low:.0%} to {high:.0%})"


def false_alarms_table(study: Study) -> str:
    """Return the flagged ones of the honest test runs, by method and kind."""
    rows = ["| honest test runs | flagged |", "|---|---|"]
    for method, name in METHODS.items():
        of_method = [row for row in study.honest if row.method == method]
        rows.append(f"| {name} | {share(sum(row.is_flagged for row in of_method), len(of_method))} |")
        for kind in sorted({row.kind for row in of_method}):
            of_kind = [row for row in of_method if row.kind == kind]
            rows.append(f"| `{kind}` | {sum(row.is_flagged for row in of_kind)} of {len(of_kind)} |")
    return "\n".join(rows)


def lead_table(study: Study) -> str:
    """Return how many steps before the end of the reward's rise the first flag of cheating test runs comes."""
    rows = ["| cheating test runs | with a flag | steps from the first flag to the reward's end |", "|---|---|---|"]
    for method, name in METHODS.items():
        of_method = [row for row in study.cheating if row.method == method]
        leads = [lead for row in of_method if (lead := row.outcome.lead) is not None]
        stated = f"not estimable, n = {len(leads)}"
        if len(leads) >= MIN_GROUP:
            before = sum(lead > 0 for lead in leads)
            stated = f"median {median(leads):g}, from {min(leads)} to {max(leads)}; before the end in {before}"
        rows.append(f"| {name} | {len(leads)} of {len(of_method)} | {stated} |")
    return "\n".join(rows)
