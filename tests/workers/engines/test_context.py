"""The context of an engine: evaluations at the right steps, complete checkpoints, records of both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForCausalLM

from workers.config import RunConfig
from workers.engines.context import Context, latest_checkpoint, step_of
from workers.evaluation import Evaluator
from workers.models import Loaded
from workers.records import Checkpoint, Metric, RecordWriter, Response, Status, read, records_path
from workers.tasks import make

AXES = {"tokens": 100.0, "samples": 10.0, "gpu_seconds": 0.0}


def context_of(micro: Loaded, records: RecordWriter, **evaluation: Any) -> Context:
    plan = {"prompts": 2, "samples": 1} | evaluation
    config = RunConfig.from_json({"method": "es", "es": {"iterations": 7, "max_new_tokens": 6}, "evaluation": plan})
    task = make(config.task)
    evaluator = Evaluator(micro, task, config.evaluation, config.max_new_tokens)
    return Context(config, records.directory, records, micro, task, evaluator)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[RecordWriter]:
    with RecordWriter(tmp_path, 0) as writer:
        yield writer


def written_records(records: RecordWriter) -> list[Any]:
    piece = read(records_path(records.directory, records.epoch))
    assert not piece.broken
    return [line.record for line in piece.lines]


@pytest.mark.parametrize(("every", "steps"), [(3, [0, 3, 6, 7]), (1, list(range(8))), (0, [0, 7]), (50, [0, 7])])
def test_evaluations_are_due_before_at_intervals_and_at_the_end(
    every: int, steps: list[int], micro: Loaded, records: RecordWriter
) -> None:
    context = context_of(micro, records, every=every)

    assert [step for step in range(8) if context.due(step)] == steps


def test_evaluation_is_recorded_with_axes_and_responses(micro: Loaded, records: RecordWriter) -> None:
    evaluation = context_of(micro, records).evaluate(3, micro.model, AXES)

    status, metric, *responses = written_records(records)
    assert status == Status("evaluating", "after step 3", 3 / 7)
    assert metric == Metric(3, evaluation.values, AXES)
    assert responses == evaluation.responses
    # The greedy answers come first, so that an evaluation cut after them still gives the number of prompts.
    assert [(r.split, r.sample) for r in responses] == [("eval", 0)] * 2 + [("eval", 1)] * 2


def test_responses_are_not_recorded_when_disabled(micro: Loaded, records: RecordWriter) -> None:
    context_of(micro, records, responses=False).evaluate(0, micro.model, AXES)

    assert not [r for r in written_records(records) if isinstance(r, Response)]


def test_a_checkpoint_is_a_hugging_face_folder_and_a_record(micro: Loaded, records: RecordWriter) -> None:
    folder = context_of(micro, records).checkpoint(5, micro.model)

    record = written_records(records)[-1]
    assert isinstance(record, Checkpoint)
    assert (record.step, record.path) == (5, "checkpoints/step-000005")
    assert records.directory / record.path == folder
    weights = AutoModelForCausalLM.from_pretrained(folder).state_dict()
    assert all(bool((weights[name] == value).all()) for name, value in micro.model.state_dict().items())


def test_checkpoint_folder_is_named_only_when_complete(micro: Loaded, records: RecordWriter) -> None:
    context = context_of(micro, records)

    def fails(folder: Path) -> None:
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        context.checkpoint(5, micro.model, fails)
    assert list((records.directory / "checkpoints").iterdir()) == []
    assert not [r for r in written_records(records) if isinstance(r, Checkpoint)]

    context.checkpoint(5, micro.model, lambda folder: (folder / "more.json").write_text("{}") and None)
    assert json.loads((records.directory / "checkpoints/step-000005/more.json").read_text()) == {}


def test_a_step_done_again_replaces_its_checkpoint(micro: Loaded, records: RecordWriter) -> None:
    context = context_of(micro, records)
    context.checkpoint(5, micro.model, lambda folder: (folder / "first").write_text("x") and None)

    folder = context.checkpoint(5, micro.model, lambda folder: (folder / "second").write_text("x") and None)

    assert (folder / "second").exists()
    assert not (folder / "first").exists()
    assert [p.name for p in folder.parent.iterdir()] == ["step-000005"]


def test_incomplete_checkpoints_are_removed(micro: Loaded, records: RecordWriter) -> None:
    for name in (".step-000004", "..step-000004.half-done.123", ".step-000003.old.123"):
        (records.directory / "checkpoints" / name).mkdir(parents=True)

    folder = context_of(micro, records).checkpoint(5, micro.model)

    assert list(folder.parent.iterdir()) == [folder]


def test_latest_checkpoint_has_highest_step(tmp_path: Path) -> None:
    assert latest_checkpoint(tmp_path) is None
    for name in ("step-000009", "step-000100", "step-1000000", ".step-2000000"):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)

    latest = latest_checkpoint(tmp_path)

    assert latest is not None
    assert step_of(latest) == 1_000_000


def test_a_folder_of_another_name_is_no_checkpoint_of_a_run() -> None:
    with pytest.raises(ValueError, match="its name should look like step-000020"):
        step_of(Path("models/qwen"))
