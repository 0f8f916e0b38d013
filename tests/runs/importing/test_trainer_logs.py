"""JSON lines of ms-swift and LLaMA-Factory: stated steps, elapsed times, methods, and how a run ended."""

from __future__ import annotations

import io
import json
from typing import Any

from runs.importing.durations import parse_duration
from runs.importing.readers import trainer_log
from runs.importing.records import ImportReport
from tests.cases import each_case
from tests.runs.importing.published_cases import published_case
from tests.runs.importing.sample_logs import Read
from workers.records import Metric


def read(*rows: dict[str, Any] | str, name: str = "logging.jsonl") -> Read:
    """Read rows as a file of JSON lines; a text is a line as it is."""
    text = "".join(row if isinstance(row, str) else f"{json.dumps(row)}\n" for row in rows)
    report = ImportReport()
    return Read(list(trainer_log.entries(io.BytesIO(text.encode()), name, report)), report)


def swift(step: int, total: int = 40, **more: Any) -> dict[str, Any]:
    """Return a line of ms-swift."""
    progress = {"global_step/max_steps": f"{step}/{total}", "percentage": "2.50%", "remaining_time": "1m 2s"}
    return {"loss": 0.5, "reward": 0.25, "kl": 0.01} | progress | {"elapsed_time": f"{step}s"} | more


@each_case(
    "text, seconds",
    [("10s", 10), ("1m 2s", 62), ("1d 2h 3m 4s", 93_784), ("0:02:51", 171), ("1 day, 2:03:04", 93_784),
     ("2 days, 0:00:00", 172_800), ("soon", None), ("", None), (None, None), ("1m2", None), ("9999999d", None)],
)  # fmt: skip
def test_elapsed_time_is_read_as_trainers_write_it(text: object, seconds: float | None) -> None:
    assert parse_duration(text) == seconds


def test_swift_lines_have_their_stated_steps_and_trl_s_names() -> None:
    result = read(
        swift(1), swift(20), {"eval_reward": 0.3, "eval_loss": 0.4, "global_step/max_steps": "20/40"}, swift(40)
    )
    (run,) = result.runs
    assert (run.kind, run.method, run.state, run.seconds, run.settings["steps"]) == (
        "trainer log", "grpo", "succeeded", 40.0, 40,
    )  # fmt: skip
    assert [step for _, step, _ in result.points("train/loss")] == [1, 20, 40]
    assert result.points("reward/mean") == result.points("eval/reward") == [(0, 20, 0.3)]
    assert result.values("train/reward/mean") == [0.25] * 3
    assert [entry.at for entry in result.entries if entry.record] == [1.0, 20.0, 20.0, 40.0]
    keys = {key for entry in result.entries if isinstance(entry.record, Metric) for key in entry.record.values}
    assert not [key for key in keys if "percentage" in key or "time" in key or "step" in key]
    assert not result.report.has_problems and result.report.facts == []


@each_case(
    "rows, state, reason",
    [
        ([swift(40)], "succeeded", ""),
        ([swift(30)], "unknown", "It ends at step 30 of 40 and does not state how the run ended"),
        ([swift(30), swift(30, train_runtime=12.5)], "succeeded", ""),
        ([swift(30), {"global_step": 30, "log_history": [{"loss": 1}], "memory": 2.5}], "succeeded", ""),
    ],
)
def test_run_has_succeeded_at_its_last_step_or_with_a_summary(
    rows: list[dict[str, Any]], state: str, reason: str
) -> None:
    run = read(*rows).runs[0]
    assert (run.state, run.reason) == (state, reason)


def test_training_after_one_that_ended_is_another_run() -> None:
    result = read(swift(30), swift(30, train_runtime=12.5), swift(10), swift(40), swift(1, loss=2.5))
    assert [(run.part, run.state) for run in result.runs] == [(0, "succeeded"), (1, "succeeded"), (2, "unknown")]
    assert (result.points("train/loss", 2), result.runs[2].seconds) == ([(0, 1, 2.5)], 1.0)


def test_restart_repeats_steps_and_adds_its_time() -> None:
    result = read(swift(10), swift(20), swift(15, elapsed_time="5s"), swift(20, elapsed_time="10s"))
    assert [point[:2] for point in result.points("train/loss")] == [(0, 10), (0, 20), (1, 15), (1, 20)]
    assert [entry.at for entry in result.entries if entry.record] == [10.0, 20.0, 25.0, 30.0]


def test_llama_factory_s_reward_is_no_grpo() -> None:
    row = {"current_steps": 5, "total_steps": 5, "loss": 0.5, "reward": 1.0, "lr": 5e-05, "elapsed_time": "0:02:51"}
    result = read(row | {"vram_reserved": 12.5, "percentage": 100.0})
    (run,) = result.runs
    assert (run.stored_method, run.state, run.seconds) == ("unknown", "succeeded", 171.0)
    assert (result.points("train/learning_rate"), result.values("system/gpu_reserved_gib")) == ([(0, 5, 5e-05)], [12.5])
    assert read(row, name="grpo/trainer_log.jsonl").runs[0].method == "grpo"


def test_megatron_s_iterations_are_steps() -> None:
    result = read({"iteration": "5/10", "loss": 0.5, "elapsed_time": "1m 2s", "memory(GiB)": 40.5})
    assert (result.points("train/loss"), result.values("system/gpu_reserved_gib")) == ([(0, 5, 0.5)], [40.5])


def test_lines_and_values_that_are_not_read_are_named() -> None:
    result = read(swift(1, loss="n/a", best=None), {"loss": 1}, swift(2), '{"loss": 0.5, "global_step/m')
    assert [str(cell) for cell in result.report.refused_cells] == ["line 1, column loss: 'n/a' is not a number"]
    assert result.remarks == [
        "line 2: states no step; read as one are global_step/max_steps and current_steps",
        "line 4: is not a JSON object, or is cut off: omitted",
    ]
    assert result.points("train/loss") == [(0, 2, 0.5)]


@each_case(
    "first, is_one",
    [
        ('{"loss": 1, "global_step/max_steps": "1/2"}', True),
        ('{"current_steps": 1, "total_steps": 2, "elapsed_time": "0:00:01"}', True),
        ('{"step": 1, "loss": 2, "elapsed_time": 3}', False),
        ('{"global_step/max_steps": "?"}', False),
        ('{"a": "global_step/max_steps"', False),
        ('step,"global_step/max_steps"', False),
    ],
)
def test_trainer_log_is_recognised_by_its_first_line(first: str, is_one: bool) -> None:
    assert trainer_log.is_trainer_log(first.encode()) is is_one


def test_published_swift_log_has_the_steps_that_it_states() -> None:
    data = published_case("swift-jsonl/logging.jsonl").read_bytes()
    assert trainer_log.is_trainer_log(data.splitlines()[0])
    report = ImportReport()
    result = Read(list(trainer_log.entries(io.BytesIO(data), "logging.jsonl", report)), report)
    assert [step for _, step, _ in result.points("train/loss")] == [1, 10, 20, 30, 40]
    assert (result.runs[0].state, result.runs[0].method, report.facts) == ("succeeded", "grpo", [])
