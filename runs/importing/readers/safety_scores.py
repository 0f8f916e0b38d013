"""Build answers with reward and cost, and their means, for all readers of scored answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runs.importing.numbers import real
from runs.importing.records import ImportReport
from workers.analysis.quadrants import counts, measured, quadrant
from workers.records import Metric, Response

Scored = tuple[float, float]
"""(reward, cost) of an answer."""
CLOSE = 1e-5
"""Published means are sums of float32."""


def answer(
    step: int,
    row: int,
    scored: Scored,
    prompt: str | None = None,
    text: str | None = None,
    combined: float | None = None,
    categories: tuple[str, ...] = (),
) -> Response:
    """An answer to the row of a data set, from 0. Without `text` only its scores are known.

    categories: the prompt's.
    """
    reward, cost = scored
    parts = {"cost": cost} | ({} if combined is None else {"combined": combined})
    parts |= {} if text is not None else {"no_text": 1.0}
    return Response(step, "eval", str(row), 0, text or "", 0, reward, parts, None, prompt, "", categories)


def scores(said: Mapping[str, Any]) -> Scored | None:
    """The finite reward and cost that an object holds; None where it holds none."""
    reward, cost = real(said.get("reward")), real(said.get("cost"))
    if reward is None or cost is None or not (math.isfinite(reward) and math.isfinite(cost)):
        return None
    return reward, cost


def metric(step: int, scored: Sequence[Scored]) -> Metric:
    """Return the means and shares over the answers, at least one, at their step."""
    rewards, costs = np.array(scored, np.float64).T
    return Metric(step, dict(measured(rewards, costs)) | {"eval/n": float(len(scored))})


def check(name: str, claimed: Mapping[str, float | None], ours: Mapping[str, float], told: ImportReport) -> None:
    """Compare a file's own sums with its answers; report a fact if all agree, else each disagreement."""
    known = {key: value for key, value in claimed.items() if value is not None and key in ours}
    wrong = [key for key, value in known.items() if not math.isclose(value, ours[key], rel_tol=CLOSE, abs_tol=CLOSE)]
    for key in wrong:
        told.disagreements.append(f"{name}: {key} is {known[key]!r}; its answers give {ours[key]!r}")
    if known and not wrong:
        told.facts.append(f"{name} agrees with its {ours.get('eval/n', 0):g} answers: {', '.join(known)}")


def quadrants(scored: Sequence[Scored]) -> dict[str, int]:
    """quadrant -> how many of the answers are in it."""
    rewards, costs = np.array(scored, np.float64).reshape(-1, 2).T
    return counts(rewards, costs)


def labels(scored: Sequence[Scored]) -> NDArray[np.str_]:
    """The quadrant of each answer, as the published arrays hold them."""
    return np.array([quadrant(reward, cost) for reward, cost in scored])
