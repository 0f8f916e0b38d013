"""Each of forty bad inputs is answered with what is wrong and what would be right, alike at every door."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs.launching.config_form import LaunchForm, field_name, initial_from
from runs.models import Experiment, Run
from tests.flows.bad_inputs import CONFIGS, NODES, BadConfig, BadNode, answer, laid_out, mounted, tried
from tests.runs.api_client import calls, paths
from workers.config import preset
from workers.train import main

configs = pytest.mark.parametrize("case", CONFIGS, ids=lambda case: case.name)
nodes = pytest.mark.parametrize("case", [n for n in NODES if not n.small_disk], ids=lambda case: case.name)
disks = pytest.mark.parametrize("case", [n for n in NODES if n.small_disk], ids=lambda case: case.name)


def typed(case: BadConfig) -> dict[str, str]:
    """The field to blame and what to type into it; {} where a form has no such field, or takes no such thing."""
    value: Any = case.config()
    for name in case.path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    field = field_name(case.path, case.config()["task"]["name"] if case.path.startswith("task.options.") else "")
    can_be_typed = isinstance(value, str | int | float) and field in LaunchForm().fields
    return {field: str(value)} if can_be_typed else {}


def test_there_are_forty() -> None:
    assert len({case.name for case in (*CONFIGS, *NODES)}) == len(CONFIGS) + len(NODES) == 40


@pytest.mark.usefixtures("signals_put_back")
@pytest.mark.django_db
@configs
def test_command_line_and_api_say_the_same(
    case: BadConfig, tmp_path: Path, ada: User, experiment: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.json").write_text(json.dumps(case.config()))
    assert main([str(tmp_path / "run.json"), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert not (tmp_path / "out").exists()

    asked = {"experiment": experiment.pk, "config": case.config()}
    refused = calls(ada).post("/api/v1/runs", asked, content_type="application/json")
    assert refused.status_code == 422
    assert {f"{path.removeprefix('config.')}: {message}" for path, message in paths(refused).items()} == set(said)
    assert not Run.objects.exists()

    blamed = next(line for line in said if line.startswith(f"{case.path}: "))
    assert all(word in blamed for word in case.words), blamed


@pytest.mark.django_db
@pytest.mark.parametrize("case", [case for case in CONFIGS if typed(case)], ids=lambda case: case.name)
def test_the_form_says_so_at_the_field(case: BadConfig, ada_client: Client, experiment: Experiment) -> None:
    start = {k: v for k, v in initial_from(preset("es-micro").config).items() if v is not None and v is not False}
    config = case.config()
    sent = {"preset": "es-micro", "seeds": "0", "name": "", **start}
    sent |= {"task.name": config["task"]["name"]} if "task" in config else {}
    sent |= {"es.antithetic": "on"} if config["es"].get("antithetic") else {}
    page = ada_client.post(reverse("launch", args=[experiment.pk]), sent | typed(case))
    assert page.status_code == 400
    assert not Run.objects.exists()
    complaints = " ".join(page.context_data["form"].errors[next(iter(typed(case)))])  # type: ignore[attr-defined]
    assert all(word in complaints for word in case.words), complaints


@pytest.mark.usefixtures("signals_put_back")
@nodes
def test_what_only_the_node_finds_out_ends_with_a_sentence(
    case: BadNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = laid_out(case, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ESWEB_TASK_PATHS", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    code = main(arguments)
    printed = capsys.readouterr().err
    said = answer(subprocess.CompletedProcess([], code, "", printed), tmp_path)
    assert (code, [word for word in case.words if word not in said]) == (case.code, []), said
    assert len(printed) < 300_000


@disks
def test_a_disk_that_takes_nothing_ends_the_training_with_a_sentence(case: BadNode, tmp_path: Path) -> None:
    probe = subprocess.run([*mounted("size=64k", tmp_path), "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("this machine lets us mount no small disk")
    ended = tried(case, tmp_path)
    assert ended.returncode == case.code
    assert all(word in answer(ended, tmp_path) for word in case.words), ended.stderr
