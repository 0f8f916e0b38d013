"""Chart of the population of each iteration: every member a dot, their mean a line, their range a band."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _
from numpy.typing import NDArray

from runs import metrics
from runs.charts import Cell, Chart, Table, number, numbers, style
from runs.models import Population, Run
from workers.config.methods import method_of

MEMBERS_HELP = _(
    "Each dot is one member's fitness. Their standard deviation is the fitness spread; an iteration without "
    "spread is dead: all members scored alike, so ES learns nothing from it."
)
GROUPS_HELP = _(
    "Each dot is the mean reward of one prompt's group of completions. GRPO learns from the spread inside the "
    "groups; a step without spread is dead: GRPO learns nothing from it."
)
ENGINES_HELP = _("The numbers are the members that each engine evaluated, counted from 0.")
Members = Sequence[Mapping[str, Any]]
MAX_SPANS = 200
"""If the list of an iteration's members is longer, the table states only their number."""
MAX_HOVER_ENGINES = 8
"""If there are more engines, a hover text states only their number."""
MAX_ITERATIONS = 120


@dataclass(frozen=True)
class Spread:
    """Rewards of one iteration's members; `signal` is the spread that the method learns from. `engines` has the
    positions of the members that each engine answered for, empty if there is one engine."""

    step: int
    rewards: NDArray[np.float64]
    signal: float
    engines: Mapping[int, Sequence[int]]


def population_chart(method: str, iterations: Sequence[tuple[int, Members]], total: int) -> Chart:
    """Return the chart of these iterations. `iterations` are (step, members), ascending; `total` is the number of
    iterations of the run."""
    all_spreads = [_spread(method, step, members) for step, members in iterations]
    spreads = [s for s in all_spreads if len(s.rewards)]
    title, unit = gettext("Prompt groups of each step"), gettext("mean reward of a group")
    if method_of(method).has_members:
        title, unit = gettext("Population of each iteration"), gettext("reward of a member")
    return Chart(
        "population", title, _words(method, spreads, total), _figure(method, spreads, unit),
        _table(spreads),
        help=_help(method, spreads),
    )  # fmt: skip


def _help(method: str, spreads: Sequence[Spread]) -> str:
    words = gettext(MEMBERS_HELP if method_of(method).has_members else GROUPS_HELP)
    return f"{words} {gettext(ENGINES_HELP)}" if any(s.engines for s in spreads) else words


def _spread(method: str, step: int, members: Members) -> Spread:
    """Compute the spread: ES learns from the spread of the members (population std), GRPO from that inside its groups
    (their mean std)."""
    rewards = _finite(m.get("reward") for m in members)
    inside = _finite(m.get("parts", {}).get("reward_std") for m in members)
    signal, engines = rewards if method_of(method).has_members else inside, _engines(members)
    if not len(signal):
        return Spread(step, rewards, float("nan"), engines)
    return Spread(step, rewards, float(signal.std() if method_of(method).has_members else signal.mean()), engines)


def _engines(members: Members) -> dict[int, list[int]]:
    """Return the positions of the members in their iteration, counted from 0, by the engine that answered for them."""
    engines: dict[int, list[int]] = {}
    for position, member in enumerate(members):
        if (engine := member.get("engine")) is not None:
            engines.setdefault(engine, []).append(position)
    return dict(sorted(engines.items()))


def _finite(values: Iterable[Any]) -> NDArray[np.float64]:
    array = np.array([_number(value) for value in values], np.float64)
    return array[np.isfinite(array)]


def _number(value: Any) -> float:
    """Return a number as it is stored: values that JSON cannot represent are text."""
    return float(value) if value is not None else float("nan")


def _figure(method: str, spreads: Sequence[Spread], unit: str) -> dict[str, Any]:
    step = gettext("iteration") if method_of(method).has_members else gettext("step")
    layout = style.layout(step, unit, meta={"x": "step"})
    if not spreads:
        return {"data": [], "layout": layout}
    token = style.colour(method)
    return {"data": [_range(spreads, token), _dots(spreads, token), _mean(spreads, token)], "layout": layout}


def _range(spreads: Sequence[Spread], token: str) -> dict[str, Any]:
    x = [s.step for s in spreads]
    y = [float(s.rewards.max()) for s in spreads] + [float(s.rewards.min()) for s in reversed(spreads)]
    return {
        "type": "scatter", "mode": "lines", "name": gettext("min–max"), "hoverinfo": "skip", "fill": "toself",
        "x": [*x, *reversed(x)], "y": numbers(y), "meta": {"colour": token, "alpha": 0.13},
        "fillcolor": style.paint(token, 0.13), "line": {"width": 0, "color": style.paint(token, 0)},
    }  # fmt: skip


def _dots(spreads: Sequence[Spread], token: str) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "markers", "name": gettext("members"), "hoverinfo": "skip",
        "x": [s.step for s in spreads for _ in s.rewards], "y": numbers(r for s in spreads for r in s.rewards),
        "meta": {"colour": token, "alpha": 0.4}, "marker": {"size": 4, "color": style.paint(token, 0.4)},
    }  # fmt: skip


