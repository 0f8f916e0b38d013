"""The demonstration's results as text: tables of its trainings, evaluations and probes, and the reasons of flags."""

from __future__ import annotations

from collections.abc import Sequence

from esweb.demo.probe_tables import probe_tables
from esweb.demo.results import LAST_EVALUATIONS, EvaluationOutcome, Outcome, ProbeOutcome, TrainingOutcome
from runs.flags import reason_of
from runs.tables import NONE, format_table
from workers.analysis.keys import KL, REWARD

NOTE = f"After is the mean of a run's last {LAST_EVALUATIONS} evaluations. The run's page shows the last one."
HEADINGS = (
    "method",
    "preset",
    "seed",
    "state",
    "reward before → after",
    "accuracy before → after",
    "safe before → after",
    "λ first → last",
    "KL",
    "seconds",
    "flags",
)
EVALUATION_NOTE = "Evaluations: values at the first → last evaluated step. prior/… is a task that is not trained."
DIGITS = {REWARD: 1, KL: 3}
"""Digits of a key's values; two for any other."""


def tables(results: Sequence[Outcome]) -> list[str]:
    """Return a table of the trainings, one of the evaluations and one of the probes, each if there are any."""
    trained = [outcome for outcome in results if isinstance(outcome, TrainingOutcome)]
    evaluated = [outcome for outcome in results if isinstance(outcome, EvaluationOutcome)]
    probed = [outcome for outcome in results if isinstance(outcome, ProbeOutcome)]
    return [
        *([table(trained)] if trained else []),
        *([evaluation_table(evaluated)] if evaluated else []),
        *(probe_tables(probed) if probed else []),
    ]


def table(results: Sequence[TrainingOutcome]) -> str:
    """Return the outcomes in columns, and the meaning of "after": pages show the last evaluation, which is another
    number."""
    return f"{format_table(HEADINGS, [_cells(outcome) for outcome in results], is_ruled=True)}\n{NOTE}"


def evaluation_table(results: Sequence[EvaluationOutcome]) -> str:
    """Return the outcomes in columns, with one for each key that any of them has, and the meaning of their values."""
    keys = list(dict.fromkeys(key for outcome in results for key in outcome.values))
    rows = [_evaluation_cells(outcome, keys) for outcome in results]
    headings = ("evaluation", "state", "steps", *keys, "seconds", "flags")
    return f"{format_table(headings, rows, is_ruled=True)}\n{EVALUATION_NOTE}"


def flag_lines(results: Sequence[Outcome]) -> list[str]:
    """Return why each flagged run is flagged, a line per run; a single line if none is."""
    lines = [
        f"Flagged: {outcome.run.name}. {' '.join(reason_of(flag) for flag in outcome.flags)}"
        for outcome in results
        if outcome.flags
    ]
    return lines or ["No run is flagged."]


def _cells(outcome: TrainingOutcome) -> tuple[str, ...]:
    run = outcome.run
    return (
        run.method.upper(),
        run.preset,
        str(run.seed),
        outcome.attempt.state,
        outcome.reward.text() if outcome.reward else NONE,
        outcome.accuracy.text(2) if outcome.accuracy else NONE,
        outcome.safe.text(2) if outcome.safe else NONE,
        outcome.weight.text(2) if outcome.weight else NONE,
        NONE if outcome.kl is None else f"{outcome.kl:.3f}",
        *outcome.last_cells,
    )


def _evaluation_cells(outcome: EvaluationOutcome, keys: Sequence[str]) -> tuple[str, ...]:
    return (
        outcome.title,
        outcome.attempt.state,
        f"{outcome.steps}/{outcome.planned_steps}",
        *(_first_and_last(outcome.values.get(key, ()), DIGITS.get(key, 2)) for key in keys),
        *outcome.last_cells,
    )


def _first_and_last(values: Sequence[float], digits: int) -> str:
    """Return the first and the last value; one number if there is a single step."""
    ends = values if len(values) < 2 else (values[0], values[-1])
    return " → ".join(f"{value:.{digits}f}" for value in ends) or NONE
