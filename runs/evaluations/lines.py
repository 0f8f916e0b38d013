"""Lines of charts of evaluations: one evaluation, or the mean over those of several trainings of one setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.utils.translation import gettext

from runs.charts import Cell, numbers, style
from runs.charts.line_ends import LineData
from runs.charts.run_lines import MAX_MARKERS
from runs.evaluations.estimates import Estimates
from runs.evaluations.selection import Evaluation, line_identity
from workers.analysis.bands import band


@dataclass(frozen=True)
class EstimateLine:
    """A line of a chart. members: its evaluations, of trainings with the same setting. end: the text at its end. dash,
    alpha: its pattern and opacity."""

    members: tuple[Evaluation, ...]
    estimates: Estimates
    end: str
    dash: str
    alpha: float = 1.0

    @property
    def evaluation(self) -> Evaluation:
        """Return the first member, whose colour the line has."""
        return self.members[0]

    @property
    def name(self) -> str:
        """Return the name of the only member, or that of the setting with the number of trainings."""
        if len(self.members) == 1:
            return self.evaluation.mark.name
        return gettext("%(name)s (n = %(n)s)") % {"name": self.evaluation.mark.group.name, "n": len(self.members)}

    @property
    def data(self) -> LineData:
        """Return its points with its end as the letter."""
        own = self.estimates
        return LineData(replace(self.evaluation.mark, letter=self.end), own.x, own.value, own.value)


def letters_of(members: Sequence[Evaluation]) -> str:
    """Return the letters of evaluations, such as `A C D`."""
    return " ".join(member.mark.letter for member in members)


def pool(several: Sequence[Estimates]) -> Estimates:
    """Return the mean of the estimates of several trainings, with a band over them: their range if they are fewer than
    four, else ±1 std. The number of prompts is that of all together. Return a single one as it is, with its interval
    over prompts."""
    if len(several) == 1:
        return several[0]
    over = band([(own.x, own.value) for own in several])
    prompts, samples = (
        np.sum([np.interp(over.x, own.x, getattr(own, name)) for own in several], axis=0)
        for name in ("prompts", "samples")
    )
    return Estimates(over.x, over.middle, over.low, over.high, prompts, samples / len(several))


def traces(line: EstimateLine) -> list[dict[str, Any]]:
    """Return the traces of a line: the area between the ends of its intervals, and its points."""
    own, group = line.estimates, line.evaluation.mark.group
    stroke = style.paint(group.colour, line.alpha)
    look = {"type": "scatter", "legendgroup": line_identity(line.members), "name": line.name}
    counts = [len(line.members)] * len(own.x) if len(line.members) > 1 else [_whole(n) for n in own.prompts]
    middle = {
        **look, "mode": "lines+markers" if len(own.x) <= MAX_MARKERS else "lines", "hoverinfo": "none",
        "meta": {"colour": group.colour, "alpha": line.alpha, "label": line.end},
        "x": own.x.tolist(), "y": numbers(own.value),
        "customdata": [list(row) for row in zip(numbers(own.low), numbers(own.high), counts, strict=True)],
        "line": {"color": stroke, "width": 2, "dash": line.dash},
        "marker": {"color": stroke, "symbol": group.marker, "size": 5},
    }  # fmt: skip
    return [*_area(line, look), middle]


def rows(line: EstimateLine) -> list[tuple[float, tuple[Cell, ...]]]:
    """Return x and (value, low, high, trainings, prompts, samples) of every estimate, None where none was recorded."""
    own = line.estimates
    columns = zip(own.x.tolist(), own.value, own.low, own.high, own.prompts, own.samples, strict=True)
    return [
        (x, (_number(value), _number(low), _number(high), len(line.members), _whole(prompts), _whole(samples)))
        for x, value, low, high, prompts, samples in columns
    ]


def _area(line: EstimateLine, look: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the area between the ends of the intervals; nothing if there are fewer than two."""
    own = line.estimates
    wide = np.isfinite(own.low) & np.isfinite(own.high)
    if wide.sum() < 2:
        return []
    x, y = np.r_[own.x[wide], own.x[wide][::-1]], np.r_[own.high[wide], own.low[wide][::-1]]
    colour, alpha = line.evaluation.mark.group.colour, 0.13 * line.alpha
    return [{
        **look, "mode": "lines", "hoverinfo": "skip", "fill": "toself", "x": x.tolist(), "y": numbers(y),
        "meta": {"colour": colour, "alpha": alpha}, "fillcolor": style.paint(colour, alpha),
        "line": {"width": 0, "color": style.paint(colour, 0)},
    }]  # fmt: skip


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _whole(value: float) -> int | None:
    return round(float(value)) if np.isfinite(value) else None
