"""Charts of evaluations: pass@k and pass^k against k, and a measure over the steps of the trainings, task by task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from django.utils.translation import gettext, ngettext

from runs.charts import Cell, Chart, Table, course, number, share, style
from runs.charts.line_ends import end_letters, ends
from runs.evaluations.estimates import Curves, Estimates, along_k, along_steps
from runs.evaluations.lines import EstimateLine, letters_of, pool, rows, traces
from runs.evaluations.selection import Evaluation
from runs.metrics.catalogue import Metric

PASS_CHARTS = {"pass@k": "@", "pass^k": "^"}
STEPS_PREFIX = "steps:"
MAX_LISTED_LINES = 4
COLUMNS = (
    "letter", "run", "method", "evaluated", "task", "step", "measure", "value", "low", "high", "trainings", "prompts",
    "samples",
)  # fmt: skip

Lines = Sequence[tuple[Evaluation, ...]]
"""The members of each line: single evaluations, or those that are averaged."""


def pass_chart(name: str, lines: Lines, task: str, steps: str, measures: Sequence[str], curves: Curves) -> Chart:
    """Return the chart of pass@k or pass^k against k: a curve for each line and shown step.

    name: a key of PASS_CHARTS. steps: one of STEP_CHOICES. measures: the recorded ones.
    """
    rule = PASS_CHARTS[name]
    drawn, table, texts = list[EstimateLine](), list[tuple[Cell, ...]](), list[str]()
    for members in lines:
        measured, by_step = _pooled_along_k(members, task, rule, measures, curves)
        for step in _shown(list(by_step), steps):
            line = _line_of_step(measured, by_step[step], step, list(by_step))
            drawn.append(line)
            table += [(*_cells(line, task), step, f"pass{rule}{k:g}", *rest) for k, rest in rows(line)]
            if step == max(by_step):
                texts.append(_pass_words(line, step))
    titles = {"@": gettext("pass@k against k"), "^": gettext("pass^k against k")}
    helps = {
        "@": gettext("Probability that at least one of k samples of a prompt is correct: 1 − C(n−c, k) / C(n, k), mean "
                     "over prompts."),
        "^": gettext("Probability that all of k samples of a prompt are correct: C(c, k) / C(n, k), mean over "
                     "prompts."),
    }  # fmt: skip
    layout = style.layout(
        gettext("k, samples per prompt"), gettext("share of prompts"), log_x=True, meta=style.readout("k", True)
    )
    ticks = sorted({float(k) for line in drawn for k in line.estimates.x})
    layout["xaxis"] |= {"tickmode": "array", "tickvals": ticks, "ticktext": [f"{k:g}" for k in ticks]}
    layout["yaxis"] |= {"tickformat": ".0%"}
    absence = gettext("None of these evaluations has samples of the task %(task)s.") % {"task": task}
    keys = [
        f"{member.prefix(task)}{key}" for members in lines for member in members for key in measures if key[4:5] == rule
    ]
    return _chart(name, titles[rule], helps[rule], _listed(texts) or absence, drawn, layout, table, keys)


def step_charts(lines: Lines, tasks: Sequence[str], measure: Metric, curves: Curves) -> list[Chart]:
    """Return a chart of a measure over steps for each task, in this order. The charts of a share have the same y axis,
    so that a gain on one task and a loss on another can be compared."""
    drawn = {task: _step_lines(lines, task, measure, curves) for task in tasks}
    highs = [np.nanmax(np.r_[o.estimates.value, o.estimates.high]) for own in drawn.values() for o in own]
    top = 1.04 * max(0.1, min(1.0, max(highs, default=1.0)))
    y_axis = {"tickformat": ".0%", "range": [-0.02, top]} if measure.is_share else {}
    return [_step_chart(task, measure, own, y_axis) for task, own in drawn.items()]


def _step_lines(lines: Lines, task: str, measure: Metric, curves: Curves) -> list[EstimateLine]:
    drawn = []
    for members in lines:
        own = [(member, along_steps(member, task, measure.key, curves)) for member in members]
        present = [(member, estimates) for member, estimates in own if estimates is not None]
        if present:
            evaluated = tuple(member for member, _ in present)
            estimates = pool([estimates for _, estimates in present])
            drawn.append(EstimateLine(evaluated, estimates, letters_of(evaluated), evaluated[0].mark.group.dash))
    return drawn


def _step_chart(
    task: str, measure: Metric, lines: Sequence[EstimateLine], y_axis: dict[str, Any]
) -> Chart:  # fmt: skip
    format_value = share if measure.is_share else number
    texts = [f"{line.end} {course(line.estimates.value, format_value, line.estimates.x)}" for line in lines]
    layout = style.layout(gettext("step"), measure.unit, meta=style.readout("step", measure.is_share))
    layout["yaxis"] |= y_axis
    table = [(*_cells(line, task), int(step), measure.key, *rest) for line in lines for step, rest in rows(line)]
    absence = gettext("None of these evaluations recorded %(measure)s of the task %(task)s.")
    summary = _listed(texts) or absence % {"measure": measure.title, "task": task}
    title = gettext("%(task)s, %(role)s") % {"task": task, "role": _role(task, lines)}
    keys = [f"{member.prefix(task)}{measure.key}" for line in lines for member in line.members]
    return _chart(f"{STEPS_PREFIX}{task}", title, measure.help, summary, lines, layout, table, keys)


def _role(task: str, lines: Sequence[EstimateLine]) -> str:
    """Say whether the task is the one that the evaluated models were trained on."""
    evaluated = [line for line in lines if line.evaluation.training is not None]
    trained = [line.end for line in evaluated if line.evaluation.is_trained_on(task)]
    if not trained:
        return gettext("not trained")
    if len(trained) == len(evaluated):
        return gettext("trained task")
    return gettext("trained by %(letters)s") % {"letters": ", ".join(trained)}


def _pooled_along_k(
    members: Sequence[Evaluation], task: str, rule: str, measures: Sequence[str], curves: Curves
) -> tuple[tuple[Evaluation, ...], dict[int, Estimates]]:
    """Return the members that have samples of this task, and step -> their mean estimates for every k, at the steps
    that all of them have."""
    own = [(member, along_k(member, task, rule, measures, curves)) for member in members]
    present = [(member, by_step) for member, by_step in own if by_step]
    steps = sorted(set.intersection(*(set(by_step) for _, by_step in present))) if present else []
    by_step = {step: pool([own_steps[step] for _, own_steps in present]) for step in steps}
    return tuple(member for member, _ in present), by_step


def _line_of_step(
    members: tuple[Evaluation, ...], estimates: Estimates, step: int, steps: Sequence[int]
) -> EstimateLine:  # fmt: skip
    """Return the line of one step: the last is opaque, earlier ones are dotted and paler."""
    letters, group = letters_of(members), members[0].mark.group
    if step == max(steps):
        return EstimateLine(members, estimates, letters, group.dash)
    alpha = 0.55 + 0.3 * steps.index(step) / max(len(steps) - 1, 1)
    return EstimateLine(members, estimates, f"{letters}{step}", "dot", alpha)


def _shown(steps: Sequence[int], choice: str) -> list[int]:
    if choice == "all" or len(steps) < 2:
        return list(steps)
    return [steps[-1]] if choice == "last" else [steps[0], steps[-1]]


def _chart(
    name: str, title: str, help_text: str, summary: str, lines: Sequence[EstimateLine], layout: dict[str, Any],
    table: Sequence[tuple[Cell, ...]], keys: Iterable[str],
) -> Chart:  # fmt: skip
    labels = ends([line.data for line in lines])
    layout["margin"] = {**layout["margin"], "r": 16 + 7 * max((len(end.text) for end in labels), default=0)}
    data = [*(trace for line in lines for trace in traces(line)), *end_letters(labels, "step")]
    words = " ".join(filter(None, (help_text, _band_words(lines))))
    return Chart(
        name, title, summary, {"data": data, "layout": layout}, Table(COLUMNS, tuple(table)),
        tuple(dict.fromkeys(keys)), words,
    )  # fmt: skip


def _band_words(lines: Sequence[EstimateLine]) -> str:
    """Say what the bands of these lines are."""
    if any(len(line.members) > 1 for line in lines):
        return gettext("Bands of means: range over trainings if they are fewer than four, else ±1 std. Bands of single "
                       "evaluations: 95 % intervals over prompts.")  # fmt: skip
    if any(np.isfinite(line.estimates.low).any() for line in lines):
        return gettext("Bands: 95 % intervals over prompts of a single training. They do not include the difference "
                       "between seeds.")  # fmt: skip
    return gettext("No interval was recorded.") if lines else ""


def _cells(line: EstimateLine, task: str) -> tuple[Cell, ...]:
    own = line.evaluation
    if len(line.members) > 1:
        return letters_of(line.members), own.mark.group.name, own.method, "", task
    return own.mark.letter, own.run.name, own.method, own.subject, task


def _pass_words(line: EstimateLine, step: int) -> str:
    """Describe a line by its first and its last k."""
    own = line.estimates
    params = {
        "letter": letters_of(line.members), "step": step, "first": share(float(own.value[0])),
        "last": share(float(own.value[-1])), "k": f"{own.x[-1]:g}",
    }  # fmt: skip
    if len(own.x) == 1:
        return gettext("%(letter)s at step %(step)s: %(last)s at k = %(k)s") % params
    return gettext("%(letter)s at step %(step)s: %(first)s at k = 1, %(last)s at k = %(k)s") % params


def _listed(texts: Sequence[str]) -> str:
    """Return the texts about the first lines, with the number of the others."""
    if not texts:
        return ""
    more = len(texts) - MAX_LISTED_LINES
    rest = ngettext("%(n)s more line", "%(n)s more lines", more) % {"n": more} if more > 0 else ""
    return "; ".join(filter(None, (*texts[:MAX_LISTED_LINES], rest))) + "."
