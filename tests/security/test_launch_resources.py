"""Starts of a run never allow a user to name a file, a host or code that is read with the site's rights."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from esweb_client.cli.__main__ import main
from runs import access
from runs.launching.config_form import SETTINGS, field_name
from runs.models import Experiment, Run
from tests.cases import each_case
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import make_run
from tests.security.launch_attacks import (
    ATTACKS,
    CONFIGS,
    PLAIN_TEXTS,
    SHAPED,
    Attacks,
    all_attacks,
    as_value,
    attack_sets,
    check_nothing_created,
    folder,
    free_text_paths,
    post,
    with_attack,
)
from workers.config import RunConfig, config_fields

__all__ = ["folder"]


def test_config_texts_are_marked_or_plain() -> None:
    texts = [
        setting for setting in config_fields(RunConfig) if setting.kind in (str, dict, tuple) and not setting.choices
    ]
    unmarked = {setting.path for setting in texts if setting.resource is None}
    assert unmarked == set(PLAIN_TEXTS), "mark a field that names a file, a service or code with Resource"
    assert {path for config in CONFIGS.values() for path in (*free_text_paths(config), *SHAPED, "grpo.extra")} == {
        setting.path for setting in config_fields(RunConfig) if setting.resource is not None
    }


def test_api_refuses_every_attack_at_every_field(ada: User, experiment: Experiment, folder: Path) -> None:
    script = calls(ada)
    for config, value in all_attacks():
        response = post(script, "runs", {"experiment": experiment.pk, "config": with_attack(config, value)})
        assert (response.status_code, set(paths(response))) == (422, set(free_text_paths(config))), value
    check_nothing_created()


@attack_sets
@pytest.mark.parametrize("address", ["gpu-memory", "preflight"])
def test_check_before_launch_refuses_every_attack_at_every_field(
    ada: User, folder: Path, address: str, attacks: Attacks
) -> None:
    script = calls(ada)
    for config, value in attacks():
        response = post(script, address, {"config": with_attack(config, value)})
        assert (response.status_code, set(paths(response))) == (422, set(free_text_paths(config))), value


def test_sweep_refuses_every_attack_at_every_field(ada: User, experiment: Experiment, folder: Path) -> None:
    script = calls(ada)
    for config in CONFIGS.values():
        for address in ("sweeps", "sweeps/plan"):
            cells = [{path: as_value(path, value) for path in free_text_paths(config)} for value in ATTACKS]
            body = {"experiment": experiment.pk, "config": config, "cells": cells, "seeds": [0]}
            response = post(script, address, body)
            assert response.status_code == 422, response.content
            problems = [problem["path"] for problem in response.json()["problems"]]
            # Fields that only a run started by hand may set have one message for any value.
            by_hand = {setting.path for setting in config_fields(RunConfig) if setting.resource == "by_hand"}
            expected = {path: 1 if path in by_hand else len(ATTACKS) for path in free_text_paths(config)}
            assert {path: problems.count(path) for path in expected} == expected
    check_nothing_created()


@attack_sets
def test_clone_refuses_every_attack_at_every_field(
    ada: User, experiment: Experiment, folder: Path, attacks: Attacks
) -> None:
    run = make_run(experiment, "es-micro")
    script = calls(ada)
    for config, value in attacks():
        Run.objects.filter(pk=run.pk).update(config=RunConfig.from_json(config).to_json())
        response = post(script, f"runs/{run.uid}/clone", {"config": with_attack(config, value)})
        assert (response.status_code, set(paths(response))) == (422, set(free_text_paths(config))), value
        # A stored run that names a path is readable, and its unchanged clone is refused in the same way.
        Run.objects.filter(pk=run.pk).update(config=RunConfig.from_json(with_attack(config, value)).to_json())
        assert script.get(f"/api/v1/runs/{run.uid}").status_code == 200
        response = post(script, f"runs/{run.uid}/clone", {})
        assert (response.status_code, set(paths(response))) == (422, set(free_text_paths(config))), value
    assert Run.objects.count() == 1


@attack_sets
def test_form_refuses_every_attack_at_every_field(
    ada_client: Client, experiment: Experiment, folder: Path, attacks: Attacks
) -> None:
    address, visited = reverse("launch-check", args=[experiment.pk]), set()
    for config, value in attacks():
        task = config.get("task", {}).get("name", "conciseness")
        fields = {
            field_name(path, task if ".options." in path else "") for path in free_text_paths(config)
        } & SETTINGS.keys()
        form = {"method": config["method"], "task.name": task, "seeds": "0", "preset": ""}
        texts = {field: json.dumps([value]) if field == "probe.runs" else value for field in fields}
        response = ada_client.post(address, form | texts)
        assert fields <= set(response.context["form"].errors), (value, fields)
        visited |= fields
    assert ada_client.post(reverse("launch", args=[experiment.pk]), response.wsgi_request.POST).status_code == 400
    tested_elsewhere = (*SHAPED, "grpo.extra")
    assert visited == {
        name for name, setting in SETTINGS.items() if setting.resource and setting.path not in tested_elsewhere
    }
    page = ada_client.get(reverse("launch", args=[experiment.pk])).content.decode()
    by_hand = [setting.path for setting in config_fields(RunConfig) if setting.resource == "by_hand"]
    assert 'name="model.path"' in page and not [path for path in by_hand if f'name="{path}"' in page]
    check_nothing_created()


@attack_sets
def test_command_line_refuses_every_attack_at_every_field(
    transactional_db: None, ada: User, experiment: Experiment, folder: Path, live_server: Any, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], attacks: Attacks,
) -> None:  # fmt: skip
    _, text = access.issue(ada, "launch")
    monkeypatch.setenv("ESWEB_URL", live_server.url)
    monkeypatch.setenv("ESWEB_TOKEN", text)
    file = tmp_path / "config.json"
    for config, value in attacks():
        file.write_text(json.dumps(with_attack(config, value)))
        assert main(["launch", str(experiment.pk), "--config", str(file)]) == 2
        printed = capsys.readouterr().err
        assert all(f"{path}: " in printed for path in free_text_paths(config)), (value, printed)
    check_nothing_created()


def test_prior_tasks_of_evaluations_refuse_every_attack(ada: User, experiment: Experiment, folder: Path) -> None:
    script, parent = calls(ada), make_run(experiment, "es-micro")
    parent.attempts.update(started_at=timezone.now())
    for value in ATTACKS:
        files = {"name": "countdown", "options": {"train_file": value, "eval_file": value}}
        token = {"name": "safety", "options": {"scorer": "embedded", "scorer_token_file": value, "scorer_site": value}}
        evaluate = {"run": f"run:{parent.uid}", "prior_tasks": [files, token]}
        config = {"method": "evaluate", "evaluate": evaluate}
        response = post(script, "runs", {"experiment": experiment.pk, "config": config})
        problems = paths(response)
        assert response.status_code == 422 and set(problems) == {
            "evaluate.prior_tasks.0.options.train_file", "evaluate.prior_tasks.0.options.eval_file",
            "evaluate.prior_tasks.1.options.scorer_token_file", "evaluate.prior_tasks.1.options.scorer_site",
        }  # fmt: skip
        assert "prior task" in problems["evaluate.prior_tasks.1.options.scorer_token_file"]
    assert Run.objects.count() == 1


@each_case("value", [v for v in ATTACKS if not v.startswith("http")])
@each_case("config", [
    lambda value: {"method": "es", "es": {}, "task": {"name": "safety", "options": {"scorer": value}}},
    lambda value: {"method": "es", "es": {}, "task": {"name": "own", "options": {"path": value}}},
    lambda value: {"method": "scorer", "scorer": {"secret": value}},
    lambda value: {"method": "es", "es": {
        "backend": "adapter_server", "lora": {}, "adapter_server": {"server": value},
    }},
    lambda value: {
        "method": "grpo", "grpo": {"vllm": {"mode": "server", "server": value}}, "compute": {"gpus": 1},
    },
    lambda value: {"method": "es", "es": {}, "tracking": {"wandb_project": value}},
    lambda value: {"method": "es", "es": {}, "tracking": {"wandb_entity": value}},
], ids=SHAPED)  # fmt: skip
def test_shaped_fields_refuse_paths(config: Callable[[str], dict[str, Any]], value: str, ada: User) -> None:
    response = post(calls(ada), "runs", {"experiment_name": "New", "config": config(value)})
    assert response.status_code == 422 and set(paths(response)) <= set(SHAPED)
    check_nothing_created()


def test_allowed_model_names_are_accepted(ada: User, experiment: Experiment, folder: Path) -> None:
    (folder / "folder" / "train.json").write_text("[]")
    script = calls(ada)
    for model in ("tiny", "micro", "folder", "Qwen/Qwen2.5-1.5B-Instruct", "gpt2"):
        task = {"name": "countdown", "options": {"train_file": "folder/train.json"}}
        config = {"method": "es", "es": {}, "model": {"path": model}, "task": task}
        assert post(script, "runs", {"experiment": experiment.pk, "config": config}).status_code == 201, model


def test_refusal_names_alternative_to_path(ada: User, experiment: Experiment, folder: Path) -> None:
    script = calls(ada)
    checkpoint = "/srv/runs/abcdefghjk/esweb-abcdefghjk-a1/checkpoints/step-000005"
    for path, name in ((checkpoint, "run:abcdefghjk@5"), (str(folder / "folder"), "this one is folder")):
        config = {"method": "es", "es": {}, "model": {"path": path}}
        assert name in paths(post(script, "runs", {"experiment": experiment.pk, "config": config}))["model.path"]
