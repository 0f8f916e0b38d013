"""Build answers with reward and cost, and their means, for all readers of scored answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runs.importing.numbers import json_number
from runs.importing.records import ImportReport
from workers.analysis.quadrants import counts, measured, quadrant
from workers.records import Metric, Response

Scored = tuple[float, float]
"""(reward, cost) of an answer."""
TOLERANCE = 1e-5
"""Relative and absolute tolerance: published means are sums of float32."""


def answer(
    step: int,
    row: int,
    scored: Scored,
    prompt: str | None = None,
    text: str | None = None,
    combined: float | None = None,
    categories: tuple[str, ...] = (),
) -> Response:
    """Return an answer to a row of a data set, counted from 0. Without `text` only its scores are known.

    categories: those of the prompt.
    """
    reward, cost = scored
    parts = {"cost": cost} | ({} if combined is None else {"combined": combined})
    parts |= {} if text is not None else {"no_text": 1.0}
    return Response(step, "eval", str(row), 0, text or "", 0, reward, parts, None, prompt, "", categories)


def scores(row: Mapping[str, Any]) -> Scored | None:
    """Return the reward and cost that an object holds; None unless both are finite numbers."""
    reward, cost = json_number(row.get("reward")), json_number(row.get("cost"))
    if reward is None or cost is None or not (math.isfinite(reward) and math.isfinite(cost)):
        return None
    return reward, cost


def metric(step: int, scored: Sequence[Scored]) -> Metric:
    """Return the means and shares over the answers, at least one, at their step."""
    rewards, costs = np.array(scored, np.float64).T
    return Metric(step, dict(measured(rewards, costs)) | {"eval/n": float(len(scored))})


def check(name: str, claimed: Mapping[str, float | None], computed: Mapping[str, float], report: ImportReport) -> None:
    """Compare a file's own sums with its answers; report a fact if all agree, else each disagreement."""
    stated = {key: value for key, value in claimed.items() if value is not None and key in computed}
    wrong = [
        key
        for key, value in stated.items()
        if not math.isclose(value, computed[key], rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    ]
    for key in wrong:
        report.disagreements.append(f"{name}: {key} is {stated[key]!r}; its responses give {computed[key]!r}")
    if stated and not wrong:
        report.facts.append(f"{name} agrees with its {computed.get('eval/n', 0):g} responses: {', '.join(stated)}")


def quadrants(scored: Sequence[Scored]) -> dict[str, int]:
    """Return quadrant -> number of answers in it."""
    rewards, costs = np.array(scored, np.float64).reshape(-1, 2).T
    return counts(rewards, costs)


def labels(scored: Sequence[Scored]) -> NDArray[np.str_]:
    """Return the quadrant of each answer, as the published arrays hold them."""
    return np.array([quadrant(reward, cost) for reward, cost in scored])
