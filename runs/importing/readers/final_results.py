"""Read `final_eval_results.json` of the published alignment training: reward and cost of each sample, without text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from runs.importing.hyperparameters import seed_of, settings_from_name
from runs.importing.numbers import json_number
from runs.importing.readers.safety_scores import Scored, answer, check, metric, scores
from runs.importing.readers.timestamps import parse_timestamp
from runs.importing.records import Entry, ImportedRun, ImportReport, step_of
from workers.executors.states import State
from workers.records import Metric

KIND = "final evaluation"
STATED_KEYS = {"mean_reward": "reward/mean", "mean_cost": "cost/mean", "total_samples": "eval/n"}
SETTINGS = {"policy_model_path": "model", "num_iterations": "steps", "lambda_cost": "lambda_cost"}


def is_final_evaluation(value: Any) -> bool:
    """Return whether this is the JSON of a final evaluation: samples with reward and cost, or the means over them."""
    if not isinstance(value, dict):
        return False
    rows, means = value.get("per_sample_results"), value.get("metrics")
    has_rows = isinstance(rows, list) and any(
        isinstance(row, dict) and {"reward", "cost"} <= row.keys() for row in rows
    )
    return has_rows or (isinstance(means, dict) and {"mean_reward", "mean_cost"} <= means.keys())


def entries(document: Mapping[str, Any], name: str, report: ImportReport) -> Iterator[Entry]:
    """Yield the samples as answers, in the order of the file, and then their means."""
    section = document.get("metadata")
    metadata = section if isinstance(section, dict) else {}
    settings = {
        setting: metadata[key] for key, setting in SETTINGS.items() if isinstance(metadata.get(key), str | int | float)
    }
    run = ImportedRun(0, KIND, settings={"method": "es"} | settings_from_name(name) | settings, state=State.SUCCEEDED)
    run.method, run.seed = str(run.settings["method"]), seed_of(run.settings)
    run.started_at, run.suffix = parse_timestamp(metadata.get("timestamp")), ", evaluated"
    step, scored = step_of(metadata), list[Scored]()
    rows = document.get("per_sample_results")
    for row, sample in enumerate(rows if isinstance(rows, list) else ()):
        measured = scores(sample) if isinstance(sample, dict) else None
        if measured is None:
            report.add_remark(f"sample {row}", "has no finite reward and cost: omitted")
            continue
        scored.append(measured)
        yield Entry(run, answer(step, row, measured, combined=json_number(sample.get("combined"))))
    claimed = _stated_means(document.get("metrics"))
    total = claimed.get("eval/n") or json_number(metadata.get("total_samples")) or 0.0
    listed = len(rows) if isinstance(rows, list) else 0
    whole = int(total) if math.isfinite(total) and total > 0 else 0 if report.is_cut else listed
    if listed or report.is_cut:
        run.check_whole(len(scored), whole, is_cut=report.is_cut)
    if scored:
        means = metric(step, scored)
        check("metrics", claimed, means.values, report)
        yield Entry(run, means)
    elif stated := {key: value for key, value in claimed.items() if value is not None}:
        yield Entry(run, Metric(step, stated))


def _stated_means(means: Any) -> dict[str, float | None]:
    return {key: json_number(means.get(name)) for name, key in STATED_KEYS.items()} if isinstance(means, dict) else {}
