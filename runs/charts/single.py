"""One run's curves, by section: what the common evaluator measured, then what training itself reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runs.charts import style
from runs.charts.chart import Cell, Chart, Table, numbers
from runs.charts.words import X_WORDS, change, number, share
from runs.models import Run
from runs.series import Curve

LINES = ("solid", "dash", "dot", "dashdot")
MARKERS_AT_MOST = 30
SHARE = "share of answers"
SYMBOLS = ("circle", "square", "diamond", "cross")


@dataclass(frozen=True)
class Spec:
    """A chart of several keys: (key, what its line is called)."""

    name: str
    title: str
    unit: str
    lines: tuple[tuple[str, str], ...]
    help: str = ""


@dataclass(frozen=True)
class Section:
    """Charts that belong together."""

    slug: str
    title: str
    help: str
    charts: tuple[Chart, ...]

    @property
    def is_folded(self) -> bool:
        """True where it is for those who look for it."""
        return self.slug.endswith("details")


HELD_OUT = (
    Spec("reward", "Reward", "reward", (("reward/mean", "greedy"), ("sample/reward/mean", "sampled")),
         "Mean over held-out prompts: the one greedy answer, and the samples at the evaluation's temperature."),
    Spec("accuracy", "Accuracy", SHARE,
         (("accuracy/contains", "contains"), ("accuracy/exact", "exact"),
          ("sample/accuracy/contains", "sampled")),
         "Share of answers that contain the right one (greedy, sampled), or are exactly it. Reward hacking lowers it."),
    Spec("kl", "KL from the base model", "nats per token", (("kl", "exact"), ("kl/k3", "k3 estimate")),
         "KL(model ‖ base) on the sampled answers. Exact: over the whole vocabulary at each token. k3: Schulman's "
         "estimate (r − 1) − log r from the sampled tokens alone."),
    Spec("length", "Answer length", "tokens", (("response/tokens_mean", "tokens"),), "Mean of the greedy answers."),
    Spec("degenerate", "Empty and clipped answers", SHARE,
         (("response/empty_ratio", "empty"), ("response/clipped_ratio", "clipped at the limit"))),
)  # fmt: skip
TRAINING = (
    Spec("train/reward", "Training reward", "reward",
         (("train/reward/mean", "mean"), ("train/reward/max", "best"), ("train/reward/min", "worst")),
         "Over the population's members (ES) or the sampled completions (GRPO). Not comparable between methods."),
)  # fmt: skip
DETAILS = ("kl/", "reward/", "accuracy/", "response/", "sample/", "cost/", "safety/")
SYSTEM = ("time/", "system/")
TITLES = {
    "es/dead": ("Dead iterations", "1 where all members scored alike: no fitness spread, so the update is zero."),
    "es/update_norm": ("Size of the update", "Euclidean norm of the change of all weights in one iteration."),
    "time/step_seconds": ("Seconds a step", ""),
}


def sections(run: Run, curves: Iterable[Curve], x: str = "step", *, log_kl: bool = False) -> list[Section]:
    """Held-out, training, time and system, and what is left of the evaluator's numbers. Empty sections are left out.

    A key that is not known here gets a chart of its own, so that nothing a run logs stays hidden.
    """
    mine = {c.key: c for c in curves}
    known = {key for spec in (*HELD_OUT, *TRAINING) for key, _ in spec.lines}
    own = [_own(key) for key in mine if key not in known]
    parts = (
        ("held-out", "Held-out", "The common evaluator on the centre weights.", HELD_OUT),
        ("training", "Training", "The method's own stream.", (*TRAINING, *_rest(own, deep=False))),
        ("system", "Time and system", "", [s for s in own if s.name.startswith(SYSTEM)]),
        ("training-details", "Training, in detail", "", _rest(own, deep=True)),
        ("details", "Held-out, in detail", "", [s for s in own if s.name.startswith(DETAILS)]),
    )
    drawn = (
        Section(slug, title, words, tuple(_charts(run, specs, mine, x, log_kl))) for slug, title, words, specs in parts
    )
    return [section for section in drawn if section.charts]


def _own(key: str) -> Spec:
    title, words = TITLES.get(key, (key.removeprefix("train/"), ""))
    return Spec(key, title, "", ((key, key),), words)


def _rest(own: Sequence[Spec], *, deep: bool) -> list[Spec]:
    """What training itself logs: the plain keys, or those of a family such as train/completions/."""
    mine = [s for s in own if not s.name.startswith((*SYSTEM, *DETAILS))]
    return [s for s in mine if (s.name.startswith("train/") and s.name.count("/") > 1) == deep]


def _charts(run: Run, specs: Sequence[Spec], curves: Mapping[str, Curve], x: str, log_kl: bool) -> Iterator[Chart]:
    for spec in specs:
        lines = [(curves[key], name) for key, name in spec.lines if key in curves]
        if lines:
            yield _chart(run, spec, lines, x, log_kl and spec.name == "kl")


def _chart(run: Run, spec: Spec, lines: Sequence[tuple[Curve, str]], x: str, log_y: bool) -> Chart:
    data = [trace for i, (curve, name) in enumerate(lines) for trace in _traces(run, curve, name, i)]
    if log_y:
        data = [style.without_nonpositive(trace, "y") for trace in data]
    layout = style.layout(X_WORDS[x], spec.unit, log_y=log_y, meta={"x": x}, showlegend=len(lines) > 1)
    if spec.unit == SHARE:
        layout["yaxis"]["tickformat"] = ".0%"
    layout["yaxis"] |= style.room(np.concatenate([curve.y for curve, _ in lines]))
    layout["legend"] = {"font": {"size": 10}, "orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
    keys = tuple(curve.key for curve, _ in lines)
    return Chart(
        spec.name,
        spec.title,
        _words(lines, share if spec.unit == SHARE else number),
        {"data": data, "layout": layout},
        _table(lines, x),
        keys,
        spec.help,
    )


def _traces(run: Run, curve: Curve, name: str, i: int) -> list[dict[str, Any]]:
    kept, token = ~curve.overwritten, style.colour(run.method) if i == 0 else "other"
    meta = {"run": run.uid, "key": curve.key, "colour": token, "alpha": 1}
    live = _trace(curve, kept, name, i, token) | {"meta": meta}
    return [_grey(curve), live] if curve.overwritten.any() else [live]


def _trace(curve: Curve, kept: Any, name: str, i: int, token: str) -> dict[str, Any]:
    mode = "lines+markers" if kept.sum() <= MARKERS_AT_MOST else "lines"
    return {
        "type": "scatter", "mode": mode, "name": name, "hovertemplate": "%{y:.5g}",
        "x": numbers(curve.x[kept]), "y": numbers(curve.y[kept]),
        "line": {"color": style.paint(token), "width": 2 if i == 0 else 1.5, "dash": LINES[i % 4]},
        "marker": {"color": style.paint(token), "symbol": SYMBOLS[i % 4], "size": 5},
    }  # fmt: skip


def _grey(curve: Curve) -> dict[str, Any]:
    """What a resume went over again: kept in sight, out of the way."""
    trace = _trace(curve, curve.overwritten, "overwritten by a resume", 2, "muted")
    return trace | {"mode": "markers", "meta": {"colour": "muted", "alpha": 1}, "showlegend": False}


def _words(lines: Sequence[tuple[Curve, str]], said_as: Callable[[float], str]) -> str:
    curve, name = lines[0]
    y = curve.y[~curve.overwritten]
    said = (
        f"{name.capitalize()} {change(y[0], y[-1], said_as)}"
        if len(lines) > 1
        else change(y[0], y[-1], said_as).capitalize()
    )
    others = [f"{n} {said_as(c.y[~c.overwritten][-1])}" for c, n in lines[1:]]
    again = int(curve.overwritten.sum())
    note = f" {again} point{' was' if again == 1 else 's were'} overwritten by a resume (grey)." if again else ""
    return f"{said}{'; ' if others else ''}{', '.join(others)}.{note}"


def _table(lines: Sequence[tuple[Curve, str]], x: str) -> Table:
    out: list[tuple[Cell, ...]] = []
    for curve, _ in lines:
        points = zip(curve.x, curve.y, curve.overwritten, strict=True)
        out += [(curve.key, float(at), float(value), "yes" if again else "") for at, value, again in points]
    return Table(("key", x, "value", "overwritten"), tuple(out))
