"""Programs that train with TRL or transformers report to esweb: those that docs/guides/report-from-trl.md prints.

They run in this process. `make soak` runs them as a reader does, and in two processes; what a process reports at its
end is tested in test_reports.py, and that only the first process reports.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs import access
from runs.models import Attempt, Population, Response, Run, Series
from tests.client.huggingface_runs import (
    Start,
    environment,
    guide_block,
    read_starts,
    run_here,
    run_script,
    write_script,
)
from tests.guides.blocks import ROOT
from tests.waiting import PATIENCE_SECONDS

GRPO_SCRIPT = guide_block("def brevity")
PLAIN_SCRIPT = """
{report}
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainerCallback


class Failure(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        if state.global_step == 3:
            raise RuntimeError("the disk of the data is gone")


tokenizer = AutoTokenizer.from_pretrained("micro")
ids = tokenizer("What is 2 + 2? It is 4. What is 3 + 3?")["input_ids"]
rows = [{{"input_ids": ids, "labels": ids}}] * 8
args.max_steps, args.logging_steps, args.per_device_train_batch_size = 4, 1, 2
trainer = Trainer(
    model=AutoModelForCausalLM.from_pretrained("micro"), args=args, train_dataset=rows, callbacks=[Failure()]
)
trainer.train()
"""
GROUP = 4


@pytest.fixture(scope="module")
def grpo(tmp_path_factory: pytest.TempPathFactory) -> Start:
    """Run the guide's GRPO script offline."""
    folder = tmp_path_factory.mktemp("grpo")
    write_script(folder, GRPO_SCRIPT)
    run_here(folder)
    (start,) = read_starts(folder / "esweb-runs")
    return start


def by_group(records: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    groups: dict[tuple[int, float], list[Mapping[str, Any]]] = defaultdict(list)
    for record in records:
        groups[record["step"], record["parts"]["group"]].append(record)
    return list(groups.values())


def test_grpo_metrics_have_steps_and_axes(grpo: Start) -> None:
    assert list(grpo.metrics("train/reward/mean")) == [1, 2, 3, 4]
    assert grpo.metrics("train/reward") == grpo.metrics("train/reward/mean")
    assert {"train/loss", "train/entropy", "time/step_seconds"} <= {
        key for record in grpo.of("metric") for key in record["values"]
    }
    axes = [record["axes"] for record in grpo.of("metric") if "train/loss" in record["values"]]
    assert [point["samples"] for point in axes] == [8, 16, 24, 32]
    assert [point["tokens"] for point in axes] == list(grpo.metrics("train/num_tokens").values())


def test_grpo_completions_are_whole_groups(grpo: Start) -> None:
    responses = grpo.of("response")
    assert [record["step"] for record in responses] == [step for step in (1, 2, 3, 4) for _ in range(2 * GROUP)]
    for members in by_group(responses):
        assert [member["sample"] for member in members] == [0, 1, 2, 3]
        assert len({member["prompt_id"] for member in members}) == 1
        rewards = np.array([member["reward"] for member in members])
        expected = (rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-4)
        assert [member["parts"]["advantage"] for member in members] == pytest.approx(expected, abs=1e-3)
    for record in responses:
        assert record["split"] == "train"
        assert record["reward"] == record["parts"]["brevity"] == pytest.approx(-len(record["text"]) / 10)
        assert record["prompt"].endswith((".", "?"))


def test_grpo_completions_have_as_many_tokens_as_trl_logs(grpo: Start) -> None:
    for step, mean in grpo.metrics("train/completions/mean_length").items():
        tokens = [record["tokens"] for record in grpo.of("response") if record["step"] == step]
        assert np.mean(tokens) == pytest.approx(mean, rel=0.1)


def test_grpo_groups_are_populations(grpo: Start) -> None:
    assert [record["step"] for record in grpo.of("population")] == [1, 2, 3, 4]
    groups = by_group(grpo.of("response"))
    members = [member for record in grpo.of("population") for member in record["members"]]
    assert [member["seed"] for member in members] == [0, 1] * 4
    for member, group in zip(members, groups, strict=True):
        rewards = [row["reward"] for row in group]
        assert member["reward"] == pytest.approx(np.mean(rewards))
        assert member["parts"]["reward_std"] == pytest.approx(np.std(rewards))
        assert member["parts"]["reward_max"] == max(rewards)


def test_grpo_run_has_config_method_and_seed(grpo: Start) -> None:
    config = grpo.meta["config"]
    assert (grpo.meta["project"], grpo.meta["method"], grpo.meta["seed"]) == ("conciseness", "grpo", 3)
    assert (config["num_generations"], config["learning_rate"]) == (4, 1e-4)
    assert (config["model"]["type"], config["trainer"]) == ("qwen2", "GRPOTrainer")


def test_grpo_run_has_checkpoints_progress_and_end(grpo: Start) -> None:
    assert [record["step"] for record in grpo.of("checkpoint")] == [2, 4]
    assert all(record["bytes"] > 0 for record in grpo.of("checkpoint"))
    assert [record.get("progress") for record in grpo.of("status") if record["phase"] == "training"][-1] == 1.0
    assert grpo.end["state"] == "succeeded"
    assert grpo.end["summary"]["train_runtime"] > 0


@pytest.mark.soak
def test_grpo_script_is_run_by_the_commands_of_the_guide(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(GRPO_SCRIPT, encoding="utf-8")
    commands = ["bash", "-e", "-c", guide_block("python train.py")]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        commands, cwd=tmp_path, env=environment(PATH=path, PYTHONPATH=str(ROOT)), capture_output=True, text=True,
        timeout=PATIENCE_SECONDS, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    (start,) = read_starts(tmp_path / "esweb-runs")
    assert list(start.metrics("train/reward/mean")) == [1, 2, 3, 4]
    assert start.end["state"] == "succeeded"


@pytest.mark.django_db(transaction=True)
def test_resumed_grpo_run_is_one_run_of_two_attempts(
    live_server: Any, ada: User, ada_client: Client, tmp_path: Path
) -> None:
    online = {"ESWEB_MODE": "online", "ESWEB_URL": live_server.url, "ESWEB_TOKEN": access.issue(ada, "report")[1]}
    write_script(tmp_path, GRPO_SCRIPT.replace("max_steps=4", "max_steps=2"))
    run_here(tmp_path, ESWEB_RUN_ID="brevity-3", **online)
    write_script(tmp_path, GRPO_SCRIPT.replace("trainer.train()", "trainer.train(resume_from_checkpoint=True)"))
    run_here(tmp_path, ESWEB_RUN_ID="brevity-3", **online)
    run = Run.objects.get()
    assert (run.experiment.name, run.method, run.seed) == ("conciseness", "grpo", 3)
    attempts = Attempt.objects.filter(run=run).order_by("n")
    assert [(attempt.n, attempt.state) for attempt in attempts] == [(1, "succeeded"), (2, "succeeded")]
    series = Series.objects.get(run=run, key="train/reward/mean")
    assert (series.points, series.last_step) == (4, 4)
    responses = Response.objects.filter(run=run, split="train", is_superseded=False)
    assert responses.count() == 4 * 2 * GROUP
    assert sorted(set(responses.values_list("step", flat=True))) == [1, 2, 3, 4]
    assert Population.objects.filter(run=run).count() > 0
    page = ada_client.get(f"/runs/{run.uid}/completions/")
    assert [(len(group.completions), group.number) for group in page.context["groups"]] == [(GROUP, 0), (GROUP, 1)]


@pytest.mark.soak
def test_two_processes_report_one_run_with_the_completions_of_both(tmp_path: Path) -> None:
    script = GRPO_SCRIPT.replace("per_device_train_batch_size=8", "per_device_train_batch_size=4")
    script = script.replace("max_steps=4", "max_steps=2")
    write_script(tmp_path, script)
    argv = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "train.py"]
    with (tmp_path / "output").open("wb") as output:
        process = subprocess.Popen(argv, cwd=tmp_path, env=environment(), stdout=output, stderr=output)
        code = process.wait(PATIENCE_SECONDS)
    assert code == 0, (tmp_path / "output").read_text()
    (start,) = read_starts(tmp_path / "esweb-runs")
    assert [record["step"] for record in start.of("response")] == [1] * 8 + [2] * 8
    assert [len({row["prompt_id"] for row in group}) for group in by_group(start.of("response"))] == [1] * 4
    assert list(start.metrics("train/loss")) == [1, 2]
    assert start.end["state"] == "succeeded"


def write_plain_script(folder: Path) -> None:
    report = guide_block('report_to="esweb"').replace(")", ', use_cpu=True, run_name="four steps", seed=5)')
    write_script(folder, PLAIN_SCRIPT.format(report=report))


def check_plain_start(start: Start) -> None:
    assert start.metrics("train/loss").keys() == {1, 2}
    assert [record["axes"]["samples"] for record in start.of("metric") if "axes" in record] == [2, 4]
    assert (start.meta["project"], start.meta["name"], start.meta["seed"]) == ("huggingface", "four steps", 5)
    assert start.of("response") == []


def test_report_to_esweb_reports_a_plain_trainer(tmp_path: Path) -> None:
    write_plain_script(tmp_path)
    with pytest.raises(RuntimeError, match="the disk of the data is gone"):
        run_here(tmp_path)
    (start,) = read_starts(tmp_path / "esweb-runs")
    check_plain_start(start)


@pytest.mark.soak
def test_report_to_esweb_reports_a_plain_trainer_that_fails(tmp_path: Path) -> None:
    write_plain_script(tmp_path)
    assert run_script(tmp_path) == 1
    assert "the disk of the data is gone" in (tmp_path / "output").read_text()
    (start,) = read_starts(tmp_path / "esweb-runs")
    check_plain_start(start)
    assert start.end["state"] == "failed"
    assert "the disk of the data is gone" in start.end["reason"]
