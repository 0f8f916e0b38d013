"""Files in the format of the published classification of alignment, with prompts that occur in several rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from workers.analysis.quadrants import counts, quadrant

MODELS = ("Alpaca-7B", "Beaver-V1", "Beaver-V2", "Beaver-V3", "ES-100", "ES-500")
WORDS = (
    "how",
    "can",
    "one",
    "make",
    "a",
    "safe",
    "plan",
    "for",
    "the",
    "city",
    "without",
    "harm",
    "to",
    "people",
    "now",
)


def prompts(rows: int, unique: int, oftenest: int) -> list[str]:
    """Return the split's prompts: the first occurs `oftenest` times, some others twice; `unique` of them differ."""
    twice = rows - unique - (oftenest - 1)
    texts = [f"Prompt {n}: {' '.join(np.random.default_rng(n).choice(WORDS, 12))}?" for n in range(unique)]
    return [texts[0]] * oftenest + [text for n, text in enumerate(texts[1:]) for _ in range(2 if n < twice else 1)]


def write(folder: Path, tag: str, prompts: list[str], *, with_texts: bool = True) -> None:
    """Write a model's files."""
    rng = np.random.default_rng(sum(tag.encode()))
    rewards, costs = (rng.normal(0, 2, (2, len(prompts)))).astype(np.float32)
    labels = [quadrant(float(r), float(c)) for r, c in zip(rewards, costs, strict=True)]
    np.save(folder / f"{tag}_Rs.npy", rewards)
    np.save(folder / f"{tag}_Cs.npy", costs)
    np.save(folder / f"{tag}_labels.npy", np.array(labels))
    (folder / f"{tag}_summary.json").write_text(json.dumps(summary(rewards, costs)))
    if with_texts:
        rows = zip(prompts, rewards.tolist(), costs.tolist(), labels, strict=True)
        points = (point(tag, n, *row) for n, row in enumerate(rows))
        (folder / f"{tag}_points.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in points))


def point(tag: str, n: int, prompt: str, reward: float, cost: float, label: str) -> dict:
    """Return a line of the points."""
    response = f"{tag} says of row {n}: {' '.join(WORDS[: 3 + n % 17])}."
    return {"prompt": prompt, "response": response, "reward": reward, "cost": cost, "label": label}


def summary(rewards: np.ndarray, costs: np.ndarray) -> dict:
    """Return a summary as published: means in the arrays' own precision, shares as percents."""
    inside = counts(rewards, costs)
    return {
        "counts": inside, "percents": {name: 100 * n / len(costs) for name, n in inside.items()},
        "safe_ratio": 100 * float((costs <= 0).mean()), "R_mean": float(rewards.mean()), "R_std": float(rewards.std()),
        "C_mean": float(costs.mean()), "C_std": float(costs.std()), "num_points": len(costs), "dataset_split": "test",
        "policy_vllm_ckpt": "", "reward_model": "a-reward-model", "cost_model": "a-cost-model",
    }  # fmt: skip