def _mean(spreads: Sequence[Spread], token: str) -> dict[str, Any]:
    spans = [
        [*numbers([s.rewards.min(), s.rewards.max(), s.signal, len(s.rewards)]), _shares(s.engines)] for s in spreads
    ]
    return {
        "type": "scatter", "mode": "lines", "name": gettext("mean"), "x": [s.step for s in spreads],
        "y": numbers(s.rewards.mean() for s in spreads), "customdata": spans,
        "hovertemplate": gettext("%(value)s (%(low)s to %(high)s), spread %(spread)s, n = %(n)s") % {
            "value": "%{y:.4g}", "low": "%{customdata[0]:.4g}", "high": "%{customdata[1]:.4g}",
            "spread": "%{customdata[2]:.3g}", "n": "%{customdata[3]}",
        } + "%{customdata[4]}",
        "meta": {"colour": token, "alpha": 1}, "line": {"color": style.paint(token), "width": 2},
    }  # fmt: skip


def _words(method: str, spreads: Sequence[Spread], total: int) -> str:
    if not spreads:
        return gettext("No iteration yet.")
    sentences, dead, n = [_last_words(method, spreads[-1])], sum(s.signal == 0 for s in spreads), len(spreads)
    if dead:
        sentences.append(ngettext("%(dead)s of %(n)s dead.", "%(dead)s of %(n)s dead.", dead) % {"dead": dead, "n": n})
    if total > n:
        sentences.append(gettext("%(n)s of %(total)s iterations shown.") % {"n": n, "total": total})
    return " ".join(sentences)


def _last_words(method: str, last: Spread) -> str:
    """Describe how far the members of the last iteration are apart."""
    params = {
        "step": last.step, "n": len(last.rewards), "spread": number(last.signal),
        "low": number(float(last.rewards.min())), "high": number(float(last.rewards.max())),
    }  # fmt: skip
    if method_of(method).has_members:
        return gettext("At %(step)s: n = %(n)s, %(low)s to %(high)s, fitness spread %(spread)s.") % params
    return gettext("At %(step)s: n = %(n)s, %(low)s to %(high)s, spread inside groups %(spread)s.") % params


def _table(spreads: Sequence[Spread]) -> Table:
    columns = ("step", "n", "mean", "min", "max", "spread")
    rows: list[tuple[Cell, ...]] = [
        (s.step, len(s.rewards), float(s.rewards.mean()), float(s.rewards.min()), float(s.rewards.max()), s.signal)
        for s in spreads
    ]
    if not any(s.engines for s in spreads):
        return Table(columns, tuple(rows))
    return Table(
        (*columns, "engines"), tuple((*row, _positions(s.engines)) for row, s in zip(rows, spreads, strict=True))
    )


def _shares(engines: Mapping[int, Sequence[int]]) -> str:
    """Return how many members each engine answered for, as lines below those of a hover text."""
    if len(engines) > MAX_HOVER_ENGINES:
        return "<br>" + gettext("%(n)s engines") % {"n": len(engines)}
    lines = (
        ngettext("engine %(engine)s: %(n)s member", "engine %(engine)s: %(n)s members", len(positions))
        % {"engine": engine, "n": len(positions)}
        for engine, positions in engines.items()
    )
    return "".join(f"<br>{line}" for line in lines)


def _positions(engines: Mapping[int, Sequence[int]]) -> str:
    """Return which members each engine answered for, such as `0: 0-9 12; 1: 10-11`; only their number if that is too
    long."""
    spans = {engine: _spans(positions) for engine, positions in engines.items()}
    if sum(map(len, spans.values())) > MAX_SPANS:
        return "; ".join(f"{engine}: n = {len(positions)}" for engine, positions in engines.items())
    return "; ".join(f"{engine}: {' '.join(of_engine)}" for engine, of_engine in spans.items())


def _spans(positions: Sequence[int]) -> list[str]:
    """Join neighbours of an ascending list: 1, 2, 3, 5 becomes 1-3, 5."""
    starts = [positions[0], *(after for before, after in pairwise(positions) if after != before + 1)]
    ends = [*(before for before, after in pairwise(positions) if after != before + 1), positions[-1]]
    return [str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=True)]


def population(run: Run) -> Chart:
    """Return the chart of all iterations if they fit, else of evenly selected ones, always with the last."""
    steps = list(Population.objects.filter(run=run).order_by("step").values_list("step", flat=True).distinct())
    selected = metrics.sample_evenly(steps, MAX_ITERATIONS)
    rows = Population.objects.filter(run=run, step__in=selected).order_by("step", "-attempt__n", "-epoch", "-seq")
    # After a resume a step may exist twice: the later attempt counts.
    newest = rows.distinct("step").values_list("step", "members")
    chart = population_chart(run.method, list(newest), total=len(steps))
    if steps or run.is_open:
        return chart
    return replace(chart, summary=gettext("The run ended before its first iteration was recorded."))
