"""ES against GRPO: a thin line a seed, and for each group its mean and a band."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runs.charts import style
from runs.charts.chart import Cell, Chart, Table, numbers
from runs.charts.groups import Curves, Group, line, look
from runs.charts.tradeoff import KL, REWARD, tradeoff
from runs.charts.words import X_WORDS, change, number, share
from runs.series import Curve
from workers.analysis.bands import Band, Floats, band

ACCURACY = "accuracy/contains"


@dataclass(frozen=True)
class Measure:
    """A number of the common evaluator, so that both methods are measured alike."""

    name: str
    key: str
    title: str
    unit: str
    help: str
    is_share: bool = False


MEASURES = (
    Measure(
        "reward", REWARD, "Held-out reward", "reward",
        "Mean reward of the greedy answers to held-out prompts. Higher is better; on its own it can be hacked.",
    ),
    Measure(
        "kl", KL, "KL from the base model", "KL, nats per token",
        "Exact KL(model ‖ base) over the vocabulary, mean per token of the sampled answers: how far the model moved.",
    ),
    Measure(
        "accuracy", ACCURACY, "Accuracy", "share of answers",
        "Share of greedy answers that contain the right one. Reward up and this down: the reward is being hacked.",
        is_share=True,
    ),
)  # fmt: skip


def compare(
    groups: Sequence[Group], shown: Iterable[int], curves: Iterable[Curve], x: str = "step", *, log_kl: bool = False
) -> list[Chart]:
    """The experiment's charts: each measure along `x`, then reward against KL.

    `groups` hold all seeds that a mean is taken over; `shown` are the ids of the runs that get a line of their own:
    a mean never depends on what else is shown. `curves` are those of all runs in `groups`.
    """
    kept = {(c.run_id, c.key): c for c in curves}
    seen = set(shown)
    charts = [_along(m, groups, seen, kept, x, log_kl and m.key == KL) for m in MEASURES]
    return [*charts, tradeoff(groups, seen, kept, log_kl)]


def _along(measure: Measure, groups: Sequence[Group], shown: set[int], curves: Curves, x: str, log_y: bool) -> Chart:
    bands = [(g, _band(g, measure.key, curves)) for g in groups]
    bands = [(g, b) for g, b in bands if b.n]
    data = [t for g, b in bands for t in _traces(g, b, measure.key, shown, curves)]
    if log_y:
        data = [style.without_nonpositive(trace, "y") for trace in data]
    layout = style.layout(X_WORDS[x], measure.unit, log_y=log_y, meta={"x": x})
    if measure.is_share:
        layout["yaxis"] |= {"tickformat": ".0%", **style.room(_all_means(bands))}
    words = _words(bands, share if measure.is_share else number)
    return Chart(
        measure.name, measure.title, words, {"data": data, "layout": layout}, _table(bands, x),
        keys=(measure.key,), help=measure.help,
    )  # fmt: skip


def _band(group: Group, key: str, curves: Curves) -> Band:
    return band([line(curves[run.pk, key]) for run in group.runs if (run.pk, key) in curves])


def _traces(group: Group, spread: Band, key: str, shown: set[int], curves: Curves) -> list[dict[str, Any]]:
    several = spread.n > 1
    mine = [(run, curves[run.pk, key]) for run in group.runs if run.pk in shown and (run.pk, key) in curves]
    seeds = [_seed(group, run.uid, run.name, key, line(curve), several) for run, curve in mine]
    return [*(_area(group, spread) if several else []), *seeds, *([_mean(group, spread)] if several else [])]


def _seed(group: Group, uid: str, name: str, key: str, points: tuple[Floats, Floats], thin: bool) -> dict[str, Any]:
    stroke = style.paint(group.colour, 0.45 if thin else 1)
    meta = {"run": uid, "key": key, "colour": group.colour, "alpha": 0.45 if thin else 1}
    mode = {"mode": "lines", "hoverinfo": "skip"} if thin else {"mode": "lines+markers", "hovertemplate": "%{y:.4g}"}
    return {
        **look(group), **mode, "name": name if thin else f"{group.name} (n = 1)", "meta": meta,
        "x": numbers(points[0]), "y": numbers(points[1]),
        "line": {"color": stroke, "width": 1 if thin else 2, "dash": group.dash},
        "marker": {"color": stroke, "symbol": group.marker, "size": 5},
    }  # fmt: skip


def _mean(group: Group, spread: Band) -> dict[str, Any]:
    stroke = style.paint(group.colour)
    return {
        **look(group), "mode": "lines+markers", "name": f"{group.name} (n = {spread.n})",
        "meta": {"colour": group.colour, "alpha": 1}, "x": numbers(spread.x), "y": numbers(spread.mean),
        "customdata": [list(pair) for pair in zip(numbers(spread.low), numbers(spread.high), strict=True)],
        "hovertemplate": "%{y:.4g} (%{customdata[0]:.4g} to %{customdata[1]:.4g})",
        "line": {"color": stroke, "width": 2.5, "dash": group.dash},
        "marker": {"color": stroke, "symbol": group.marker, "size": 5},
    }  # fmt: skip


def _area(group: Group, spread: Band) -> list[dict[str, Any]]:
    x = np.concatenate([spread.x, spread.x[::-1]])
    y = np.concatenate([spread.high, spread.low[::-1]])
    return [{
        **look(group), "mode": "lines", "name": f"{group.name}, {spread.kind}", "hoverinfo": "skip",
        "meta": {"colour": group.colour, "alpha": 0.13}, "x": numbers(x), "y": numbers(y), "fill": "toself",
        "fillcolor": style.paint(group.colour, 0.13), "line": {"width": 0, "color": style.paint(group.colour, 0)},
    }]  # fmt: skip


def _all_means(bands: Sequence[tuple[Group, Band]]) -> Floats:
    return np.concatenate([b.mean for _, b in bands]) if bands else np.zeros(0)


def _words(bands: Sequence[tuple[Group, Band]], written: Callable[[float], str]) -> str:
    said = [f"{g.name} {change(b.mean[0], b.mean[-1], written)} (n = {b.n})" for g, b in bands if len(b.x)]
    return f"{'; '.join(said)}." if said else "No evaluation yet."


def _table(bands: Sequence[tuple[Group, Band]], x: str) -> Table:
    out: list[tuple[Cell, ...]] = []
    for g, b in bands:
        points = np.column_stack([b.x, b.mean, b.low, b.high]).tolist()
        out += [(g.name, b.n, *point, b.kind) for point in points]
    return Table(("group", "n", x, "mean", "low", "high", "band"), tuple(out))
