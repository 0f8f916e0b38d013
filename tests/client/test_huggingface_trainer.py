"""The callback in trainings of this process: it disturbs none, and opens no run that the script has opened itself."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments

import esweb_client
from esweb_client.huggingface import EswebCallback
from tests.client.huggingface_runs import read_starts
from workers.models.resolve import resolve

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
ROWS = [{"input_ids": list(range(3, 15)), "labels": list(range(3, 15))}] * 4


class Failure(TrainerCallback):  # type: ignore[misc]
    """A callback that ends the training."""

    def on_step_end(self, *_: Any, **__: Any) -> None:
        raise ZeroDivisionError


@pytest.fixture(autouse=True)
def spools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make runs report offline into a folder, and end the last of them."""
    for name in ("ESWEB_URL", "ESWEB_TOKEN", "ESWEB_PROJECT", "ESWEB_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ESWEB_MODE", "offline")
    monkeypatch.setenv("ESWEB_DIR", str(tmp_path / "spools"))
    yield tmp_path / "spools"
    if esweb_client.run is not None:
        esweb_client.run.finish()


def make_trainer(folder: Path, callback: EswebCallback, **options: Any) -> Any:
    args = TrainingArguments(
        output_dir=str(folder / "out"), use_cpu=True, max_steps=2, logging_steps=1, per_device_train_batch_size=2,
        save_strategy="no", disable_tqdm=True, **{"report_to": "none", **options},
    )  # fmt: skip
    model = AutoModelForCausalLM.from_pretrained(resolve("micro"))
    return Trainer(model=model, args=args, train_dataset=ROWS, eval_dataset=ROWS, callbacks=[callback])


def test_error_of_the_callback_is_logged_once_and_training_continues(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = make_trainer(tmp_path, EswebCallback(project="plain", mode="sideways"))
    with caplog.at_level(logging.WARNING, "esweb_client"):
        trainer.train()
    assert trainer.state.global_step == 2
    (record,) = [record for record in caplog.records if record.name == "esweb_client"]
    assert "sideways" in record.getMessage()
    assert "Training continues." in record.getMessage()


def test_unknown_option_is_refused_before_the_training() -> None:
    with pytest.raises(TypeError, match="proyect"):
        EswebCallback(proyect="plain")


def test_each_training_is_a_run_of_its_own(tmp_path: Path, spools: Path) -> None:
    trainer = make_trainer(tmp_path, EswebCallback(project="plain"))
    trainer.train()
    trainer.train()
    first, second = read_starts(spools)
    assert first.meta["id"] != second.meta["id"]
    assert [start.end["state"] for start in (first, second)] == ["succeeded"] * 2
    assert list(first.metrics("train/loss")) == list(second.metrics("train/loss")) == [1, 2]


def test_own_callback_replaces_that_of_report_to(tmp_path: Path, spools: Path) -> None:
    make_trainer(tmp_path, EswebCallback(project="plain"), report_to="esweb").train()
    (start,) = read_starts(spools)
    assert start.meta["project"] == "plain"
    assert list(start.metrics("train/loss")) == [1, 2]
    assert len(start.of("metric")) == 3


def test_training_after_a_failed_one_does_not_use_its_run(tmp_path: Path, spools: Path) -> None:
    trainer = make_trainer(tmp_path, EswebCallback(project="plain"))
    trainer.add_callback(Failure())
    with pytest.raises(ZeroDivisionError):
        trainer.train()
    make_trainer(tmp_path, EswebCallback(project="plain")).train()
    first, second = read_starts(spools)
    assert [start.end["state"] for start in (first, second)] == ["interrupted", "succeeded"]
    assert list(second.metrics("train/loss")) == [1, 2]


def test_run_of_the_script_is_used_and_left_open(tmp_path: Path, spools: Path) -> None:
    run = esweb_client.init(project="own", config={"data": "colours"})
    make_trainer(tmp_path, EswebCallback(project="plain", config={"corpus": 3})).train()
    run.log({"after": 1.0}, step=9)
    run.finish()
    (start,) = read_starts(spools)
    assert start.meta["project"] == "own"
    assert list(start.metrics("train/loss")) == [1, 2]
    assert start.metrics("after") == {9: 1.0}
    assert (run.config["data"], run.config["corpus"], run.config["max_steps"]) == ("colours", 3, 2)


def test_evaluation_metrics_are_under_eval(tmp_path: Path, spools: Path) -> None:
    make_trainer(tmp_path, EswebCallback(project="plain"), eval_strategy="steps", eval_steps=2).train()
    (start,) = read_starts(spools)
    (loss,) = start.metrics("eval/loss").values()
    assert math.isfinite(loss)
    assert list(start.metrics("eval/loss")) == [2]


def test_loss_that_is_not_finite_is_an_alert(tmp_path: Path, spools: Path) -> None:
    trainer = make_trainer(tmp_path, EswebCallback(project="plain"), logging_nan_inf_filter=False)
    with torch.no_grad():
        trainer.model.model.norm.weight.fill_(math.nan)
    trainer.train()
    (start,) = read_starts(spools)
    (alert,) = start.of("alert")
    assert (alert["level"], alert["step"]) == ("error", 1)
    assert "loss is nan" in alert["message"]
    assert [record["values"].get("train/loss") for record in start.of("metric")][1] == "NaN"
