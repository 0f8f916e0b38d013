"""ES against GRPO: a thin line a seed, and for each group its mean and a band."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.charts import style
from runs.charts.chart import Cell, Chart, Table, numbers
from runs.charts.groups import Curves, Group, line, look
from runs.charts.tradeoff import KL, REWARD, tradeoff
from runs.charts.words import X_WORDS, change, number, share, spoken
from runs.series import Curve, Span, m4
from workers.analysis.bands import AUTO, Band, band
from workers.analysis.middles import MIDDLES, Floats

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

    def spoken(self) -> Measure:
        """With its words in the reader's language."""
        return replace(self, title=gettext(self.title), unit=gettext(self.unit), help=gettext(self.help))


MEASURES = (
    Measure(
        "reward", REWARD, _("Held-out reward"), _("reward"),
        _("Mean reward of the greedy answers to held-out prompts. Higher is better; on its own it can be hacked."),
    ),
    Measure(
        "kl", KL, _("KL from the base model"), _("KL, nats per token"),
        _("Exact KL(model ‖ base) over the vocabulary, mean per token of the sampled answers: how far the model "
          "moved."),
    ),
    Measure(
        "accuracy", ACCURACY, _("Accuracy"), _("share of answers"),
        _("Share of greedy answers that contain the right one. Reward up and this down: the reward is being hacked."),
        is_share=True,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Look:
    """How the charts are drawn: x, one of X_AXES; center, one of MIDDLES; spread, `auto` or one of SPREADS; px, how
    many pixels wide, so that no more is sent than can be seen; zoom, the x range that is looked at. What is computed is
    computed from all points."""

    x: str = "step"
    log_kl: bool = False
    center: str = "mean"
    spread: str = AUTO
    px: int | None = None
    zoom: Span | None = None


AS_USUAL = Look()


def compare(
    groups: Sequence[Group], shown: Iterable[int], curves: Iterable[Curve], how: Look = AS_USUAL
) -> list[Chart]:
    """The experiment's charts: each measure along `x`, then reward against KL. A table has what is drawn: every point
    where no width is given.

    `groups` hold all seeds that a mean is taken over; `shown` are the ids of the runs that get a line of their own:
    a mean never depends on what else is shown. `curves` are those of all runs in `groups`.
    """
    kept = {(c.run_id, c.key): c for c in curves}
    seen = set(shown)
    return [*(_along(m.spoken(), groups, seen, kept, how) for m in MEASURES), tradeoff(groups, seen, kept, how.log_kl)]


def _along(measure: Measure, groups: Sequence[Group], shown: set[int], curves: Curves, how: Look) -> Chart:
    x, log_y = how.x, how.log_kl and measure.key == KL
    bands = [(g, _band(g, measure.key, curves, how)) for g in groups]
    bands = [(g, b) for g, b in bands if b.most]
    drawn = [(g, _thinned(b, how)) for g, b in bands]
    data = [t for g, b in drawn for t in _traces(g, b, measure.key, shown, curves, how)]
    if log_y:
        data = [style.without_nonpositive(trace, "y") for trace in data]
    thinned = how.px is not None and any(len(b.x) > 2 * how.px for _, b in bands)
    layout = style.layout(spoken(X_WORDS[x]), measure.unit, log_y=log_y, meta={"x": x, "thinned": thinned})
    if measure.is_share:
        layout["yaxis"] |= {"tickformat": ".0%", **style.room(_all_means(bands), is_share=True)}
    words = _words(bands, share if measure.is_share else number)
    return Chart(
        measure.name, measure.title, words, {"data": data, "layout": layout}, _table(drawn, x),
        keys=(measure.key,), help=measure.help,
    )  # fmt: skip


def _band(group: Group, key: str, curves: Curves, how: Look) -> Band:
    lines = [line(curves[run.pk, key]) for run in group.runs if (run.pk, key) in curves]
    return band(lines, how.center, how.spread)


def _thinned(whole: Band, how: Look) -> Band:
    """The band on pixel columns, with the corners of all three of its lines."""
    px = how.px
    if px is None:
        return whole
    corners = [m4(whole.x, y, px, zoom=how.zoom) for y in (whole.middle, whole.low, whole.high)]
    kept = np.unique(np.concatenate(corners))
    x, middle, low, high = (column[kept] for column in (whole.x, whole.middle, whole.low, whole.high))
    return replace(whole, x=x, middle=middle, low=low, high=high, n=whole.n[kept])


def _traces(group: Group, spread: Band, key: str, shown: set[int], curves: Curves, how: Look) -> list[dict[str, Any]]:
    several = spread.most > 1
    mine = [(run, line(curves[run.pk, key])) for run in group.runs if run.pk in shown and (run.pk, key) in curves]
    kept = [m4(x, y, how.px, zoom=how.zoom) if how.px and len(x) else slice(None) for _, (x, y) in mine]
    seeds = [
        _seed(group, run.uid, run.name, key, (x[seen], y[seen]), several)
        for (run, (x, y)), seen in zip(mine, kept, strict=True)
    ]
    return [*(_area(group, spread) if several else []), *seeds, *([_middle(group, spread)] if several else [])]


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


def _middle(group: Group, spread: Band) -> dict[str, Any]:
    stroke = style.paint(group.colour)
    return {
        **look(group), "mode": "lines+markers", "name": f"{group.name} ({_count(spread)})",
        "meta": {"colour": group.colour, "alpha": 1}, "x": numbers(spread.x), "y": numbers(spread.middle),
        "customdata": [list(p) for p in zip(numbers(spread.low), numbers(spread.high), spread.n.tolist(), strict=True)],
        "hovertemplate": gettext("%(value)s (%(low)s to %(high)s, n = %(n)s)") % {
            "value": "%{y:.4g}", "low": "%{customdata[0]:.4g}", "high": "%{customdata[1]:.4g}", "n": "%{customdata[2]}",
        },
        "line": {"color": stroke, "width": 2.5, "dash": group.dash},
        "marker": {"color": stroke, "symbol": group.marker, "size": 5},
    }  # fmt: skip


def _area(group: Group, spread: Band) -> list[dict[str, Any]]:
    """The band; where one seed is alone there is none, and it falls into pieces."""
    wide = np.flatnonzero(np.isfinite(spread.low) & np.isfinite(spread.high))
    pieces = [part for part in np.split(wide, np.flatnonzero(np.diff(wide) > 1) + 1) if len(part)]
    x = [v for part in pieces for v in (*numbers(spread.x[part]), *numbers(spread.x[part][::-1]), None)][:-1]
    y = [v for part in pieces for v in (*numbers(spread.high[part]), *numbers(spread.low[part][::-1]), None)][:-1]
    return [{
        **look(group), "mode": "lines", "name": f"{group.name}, {spoken(spread.kind)}", "hoverinfo": "skip",
        "meta": {"colour": group.colour, "alpha": 0.13}, "x": x, "y": y, "fill": "toself",
        "fillcolor": style.paint(group.colour, 0.13), "line": {"width": 0, "color": style.paint(group.colour, 0)},
    }]  # fmt: skip


def _count(spread: Band) -> str:
    """How many seeds there are, and that it is not so everywhere."""
    least = int(spread.n.min(initial=spread.most))
    if least == spread.most:
        return f"n = {spread.most}"
    return gettext("n = %(low)s to %(high)s") % {"low": least, "high": spread.most}


def _all_means(bands: Sequence[tuple[Group, Band]]) -> Floats:
    return np.concatenate([b.middle for _, b in bands]) if bands else np.zeros(0)


def _words(bands: Sequence[tuple[Group, Band]], written: Callable[[float], str]) -> str:
    """From where to where each group came, as far as all of its seeds did."""
    said = []
    for g, b in bands:
        whole = b.middle[b.n == b.most]
        said.append(f"{g.name} {change(whole[0], whole[-1], written)} ({_count(b)})")
    return f"{'; '.join(said)}." if said else gettext("No evaluation yet.")


def _table(bands: Sequence[tuple[Group, Band]], x: str) -> Table:
    out: list[tuple[Cell, ...]] = []
    for g, b in bands:
        points = zip(b.n.tolist(), *(numbers(column) for column in (b.x, b.middle, b.low, b.high)), strict=True)
        name, kind = g.name, b.kind
        out += [(name, *point, kind) for point in points]
    center = MIDDLES[bands[0][1].center] if bands else "mean"
    return Table(("group", "n", x, center, "low", "high", "band"), tuple(out))
