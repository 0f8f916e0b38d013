"""Charts of the reward and of the gold measure of each evaluation, greedy and sampled, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _

from runs.charts import Cell, Chart, Table, number, numbers, share, spoken, style
from runs.models import Run
from runs.responses.outcomes import GOLD, GREEDY, REWARD, SAMPLED, SELECTIONS, Outcomes
from workers.analysis.proxy_gold import Level

CHARTS = {"evaluated-reward": REWARD, "evaluated-gold": GOLD}
"""Name of a chart -> its measure. Pages with other charts fetch these by name too."""
TITLES = {REWARD: _("Reward (proxy)"), "right": _("Right answers (gold)"), "safe": _("Safe responses (gold)")}
UNITS = {REWARD: _("mean reward"), GOLD: _("share of responses")}
NAMES = {GREEDY: _("greedy"), SAMPLED: _("sampled")}
HELPS = {
    REWARD: _(
        "The reward that training raises, on held-out prompts. Bands are 95 % intervals of the mean over prompts "
        "(Student's t over the prompts' means)."
    ),
    "right": _(
        "Share of responses whose answer is right. Training never sees it. Bands are 95 % intervals (Wilson, for the "
        "effective number of prompts)."
    ),
    "safe": _(
        "Share of responses whose cost is at most 0. Bands are 95 % intervals (Wilson, for the effective number of "
        "prompts)."
    ),
}
LINES, SYMBOLS = {GREEDY: "solid", SAMPLED: "dash"}, {GREEDY: "circle", SAMPLED: "square"}
LEGEND = {"font": {"size": 10}, "orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
Points = Sequence[tuple[int, Level]]


def outcome_chart(run: Run, outcomes: Outcomes, name: str) -> Chart:
    """Return the chart of CHARTS with this name."""
    measure = CHARTS[name]
    word = REWARD if measure == REWARD else outcomes.gold
    points = {selection: _points(outcomes, measure, selection) for selection in SELECTIONS}
    drawn = {selection: of for selection, of in points.items() if of}
    return Chart(
        name, gettext(TITLES[word]), _words(outcomes, measure, drawn), _figure(run, measure, drawn), _table(drawn),
        help=spoken(HELPS[word]),
    )  # fmt: skip


def _points(outcomes: Outcomes, measure: str, selection: str) -> Points:
    levels = ((outcome.step, outcome.level(measure, selection)) for outcome in outcomes.steps)
    return [(step, level) for step, level in levels if level is not None]


def _figure(run: Run, measure: str, drawn: dict[str, Points]) -> dict[str, Any]:
    is_share = measure == GOLD
    layout = style.layout(
        gettext("step"), gettext(UNITS[measure]), meta=style.readout("step", is_share), showlegend=len(drawn) > 1,
        legend=LEGEND,
    )  # fmt: skip
    if is_share:
        layout["yaxis"] |= {"tickformat": ".0%", "range": [-0.03, 1.03]}
    tokens = {selection: style.colour(run.method) if selection == GREEDY else "other" for selection in drawn}
    bands = [_band(points, tokens[selection]) for selection, points in drawn.items()]
    lines = [_line(points, selection, tokens[selection]) for selection, points in drawn.items()]
    return {"data": [*bands, *lines], "layout": layout}


def _band(points: Points, token: str) -> dict[str, Any]:
    known = [(step, level.low, level.high) for step, level in points if level.low is not None]
    steps = [step for step, _low, _high in known]
    ends = [high for *_, high in known] + [low for _step, low, _high in reversed(known)]
    return {
        "type": "scatter", "mode": "lines", "name": gettext("95 % interval"), "hoverinfo": "skip", "fill": "toself",
        "showlegend": False, "x": [*steps, *reversed(steps)], "y": numbers(np.array(ends, np.float64)),
        "meta": {"colour": token, "alpha": 0.13}, "fillcolor": style.paint(token, 0.13),
        "line": {"width": 0, "color": style.paint(token, 0)},
    }  # fmt: skip


def _line(points: Points, selection: str, token: str) -> dict[str, Any]:
    name = gettext(NAMES[selection])
    return {
        "type": "scatter", "mode": "lines+markers", "name": name, "hoverinfo": "none",
        "x": [step for step, _level in points], "y": numbers(level.mean for _step, level in points),
        "meta": {"colour": token, "alpha": 1, "label": name},
        "line": {"color": style.paint(token), "width": 2, "dash": LINES[selection]},
        "marker": {"color": style.paint(token), "symbol": SYMBOLS[selection], "size": 5},
    }  # fmt: skip


def _words(outcomes: Outcomes, measure: str, drawn: dict[str, Points]) -> str:
    if not drawn:
        return _absence(outcomes, measure)
    sentences = [_last_words(measure, selection, points) for selection, points in drawn.items()]
    read = len(outcomes.steps) + outcomes.partial
    if outcomes.total > read:
        sentences.append(gettext("%(n)s of %(total)s evaluations shown.") % {"n": read, "total": outcomes.total})
    if outcomes.partial:
        left_out = ngettext(
            "%(n)s evaluation is left out because responses are missing.",
            "%(n)s evaluations are left out because responses are missing.",
            outcomes.partial,
        )
        sentences.append(left_out % {"n": outcomes.partial})
    return " ".join(sentences)


def _absence(outcomes: Outcomes, measure: str) -> str:
    if not outcomes.steps:
        return gettext("No evaluated responses yet.")
    if measure == REWARD:
        return gettext("No response has a reward.")
    if outcomes.gold == "safe":
        return gettext("No response has a cost, so whether responses are safe is not known.")
    return gettext("Prompts of this task have no right answers, so there is no gold measure.")


def _last_words(measure: str, selection: str, points: Points) -> str:
    """Describe the last point of a line, with its interval and n."""
    step, level = points[-1]
    write = share if measure == GOLD else number
    params = {
        "name": capfirst(gettext(NAMES[selection])), "step": step, "value": write(level.mean), "low": write(level.low),
        "high": write(level.high), "n": level.responses, "prompts": level.prompts,
    }  # fmt: skip
    if level.low is None:
        return gettext("%(name)s at step %(step)s: %(value)s, n = %(n)s responses to %(prompts)s prompts.") % params
    return gettext(
        "%(name)s at step %(step)s: %(value)s (%(low)s to %(high)s), n = %(n)s responses to %(prompts)s prompts."
    ) % (params)


def _table(drawn: dict[str, Points]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (step, selection, level.mean, level.low, level.high, level.prompts, level.responses)
        for selection, points in drawn.items()
        for step, level in points
    ]
    return Table(("step", "samples", "mean", "low", "high", "prompts", "n"), tuple(rows))
