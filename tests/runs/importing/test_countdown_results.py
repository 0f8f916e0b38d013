"""The final evaluation of the published Countdown training: rewards of each sample, checked against their mean."""

from __future__ import annotations

import io
import json

from runs.importing import File
from runs.importing.detect_format import recognise_sources
from runs.importing.files import window
from runs.importing.hyperparameters import config_of
from runs.importing.records import ImportReport
from workers.executors.states import State
from workers.records import Metric, Response

ROWS = [
    {"format_reward": 1.0, "answer_reward": 1.0, "combined_reward": 1.5},
    {"format_reward": 0.5, "answer_reward": 0.0, "combined_reward": 0.5},
    {"format_reward": None, "answer_reward": 0.0, "combined_reward": 0.0},
]
METRICS = {"format_accuracy": 33.3, "answer_accuracy": 33.3, "mean_combined_reward": 1.0, "total_samples": 2}
METADATA = {"model_name": "Qwen/Q", "num_iterations": 500, "timestamp": "20251104_160009"}
NAME = "countdown_nccl_20251104_160009/logs/final_eval_results.json"


def read(**changes):
    """Return (entries, report) of such a file."""
    document = {"metadata": METADATA, "metrics": METRICS, "per_sample_results": ROWS, **changes}
    data, report = json.dumps(document).encode(), ImportReport()
    (source,), _ = recognise_sources([File(NAME, NAME, len(data), window(io.BytesIO(data), 0, len(data)))])
    return list(source.entries(report)), report


def test_sample_means_agree_with_the_metrics_of_the_file():
    entries, report = read()
    answers = [entry.record for entry in entries if isinstance(entry.record, Response)]
    assert [(answer.step, answer.prompt_id, answer.reward) for answer in answers] == [(500, "0", 1.5), (500, "1", 0.5)]
    assert answers[0].parts == {"right": 1.0, "format": 1.0, "answer": 1.0, "contains": 1.0, "no_text": 1.0}
    (metric,) = [entry.record for entry in entries if isinstance(entry.record, Metric)]
    expected = {"reward/mean": 1.0, "eval/n": 2.0, "eval/format_accuracy": 33.3}
    expected |= {"accuracy/right": 0.5, "accuracy/contains": 0.5}
    assert {key: metric.values[key] for key in expected} == expected
    assert [str(remark) for remark in report.remarks] == [
        "sample 2: lacks one of format_reward, answer_reward, combined_reward as a number: omitted"
    ]
    assert report.facts == ["metrics agrees with its 2 responses: reward/mean, eval/n"]
    run = entries[0].run
    config = config_of(run.method, run.settings)
    assert (config["task"], config["model"]["path"], config["es"]["iterations"]) == (
        {"name": "countdown"},
        "Qwen/Q",
        500,
    )
    assert run.started_at == 1762272009.0


def test_a_mean_that_its_samples_do_not_give_is_named():
    _, report = read(metrics={**METRICS, "mean_combined_reward": 0.6}, metadata=None)
    assert report.disagreements == ["metrics: reward/mean is 0.6; its responses give 1.0"]


def test_fewer_samples_than_the_file_counts_are_partial():
    entries, _ = read(metrics={**METRICS, "total_samples": 5})
    assert (entries[0].run.state, entries[0].run.reason) == (State.PARTIAL, "2 of 5 responses are in the file")
    assert read()[0][0].run.state == State.SUCCEEDED
