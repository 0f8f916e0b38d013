"""Each of forty bad inputs is answered with the problem and the valid choices, alike by command line, API and form."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs.launching.config_form import LaunchForm, field_name, initial_from
from runs.models import Experiment, Run
from tests.flows.bad_inputs import (
    CONFIGS,
    NODES,
    BadConfig,
    BadNode,
    shown_message,
    write_case,
)
from tests.runs.api_client import calls, paths
from tests.small_disks import needs_small_disk, small_disk
from workers.config import preset
from workers.train import main

FREE_BYTES = 2**16
configs = pytest.mark.parametrize("case", CONFIGS, ids=lambda case: case.name)
nodes = pytest.mark.parametrize("case", [n for n in NODES if not n.small_disk], ids=lambda case: case.name)
disks = pytest.mark.parametrize("case", [n for n in NODES if n.small_disk], ids=lambda case: case.name)


def form_input(case: BadConfig) -> dict[str, str]:
    """Return the field to blame and the text to type; {} if the form has no such field or takes no such value."""
    value: Any = case.config()
    for name in case.path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    field = field_name(case.path, case.config()["task"]["name"] if case.path.startswith("task.options.") else "")
    can_be_typed = isinstance(value, str | int | float) and field in LaunchForm().fields
    return {field: str(value)} if can_be_typed else {}


def test_cases_are_forty_with_unique_names() -> None:
    assert len({case.name for case in (*CONFIGS, *NODES)}) == len(CONFIGS) + len(NODES) == 40


@pytest.mark.usefixtures("restored_signals")
@pytest.mark.django_db
@configs
def test_command_line_and_api_report_the_same_problems(
    case: BadConfig, tmp_path: Path, ada: User, experiment: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.json").write_text(json.dumps(case.config()))
    assert main([str(tmp_path / "run.json"), "--out", str(tmp_path / "out")]) == 2
    problems = capsys.readouterr().err.splitlines()
    assert not (tmp_path / "out").exists()

    body = {"experiment": experiment.pk, "config": case.config()}
    response = calls(ada).post("/api/v1/runs", body, content_type="application/json")
    assert response.status_code == 422
    assert {f"{path.removeprefix('config.')}: {message}" for path, message in paths(response).items()} == set(problems)
    assert not Run.objects.exists()

    problem = next(line for line in problems if line.startswith(f"{case.path}: "))
    assert all(fragment in problem for fragment in case.fragments), problem


@pytest.mark.django_db
@pytest.mark.parametrize("case", [case for case in CONFIGS if form_input(case)], ids=lambda case: case.name)
def test_form_reports_problem_at_field(case: BadConfig, ada_client: Client, experiment: Experiment) -> None:
    start = {k: v for k, v in initial_from(preset("es-micro").config).items() if v is not None and v is not False}
    config = case.config()
    sent = {"preset": "es-micro", "seeds": "0", "name": "", **start}
    sent |= {"task.name": config["task"]["name"]} if "task" in config else {}
    sent |= {"es.antithetic": "on"} if config["es"].get("antithetic") else {}
    page = ada_client.post(reverse("launch", args=[experiment.pk]), sent | form_input(case))
    assert page.status_code == 400
    assert not Run.objects.exists()
    problems = " ".join(page.context_data["form"].errors[next(iter(form_input(case)))])  # type: ignore[attr-defined]
    assert all(fragment in problems for fragment in case.fragments), problems


@pytest.mark.usefixtures("restored_signals")
@nodes
def test_node_problem_ends_training_with_message(
    case: BadNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = write_case(case, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ESWEB_TASK_PATHS", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    code = main(arguments)
    printed = capsys.readouterr().err
    message = shown_message(subprocess.CompletedProcess([], code, "", printed), tmp_path)
    assert (code, [fragment for fragment in case.fragments if fragment not in message]) == (case.code, []), message
    assert len(printed) < 300_000


@needs_small_disk
@pytest.mark.usefixtures("restored_signals")
@disks
def test_unwritable_disk_ends_training_with_message(
    case: BadNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = write_case(case, tmp_path)
    monkeypatch.chdir(tmp_path)
    with small_disk(tmp_path / "disk", 1) as disk:
        if case.small_disk == "ro":
            subprocess.run(["mount", "-o", "remount,ro", disk.path], check=True)
        else:
            disk.fill()
            os.truncate(disk.ballast, disk.ballast.stat().st_size - FREE_BYTES)
        code = main(arguments)
    message = shown_message(subprocess.CompletedProcess([], code, "", capsys.readouterr().err), tmp_path)
    assert (code, [fragment for fragment in case.fragments if fragment not in message]) == (case.code, []), message
