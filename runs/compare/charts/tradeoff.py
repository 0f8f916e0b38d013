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
from workers.analysis.middles import Floats


def tradeoff(
    groups: Sequence[Group], shown: set[int], curves: Curves, log_kl: bool, measured: Provenances = MappingProxyType({})
) -> Chart:
    """The path of each run: what a reward cost in KL. Up and to the left is better. If the runs were not measured
    alike, the points of a line say how its run was."""
    _, mixed = averaged(groups, (KL, REWARD), curves, measured)
    runs = [run for g in groups for run in g.runs]
    differs = any(len(ways_of(runs, key, curves, measured)) > 1 for key in (KL, REWARD))
    data, ends = [], []
    table: list[tuple[Cell, ...]] = []
    for g in groups:
        paths = [(run, _path(curves, run.pk)) for run in g.runs]
        paths = [(run, path) for run, path in paths if len(path[0])]
        ways = {run.pk: _ways_in_words(run, measured) if differs else "" for run, _ in paths}
        data += [_walk(g, run.name, path, ways[run.pk]) for run, path in paths if run.pk in shown]
        table += [row for run, path in paths for row in _rows(g, run, path, measured)]
        ends_of = [(path[0][-1], path[1][-1]) for run, path in paths if run in g.whole]
        if ends_of and g not in mixed:
            kl, reward = (float(mean) for mean in np.mean(ends_of, axis=0))
            ends.append(_end(g, reward, kl, len(ends_of)))
    layout = style.layout(gettext("KL, nats per token"), gettext("reward"), hovermode="closest", meta={"x": "kl"})
    if log_kl:
        layout["xaxis"] |= style.LOG
        data = [style.without_nonpositive(trace, "x") for trace in data]
    words = f"{'; '.join(ends)}." if ends else "" if table else gettext("No evaluation yet.")
    columns = ("group", "run", "kl", "reward", f"{MEASURED} kl", f"{MEASURED} reward")
    return Chart(
        "tradeoff", gettext("Reward against KL"), words, {"data": data, "layout": layout},
        Table(columns, tuple(table)), keys=(REWARD, KL),
        help=gettext(
            "Each line is a run's way through training, its large mark where it is now. Up and to the left is better."
        ),
    )  # fmt: skip


def _rows(group: Group, run: Run, path: tuple[Floats, Floats], measured: Provenances) -> list[tuple[Cell, ...]]:
    ways = (measured.get((run.pk, KL)), measured.get((run.pk, REWARD)))
    return [(group.name, run.name, float(kl), float(reward), *ways) for kl, reward in zip(*path, strict=True)]


def _ways_in_words(run: Run, measured: Provenances) -> str:
    """Return how KL and reward of a run were measured; nothing if that is not given."""
    if (run.pk, KL) not in measured or (run.pk, REWARD) not in measured:
        return ""
    said = {"kl": measured[run.pk, KL].words, "reward": measured[run.pk, REWARD].words}
    return gettext("KL: %(kl)s; reward: %(reward)s") % said


def _end(group: Group, reward: float, kl: float, n: int) -> str:
    said = {"name": group.name, "reward": number(reward), "kl": number(kl), "n": n}
    return gettext("%(name)s is at reward %(reward)s, KL %(kl)s (n = %(n)s)") % said


def _path(curves: Curves, run_id: int) -> tuple[Floats, Floats]:
    """(KL, reward) at the points where both were measured."""
    if (run_id, KL) not in curves or (run_id, REWARD) not in curves:
        return np.zeros(0), np.zeros(0)
    (kl_x, kl), (reward_x, reward) = line(curves[run_id, KL]), line(curves[run_id, REWARD])
    _, i, j = np.intersect1d(kl_x, reward_x, return_indices=True)
    good = np.isfinite(kl[i]) & np.isfinite(reward[j])
    return kl[i][good], reward[j][good]


def _walk(group: Group, name: str, path: tuple[Floats, Floats], ways: str) -> dict[str, Any]:
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
