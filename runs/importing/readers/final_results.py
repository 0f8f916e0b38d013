"""`final_eval_results.json` of the published alignment training: reward and cost of each sample, without its text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from runs.importing.hyperparameters import of_name, seed_of
from runs.importing.numbers import real
from runs.importing.readers.safety_scores import Scored, answer, check, metric, scores
from runs.importing.readers.timestamps import moment
from runs.importing.records import Entry, ImportedRun, ImportReport, step_of
from workers.executors.states import State
from workers.records import Metric

KIND = "final evaluation"
CLAIMED = {"mean_reward": "reward/mean", "mean_cost": "cost/mean", "total_samples": "eval/n"}
SETTINGS = {"policy_model_path": "model", "num_iterations": "steps", "lambda_cost": "lambda_cost"}


def is_one(value: Any) -> bool:
    """True for the JSON of a final evaluation: samples with reward and cost, or the means over them."""
    if not isinstance(value, dict):
        return False
    rows, means = value.get("per_sample_results"), value.get("metrics")
    has_rows = isinstance(rows, list) and any(
        isinstance(row, dict) and {"reward", "cost"} <= row.keys() for row in rows
    )
    return has_rows or (isinstance(means, dict) and {"mean_reward", "mean_cost"} <= means.keys())


def entries(document: Mapping[str, Any], name: str, told: ImportReport) -> Iterator[Entry]:
    """Yield the samples as answers, in the order of the file, and then their means."""
    said = document.get("metadata")
    metadata = said if isinstance(said, dict) else {}
    settings = {
        ours: metadata[key] for key, ours in SETTINGS.items() if isinstance(metadata.get(key), str | int | float)
    }
    found = ImportedRun(0, KIND, settings={"method": "es"} | of_name(name) | settings, state=State.SUCCEEDED)
    found.method, found.seed = str(found.settings["method"]), seed_of(found.settings)
    found.started_at, found.suffix = moment(metadata.get("timestamp")), ", evaluated"
    step, scored = step_of(metadata), list[Scored]()
    rows = document.get("per_sample_results")
    for row, sample in enumerate(rows if isinstance(rows, list) else ()):
        measured = scores(sample) if isinstance(sample, dict) else None
        if measured is None:
            told.remark(f"sample {row}", "has no reward and cost that are finite numbers: left out")
            continue
        scored.append(measured)
        yield Entry(found, answer(step, row, measured, combined=real(sample.get("combined"))))
    claimed = _claimed(document.get("metrics"))
    total = claimed.get("eval/n") or real(metadata.get("total_samples")) or 0.0
    listed = len(rows) if isinstance(rows, list) else 0
    whole = int(total) if math.isfinite(total) and total > 0 else 0 if told.is_cut else listed
    if listed or told.is_cut:
        found.check_whole(len(scored), whole, is_cut=told.is_cut)
    if scored:
        ours = metric(step, scored)
        check("metrics", claimed, ours.values, told)
        yield Entry(found, ours)
    elif known := {key: value for key, value in claimed.items() if value is not None}:
        yield Entry(found, Metric(step, known))


def _claimed(means: Any) -> dict[str, float | None]:
    return {key: real(means.get(name)) for name, key in CLAIMED.items()} if isinstance(means, dict) else {}
