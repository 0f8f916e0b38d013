"""Read `final_eval_results.json` of the published Countdown training: each sample's rewards for form and answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from runs.importing.hyperparameters import seed_of, settings_from_name
from runs.importing.numbers import json_number
from runs.importing.readers.safety_scores import check
from runs.importing.readers.timestamps import parse_timestamp
from runs.importing.records import Entry, ImportedRun, ImportReport, step_of
from workers.analysis.keys import ACCURACY, RIGHT
from workers.analysis.right import RIGHT_PART
from workers.executors.states import State
from workers.records import Metric, Response

KIND = "Countdown evaluation"
PARTS = ("format_reward", "answer_reward", "combined_reward")
STATED_KEYS = {"mean_combined_reward": "reward/mean", "total_samples": "eval/n"}
"""Sums of the file with one clear meaning -> our keys; all others are stored as eval/…, unchecked."""
Rewards = tuple[float, float, float]


def is_countdown_evaluation(value: Any) -> bool:
    """Return whether this is the JSON of such an evaluation: samples with all three rewards."""
    rows = value.get("per_sample_results") if isinstance(value, dict) else None
    return isinstance(rows, list) and any(isinstance(row, dict) and set(PARTS) <= row.keys() for row in rows)


def entries(document: Mapping[str, Any], name: str, report: ImportReport) -> Iterator[Entry]:
    """Yield the samples as answers, in the order of the file, and then their means."""
    metadata, means = (
        section if isinstance(section := document.get(key), dict) else {} for key in ("metadata", "metrics")
    )
    settings = {"steps": metadata.get("num_iterations"), "model": metadata.get("model_name"), "task": "countdown"}
    stated_settings = {key: value for key, value in settings.items() if isinstance(value, str | int)}
    run = ImportedRun(
        0, KIND, settings={"method": "es"} | settings_from_name(name) | stated_settings, state=State.SUCCEEDED
    )
    run.method, run.seed = str(run.settings["method"]), seed_of(run.settings)
    run.started_at, run.suffix = parse_timestamp(metadata.get("timestamp")), ", evaluated"
    step, scored = step_of(metadata), list[Rewards]()
    for row, sample in enumerate(document["per_sample_results"]):
        if (rewards := _rewards(sample)) is None:
            report.add_remark(f"sample {row}", f"lacks one of {', '.join(PARTS)} as a number: omitted")
            continue
        scored.append(rewards)
        yield Entry(run, _answer(step, row, rewards))
    stated_total = json_number(means.get("total_samples", metadata.get("total_samples")))
    rows = 0 if report.is_cut else len(document["per_sample_results"])
    total = int(stated_total) if stated_total is not None and np.isfinite(stated_total) else rows
    run.check_whole(len(scored), total, is_cut=report.is_cut)
    if scored:
        yield Entry(run, _metric(step, scored, means, report))


def _rewards(sample: Any) -> Rewards | None:
    values = [json_number(sample.get(part)) for part in PARTS] if isinstance(sample, dict) else []
    finite_values = [value for value in values if value is not None and np.isfinite(value)]
    return (finite_values[0], finite_values[1], finite_values[2]) if len(finite_values) == len(PARTS) else None


def _answer(step: int, row: int, rewards: Rewards) -> Response:
    form, answer, combined = rewards
    is_right = float(answer > 0)
    parts = {RIGHT_PART: is_right, "format": form, "answer": answer, "contains": is_right, "no_text": 1.0}
    return Response(step, "eval", str(row), 0, "", 0, combined, parts, None, None, "")


def _metric(step: int, scored: Sequence[Rewards], means: Mapping[str, Any], report: ImportReport) -> Metric:
    form, answer, combined = np.array(scored).T
    computed = {f"reward/{name}": float(getattr(combined, name)()) for name in ("mean", "std", "min", "max")}
    computed |= {"reward/format/mean": float(form.mean()), "reward/answer/mean": float(answer.mean())}
    computed |= dict.fromkeys((RIGHT, ACCURACY), float((answer > 0).mean())) | {"eval/n": float(len(scored))}
    check("metrics", {key: json_number(means.get(name)) for name, key in STATED_KEYS.items()}, computed, report)
    others = {f"eval/{name}": json_number(value) for name, value in means.items() if name not in STATED_KEYS}
    return Metric(step, computed | {key: value for key, value in others.items() if value is not None})
