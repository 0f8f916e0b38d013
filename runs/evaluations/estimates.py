"""Estimates of evaluations with their intervals, read from the recorded series."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs import metrics
from runs.charts import line
from runs.evaluations.selection import Evaluation
from runs.metrics import Curve
from runs.metrics.catalogue import ESTIMATED_METRICS, Metric
from runs.metrics.metric_charts import SHARE_OF_PROMPTS
from workers.analysis.aggregate import Floats
from workers.analysis.keys import PROMPTS, SAMPLES
from workers.analysis.student_t import t_quantile

PASS_KEY = re.compile(r"pass([@^])(\d+)")


Curves: TypeAlias = Mapping[tuple[int, str], Curve]


@dataclass(frozen=True)
class Estimates:
    """Estimates along an axis with 95 % intervals. x, value, low, high: float64[n]; low and high are NaN where no
    interval was recorded. prompts, samples: float64[n], the numbers that each estimate is made from."""

    x: Floats
    value: Floats
    low: Floats
    high: Floats
    prompts: Floats
    samples: Floats


def measure_of(key: str) -> Metric:
    """Return the metric with this key as evaluations estimate it, in the reader's language. Raise KeyError for another
    key."""
    if match := PASS_KEY.fullmatch(key):
        words = {
            "@": _("Probability that at least one of %(k)s samples is correct, mean over prompts."),
            "^": _("Probability that all of %(k)s samples are correct, mean over prompts."),
        }[match[1]]
        return Metric(key, key, gettext(SHARE_OF_PROMPTS), gettext(words) % {"k": match[2]}, is_share=True)
    known = next((metric for metric in ESTIMATED_METRICS if metric.key == key), None)
    if known is None:
        raise KeyError(key)
    return known.spoken()


def recorded_measures(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return the keys of the measures that any of the evaluations has recorded: pass@k by k, pass^k, then
    ESTIMATED_METRICS."""
    keys = {re.sub(r"^prior/[^/]+/", "", key) for key in metrics.recorded_keys([e.run for e in evaluations])}
    passes = sorted(filter(None, map(PASS_KEY.fullmatch, keys)), key=lambda match: (match[1] == "^", int(match[2])))
    return [match[0] for match in passes] + [metric.key for metric in ESTIMATED_METRICS if metric.key in keys]


def read_curves(evaluations: Sequence[Evaluation], measures: Sequence[str], tasks: Sequence[str]) -> Curves:
    """Return the curves of these measures and their intervals, of these tasks, by (run id, key). One query."""
    names = [f"{key}{end}" for key in measures for end in ("", "/low", "/high", "/se")]
    prefixes = {evaluation.prefix(task) for evaluation in evaluations for task in tasks}
    keys = [f"{prefix}{name}" for prefix in sorted(prefixes) for name in (*names, PROMPTS, SAMPLES)]
    runs = [evaluation.run for evaluation in evaluations]
    return {(curve.run_id, curve.key): curve for curve in metrics.read(runs, keys)} if runs else {}


def along_steps(evaluation: Evaluation, task: str, key: str, curves: Curves) -> Estimates | None:
    """Return the estimates of a measure at every evaluated step; None if the evaluation has none of this task."""
    prefix = evaluation.prefix(task)

    def read(name: str, steps: Floats) -> Floats:
        return _at(curves.get((evaluation.run.pk, prefix + name)), steps)

    if task not in evaluation.tasks or (curve := curves.get((evaluation.run.pk, prefix + key))) is None:
        return None
    steps, value = _ascending(curve)
    low, high = read(f"{key}/low", steps), read(f"{key}/high", steps)
    if np.isnan(low).all():
        half = _t_quantiles(read(PROMPTS, steps)) * read(f"{key}/se", steps)
        low, high = value - half, value + half
    return Estimates(steps, value, low, high, read(PROMPTS, steps), read(SAMPLES, steps))


def _t_quantiles(prompts: Floats) -> Floats:
    """Return Student's t for a standard error over this many prompts; NaN where there are fewer than two."""
    return np.array([t_quantile(int(n) - 1) if n >= 2 else np.nan for n in prompts], np.float64)


def along_k(
    evaluation: Evaluation, task: str, rule: str, measures: Sequence[str], curves: Curves
) -> dict[int, Estimates]:
    """Return step -> the estimates of pass@k (rule "@") or pass^k ("^") for every recorded k."""
    by_k = {}
    for key in measures:
        match = PASS_KEY.fullmatch(key)
        if match and match[1] == rule and (estimates := along_steps(evaluation, task, key, curves)) is not None:
            by_k[int(match[2])] = estimates
    steps = sorted({int(step) for estimates in by_k.values() for step in estimates.x})
    return {step: _at_step(by_k, step) for step in steps}


def _at_step(by_k: Mapping[int, Estimates], step: int) -> Estimates:
    present = [(k, estimates, int(estimates.x.searchsorted(step))) for k, estimates in sorted(by_k.items())]
    present = [(k, estimates, i) for k, estimates, i in present if i < len(estimates.x) and estimates.x[i] == step]
    columns = [(k, e.value[i], e.low[i], e.high[i], e.prompts[i], e.samples[i]) for k, e, i in present]
    return Estimates(*np.array(columns, np.float64).T)


def _ascending(curve: Curve) -> tuple[Floats, Floats]:
    x, y = line(curve)
    order = np.argsort(x, kind="stable")
    return x[order], y[order]


def _at(curve: Curve | None, steps: Floats) -> Floats:
    """Return the curve's values at these steps, NaN where it has none."""
    out = np.full(len(steps), np.nan)
    if curve is None:
        return out
    x, y = _ascending(curve)
    _, i, j = np.intersect1d(steps, x, return_indices=True)
    out[i] = y[j]
    return out
