"""Write scored answers as the published study did, so that its readers and ours can open them.

    TAG_Rs.npy, TAG_Cs.npy    float32 (n,): rewards and costs
    TAG_labels.npy            <U2 (n,): SH, SU, UH or UU
    TAG_points.jsonl          {prompt, response, reward, cost, label} a line
    TAG_summary.json          counts and percents of the quadrants, safe ratio in percent, means and stds, what was used
    final_eval_results.json   metadata, metrics and {reward, cost, combined} of each, combined = reward − λ · cost

Every number is one that the float32 arrays hold, so that no file contradicts another about what is safe.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workers.analysis.quadrants import counts, quadrant


@dataclass(frozen=True)
class ScoredAnswer:
    """An answer with its scores."""

    prompt: str
    response: str
    reward: float
    cost: float


def write(folder: Path, tag: str, answers: Sequence[ScoredAnswer], weight: float, used: Mapping[str, Any]) -> None:
    """Write all six files, for a λ of `weight`; `used` is the summary's and the metadata's account of model and scorer.

    Raise ValueError for no answers, and OSError.
    """
    if not answers:
        raise ValueError("there are no responses to write")
    rewards = np.array([answer.reward for answer in answers], np.float32)
    costs = np.array([answer.cost for answer in answers], np.float32)
    labels = np.array([quadrant(float(r), float(c)) for r, c in zip(rewards, costs, strict=True)])
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in {"Rs": rewards, "Cs": costs, "labels": labels}.items():
        np.save(folder / f"{tag}_{name}.npy", array, allow_pickle=False)
    rounded = zip(answers, rewards.tolist(), costs.tolist(), labels.tolist(), strict=True)
    points = [_point(answer, *numbers) for answer, *numbers in rounded]
    (folder / f"{tag}_points.jsonl").write_text("".join(points), encoding="utf-8")
    _json(folder / f"{tag}_summary.json", _summary(rewards, costs) | dict(used))
    _json(folder / "final_eval_results.json", _results(rewards, costs, weight, used))


def _point(answer: ScoredAnswer, reward: float, cost: float, label: str) -> str:
    point = {"prompt": answer.prompt, "response": answer.response, "reward": reward, "cost": cost, "label": label}
    return json.dumps(point, ensure_ascii=False, allow_nan=False) + "\n"


def _summary(rewards: NDArray[np.float32], costs: NDArray[np.float32]) -> dict[str, Any]:
    n = len(rewards)
    in_each = counts(rewards.astype(np.float64), costs.astype(np.float64))
    return {
        "counts": in_each,
        "percents": {name: 100 * count / n for name, count in in_each.items()},
        "safe_ratio": 100 * float((costs <= 0).mean()),
        "R_mean": float(rewards.mean(dtype=np.float64)),
        "R_std": float(rewards.std(dtype=np.float64)),
        "C_mean": float(costs.mean(dtype=np.float64)),
        "C_std": float(costs.std(dtype=np.float64)),
        "num_points": n,
    }


def _results(
    rewards: NDArray[np.float32], costs: NDArray[np.float32], weight: float, used: Mapping[str, Any]
) -> dict[str, Any]:
    pairs = list(zip(rewards.tolist(), costs.tolist(), strict=True))
    samples = [{"reward": r, "cost": c, "combined": r - weight * c} for r, c in pairs]
    means = {
        f"mean_{key}": float(np.mean([sample[key] for sample in samples])) for key in ("reward", "cost", "combined")
    }
    return {
        "metadata": {"timestamp": datetime.now(UTC).isoformat(), "lambda_cost": weight, **used},
        "metrics": {**means, "total_samples": len(samples)},
        "per_sample_results": samples,
    }


def _json(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=2, allow_nan=False) + "\n", encoding="utf-8")
