"""`final_eval_results.json` of the published Countdown training: rewards of each sample for form and for the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from runs.importing.hyperparameters import of_name, seed_of
from runs.importing.numbers import real
from runs.importing.readers.safety_scores import check
from runs.importing.readers.timestamps import moment
from runs.importing.records import Entry, ImportedRun, ImportReport, step_of
from workers.executors.states import State
from workers.records import Metric, Response

KIND = "Countdown evaluation"
PARTS = ("format_reward", "answer_reward", "combined_reward")
CLAIMED = {"mean_combined_reward": "reward/mean", "total_samples": "eval/n"}
"""Sums of the file that mean one thing alone; all others are stored as eval/…, unchecked."""
Rewards = tuple[float, float, float]


def is_one(value: Any) -> bool:
    """True for the JSON of such an evaluation: samples with all three rewards."""
    rows = value.get("per_sample_results") if isinstance(value, dict) else None
    return isinstance(rows, list) and any(isinstance(row, dict) and set(PARTS) <= row.keys() for row in rows)


def entries(document: Mapping[str, Any], name: str, told: ImportReport) -> Iterator[Entry]:
    """Yield the samples as answers, in the order of the file, and then their means."""
    metadata, means = (said if isinstance(said := document.get(key), dict) else {} for key in ("metadata", "metrics"))
    settings = {"steps": metadata.get("num_iterations"), "model": metadata.get("model_name"), "task": "countdown"}
    known = {key: value for key, value in settings.items() if isinstance(value, str | int)}
    found = ImportedRun(0, KIND, settings={"method": "es"} | of_name(name) | known, state=State.SUCCEEDED)
    found.method, found.seed = str(found.settings["method"]), seed_of(found.settings)
    found.started_at, found.suffix = moment(metadata.get("timestamp")), ", evaluated"
    step, scored = step_of(metadata), list[Rewards]()
    for row, sample in enumerate(document["per_sample_results"]):
        if (rewards := _rewards(sample)) is None:
            told.remark(f"sample {row}", f"has not all of {', '.join(PARTS)} as numbers: left out")
            continue
        scored.append(rewards)
        yield Entry(found, _answer(step, row, rewards))
    said = real(means.get("total_samples", metadata.get("total_samples")))
    rows = 0 if told.is_cut else len(document["per_sample_results"])
    total = int(said) if said is not None and np.isfinite(said) else rows
    found.check_whole(len(scored), total, is_cut=told.is_cut)
    if scored:
        yield Entry(found, _metric(step, scored, means, told))


def _rewards(sample: Any) -> Rewards | None:
    said = [real(sample.get(part)) for part in PARTS] if isinstance(sample, dict) else []
    found = [value for value in said if value is not None and np.isfinite(value)]
    return (found[0], found[1], found[2]) if len(found) == len(PARTS) else None


def _answer(step: int, row: int, rewards: Rewards) -> Response:
    form, answer, combined = rewards
    parts = {"format": form, "answer": answer, "contains": float(answer > 0), "no_text": 1.0}
    return Response(step, "eval", str(row), 0, "", 0, combined, parts, None, None, "")


def _metric(step: int, scored: Sequence[Rewards], means: Mapping[str, Any], told: ImportReport) -> Metric:
    form, answer, combined = np.array(scored).T
    ours = {f"reward/{name}": float(getattr(combined, name)()) for name in ("mean", "std", "min", "max")}
    ours |= {"reward/format/mean": float(form.mean()), "reward/answer/mean": float(answer.mean())}
    ours |= {"accuracy/contains": float((answer > 0).mean()), "eval/n": float(len(scored))}
    check("metrics", {key: real(means.get(name)) for name, key in CLAIMED.items()}, ours, told)
    others = {f"eval/{name}": real(value) for name, value in means.items() if name not in CLAIMED}
    return Metric(step, ours | {key: value for key, value in others.items() if value is not None})
