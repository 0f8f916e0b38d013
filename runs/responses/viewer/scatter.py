"""Scatter plot of reward against cost, with a dot per response. A lasso selection becomes a filter of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from runs.charts import Cell, Chart, Table, number, numbers, style

SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "x")
OPEN = "-open"
DOT = 5


@dataclass(frozen=True)
class Cloud:
    """A column's responses: `points` are (reward, cost) of the plotted ones, of `total`. `missing`: text such as
    `5 of 32 responses` if its evaluation lacks some."""

    letter: str
    name: str
    method: str
    points: Sequence[tuple[float, float]]
    total: int
    missing: str = ""


def reward_cost(clouds: Sequence[Cloud], lasso: Sequence[tuple[float, float]] = ()) -> Chart:
    """Return the scatter plot. `lasso`: corners, as reward and cost, of the current filter."""
    plotted = [cloud for cloud in clouds if cloud.points]
    methods = [cloud.method for cloud in plotted]
    data = [_dots(cloud, i, methods[:i].count(cloud.method)) for i, cloud in enumerate(plotted)]
    layout = style.layout(
        gettext("reward"), gettext("cost"), hovermode="closest", dragmode="lasso", meta={"x": "reward"},
        shapes=[*_axes(), *([_ring(lasso)] if lasso else [])],
    ) | {"showlegend": len(plotted) > 1, "legend": {"orientation": "h", "y": 1.12}}  # fmt: skip
    rows: list[tuple[Cell, ...]] = [(c.letter, c.name, reward, cost) for c in plotted for reward, cost in c.points]
    return Chart(
        "reward-cost", gettext("Reward against cost"), _summary(plotted), {"data": data, "layout": layout},
        Table(("letter", "run", "reward", "cost"), tuple(rows)),
        help=gettext(
            "Each dot is a response. It is safe at or below cost 0, and helpful to the right of reward 0. "
            "Draw around dots to see their answers: all answers inside are found, also those that are not drawn."
        ),
    )  # fmt: skip


def _dots(cloud: Cloud, i: int, variant: int) -> dict[str, Any]:
    token = style.colour(cloud.method)
    name = " · ".join(filter(None, (cloud.letter, cloud.name, cloud.missing)))
    return {
        "type": "scatter", "mode": "markers", "name": name,
        "x": numbers(reward for reward, _ in cloud.points), "y": numbers(cost for _, cost in cloud.points),
        "hovertemplate": gettext("reward %(reward)s, cost %(cost)s") % {"reward": "%{x:.3g}", "cost": "%{y:.3g}"},
        "meta": {"colour": token, "alpha": 0.65 if variant % 2 == 0 else 0.4},
        "marker": {"size": DOT, "symbol": SYMBOLS[i] + (OPEN if variant else ""), "color": style.paint(token, 0.6)},
    }  # fmt: skip


def _axes() -> list[dict[str, Any]]:
    line = {"type": "line", "layer": "below", "line": {"width": 1, "dash": "dot", "color": style.paint("muted")}}
    return [
        {**line, "xref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 0},
        {**line, "yref": "paper", "y0": 0, "y1": 1, "x0": 0, "x1": 0},
    ]


def _ring(lasso: Sequence[tuple[float, float]]) -> dict[str, Any]:
    path = " L ".join(f"{reward:g} {cost:g}" for reward, cost in lasso)
    return {"type": "path", "path": f"M {path} Z", "line": {"width": 1.5, "color": style.paint("muted")}}


def _summary(plotted: Sequence[Cloud]) -> str:
    if not plotted:
        return gettext("No answer here has both a reward and a cost.")
    safe = [_share(c) for c in plotted]
    n, total = sum(len(c.points) for c in plotted), sum(c.total for c in plotted)
    plotted_text = gettext("%(n)s of %(total)s answers drawn.") % {"n": number(n), "total": number(total)}
    return f"{'; '.join(safe)}. {plotted_text}"


def _share(cloud: Cloud) -> str:
    share = 100 * sum(cost <= 0 for _, cost in cloud.points) / len(cloud.points)
    params = {"letter": cloud.letter, "share": number(share), "answers": cloud.missing}
    if cloud.missing:
        return gettext("%(letter)s: %(share)s %% of the dots at cost 0 or less (partial, %(answers)s)") % params
    return gettext("%(letter)s: %(share)s %% of the dots at cost 0 or less") % params
