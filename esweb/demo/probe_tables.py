"""The demonstration's probes as text: their parts, each training's weights, and how alike the changes of two are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from esweb.demo.results import ProbeOutcome
from runs.models import Run
from runs.probes import newest, split_subject, with_whole
from runs.tables import NONE, format_table
from workers.records import ProbeValue

NOTE = (
    "By chance: a random walk with the run's own coefficients for ES, and random directions for the curvature. Growth: "
    "0.5 is a random walk, 1 a steady drift. The page Probes of the experiment shows every tensor."
)
COSINE_NOTE = "Cosine of the changes of all weights; independent directions lie within the band in 95 % of cases."
Whole: TypeAlias = dict[tuple[str, str, str], ProbeValue]
"""(measure, subject, other) -> value of the whole model."""


def probe_tables(results: Sequence[ProbeOutcome]) -> list[str]:
    """Return a table of the probe runs, one of the trainings that they examined, and one of the cosines of pairs."""
    rows = [(o.title, o.attempt.state, f"{o.parts}/{o.planned_parts}", str(o.records), *o.last_cells) for o in results]
    tables = [format_table(("probe", "state", "parts", "results", "seconds", "flags"), rows, is_ruled=True)]
    results_of_runs = with_whole(newest([outcome.run for outcome in results]))
    whole = {(r.measure, r.subject, r.other): value for r, value in results_of_runs if value is not None}
    verdicts = {result.subject: result.verdict for result, _ in results_of_runs if result.probe == "audit"}
    if subjects := [subject for measure, subject, _ in whole if measure == "norm"]:
        tables.append(_weights(subjects, whole, verdicts, _names(subjects)))
    if pairs := [(subject, other) for measure, subject, other in whole if measure == "cosine"]:
        tables.append(_cosines(pairs, whole, _names([subject for pair in pairs for subject in pair])))
    return tables


def _weights(subjects: Sequence[str], whole: Whole, verdicts: dict[str, str], names: dict[str, str]) -> str:
    curvature = {subject: value for (measure, subject, _), value in whole.items() if measure == "curvature"}
    rows = [
        (
            names[subject],
            verdicts.get(subject, NONE),
            f"{whole['norm', subject, ''].value:.3f}",
            _null(whole["norm", subject, ""]),
            _with_interval(whole.get(("growth_exponent", subject, ""))),
            f"{curvature[subject].value:.3g}" if subject in curvature else NONE,
            _null(curvature.get(subject)),
        )
        for subject in subjects
    ]
    headings = ("weights", "noise", "change", "by chance", "growth", "curvature", "by chance")
    return f"{format_table(headings, rows, is_ruled=True)}\n{NOTE}"


def _cosines(pairs: Sequence[tuple[str, str]], whole: Whole, names: dict[str, str]) -> str:
    rows = []
    for first, second in pairs:
        value = whole["cosine", first, second]
        rows.append((names[first], names[second], f"{value.value:+.4f}", _null(value)))
    headings = ("weights", "weights", "cosine", "by chance")
    return f"{format_table(headings, rows, is_ruled=True)}\n{COSINE_NOTE}"


def _null(value: ProbeValue | None) -> str:
    """Return the band that chance gives, or what it gives on average if there is no band."""
    if value is None or value.null is None:
        return NONE
    if value.null_low is None or value.null_high is None:
        return f"about {value.null:.3g}"
    return f"{value.null_low:.3g} … {value.null_high:.3g}"


def _with_interval(value: ProbeValue | None) -> str:
    if value is None or value.low is None or value.high is None:
        return NONE
    return f"{value.value:.2f} ({value.low:.2f} … {value.high:.2f})"


def _names(subjects: Sequence[str]) -> dict[str, str]:
    """Return subject -> preset and seed of its run."""
    uids = {subject: split_subject(subject)[0] for subject in subjects}
    runs = {run.uid: f"{run.preset} seed {run.seed}" for run in Run.objects.filter(uid__in=uids.values())}
    return {subject: runs.get(uid, subject) for subject, uid in uids.items()}
