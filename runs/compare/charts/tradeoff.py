"""Draw what a reward cost: each run's path through training, reward against KL."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from django.utils.translation import gettext

from runs.charts import (
    MEASURED,
    REWARD,
    Cell,
    Chart,
    Curves,
    Group,
    Table,
    averaged,
    line,
    look,
    number,
    numbers,
    style,
    ways_of,
)
from runs.charts.axes import KL
from runs.metrics import Provenances
from runs.models import Run
from workers.analysis.aggregate import Floats


def tradeoff(
    groups: Sequence[Group],
    visible: set[int],
    curves: Curves,
    log_kl: bool,
    provenances: Provenances = MappingProxyType({}),
) -> Chart:
    """Return the chart of each run's path: reward against KL. Up and to the left is better. If the runs were measured
    differently, the points of a line state how its run was measured."""
    _, mixed = averaged(groups, (KL, REWARD), curves, provenances)
    runs = [run for g in groups for run in g.runs]
    differs = any(len(ways_of(runs, key, curves, provenances)) > 1 for key in (KL, REWARD))
    data, ends = [], []
    table: list[tuple[Cell, ...]] = []
    for g in groups:
        paths = [(run, _path(curves, run.pk)) for run in g.runs]
        paths = [(run, path) for run, path in paths if len(path[0])]
        ways = {run.pk: _ways_in_words(run, provenances) if differs else "" for run, _ in paths}
        data += [_path_trace(g, run.name, path, ways[run.pk]) for run, path in paths if run.pk in visible]
        table += [row for run, path in paths for row in _rows(g, run, path, provenances)]
        ends_of = [(path[0][-1], path[1][-1]) for run, path in paths if run in g.whole]
        if ends_of and g not in mixed:
            kl, reward = (float(mean) for mean in np.mean(ends_of, axis=0))
            ends.append(_describe_end(g, reward, kl, len(ends_of)))
    layout = style.layout(gettext("KL, nats per token"), gettext("reward"), hovermode="closest", meta={"x": "kl"})
    if log_kl:
        layout["xaxis"] |= style.LOG
        data = [style.without_nonpositive(trace, "x") for trace in data]
    summary = f"{'; '.join(ends)}." if ends else "" if table else gettext("No evaluation yet.")
    columns = ("group", "run", "kl", "reward", f"{MEASURED} kl", f"{MEASURED} reward")
    return Chart(
        "tradeoff", gettext("Reward against KL"), summary, {"data": data, "layout": layout},
        Table(columns, tuple(table)), keys=(REWARD, KL),
        help=gettext(
            "Each line is the path of a run through training; the large marker is its last evaluation. Up and to the "
            "left is better."
        ),
    )  # fmt: skip


def _rows(group: Group, run: Run, path: tuple[Floats, Floats], provenances: Provenances) -> list[tuple[Cell, ...]]:
    ways = (provenances.get((run.pk, KL)), provenances.get((run.pk, REWARD)))
    return [(group.name, run.name, float(kl), float(reward), *ways) for kl, reward in zip(*path, strict=True)]


def _ways_in_words(run: Run, provenances: Provenances) -> str:
    """Return the ways in which KL and reward of a run were measured; "" if unknown."""
    if (run.pk, KL) not in provenances or (run.pk, REWARD) not in provenances:
        return ""
    params = {"kl": provenances[run.pk, KL].words, "reward": provenances[run.pk, REWARD].words}
    return gettext("KL: %(kl)s; reward: %(reward)s") % params


def _describe_end(group: Group, reward: float, kl: float, n: int) -> str:
    params = {"name": group.name, "reward": number(reward), "kl": number(kl), "n": n}
    return gettext("%(name)s is at reward %(reward)s, KL %(kl)s (n = %(n)s)") % params


def _path(curves: Curves, run_id: int) -> tuple[Floats, Floats]:
    """Return (KL, reward) at the points where both were measured."""
    if (run_id, KL) not in curves or (run_id, REWARD) not in curves:
        return np.zeros(0), np.zeros(0)
    (kl_x, kl), (reward_x, reward) = line(curves[run_id, KL]), line(curves[run_id, REWARD])
    _, i, j = np.intersect1d(kl_x, reward_x, return_indices=True)
    finite = np.isfinite(kl[i]) & np.isfinite(reward[j])
    return kl[i][finite], reward[j][finite]


def _path_trace(group: Group, name: str, path: tuple[Floats, Floats], ways: str) -> dict[str, Any]:
    stroke = style.paint(group.colour)
    sizes = [3] * (len(path[0]) - 1) + [10]
    hover = gettext("reward %(reward)s at KL %(kl)s") % {"reward": "%{y:.4g}", "kl": "%{x:.3g}"}
    rim = {"width": 1.5 if group.is_open else 0}
    return {
        **look(group), "mode": "lines+markers", "name": f"{group.name}, {name}",
        "meta": {"colour": group.colour, "alpha": 1}, "x": numbers(path[0]), "y": numbers(path[1]),
        "hovertemplate": f"{hover}<br>{ways}" if ways else hover,
        "line": {"color": stroke, "width": 1, "dash": group.dash},
        "marker": {"color": stroke, "symbol": group.marker, "size": sizes, "line": rim},
    }  # fmt: skip
