"""Starts of a run never allow a user to name a file, a host or code that is read with the site's rights."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from esweb_client.cli.__main__ import main
from runs import access
from runs.launching.config_form import SETTINGS, field_name
from runs.launching.config_form.fields import config_from_fields, initial_from
from runs.launching.credentials import credentials_environment
from runs.models import Attempt, Cluster, Experiment, Run, Sweep
from tests.cases import each_case
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import make_run
from workers.config import RunConfig, config_fields
from workers.config.resources import resources

ATTACKS = (
    "/etc/passwd",
    "../../../admin-password",
    "../../../runs/abcdefghjk/esweb-abcdefghjk-a1/checkpoints/step-000005",
    "./folder",
    "folder/../../secret",
    "~/secret",
    "file:///etc/passwd",
    "http://169.254.169.254/latest/meta-data",
    "folder\\..\\secret",
    ".ssh/id_rsa",
    "link/secret",
    "folder//secret",
    "%2e%2e/secret",
    "$HOME/secret",
    "name\n/etc/passwd",
    "run:abcdefghjk@5",
    "a/" * 11 + "a",
)
EXTRA_ATTACKS: tuple[dict[str, Any], ...] = (
    {"trust_remote_code": True},
    {"model_init_kwargs": {"trust_remote_code": True}},
    {"deepspeed": "/etc/passwd"},
    {"fsdp_config": "/etc/passwd"},
    {"accelerator_config": "/etc/passwd"},
    {"resume_from_checkpoint": "/srv/runs/another"},
    {"push_to_hub": True, "hub_model_id": "eve/weights"},
    {"hub_token": "hf_x"},
    {"report_to": ["wandb"]},
    {"vllm_server_base_url": "http://169.254.169.254"},
    {"generation_kwargs": {"custom_generate": "eve/code"}},
    {"chat_template_kwargs": {"file": "/etc/passwd"}},
    {"optim": "../../code"},
    {"torch_compile_backend": "eve"},
    {"no_such_field": 1},
)
SCORERS = (
    "http://169.254.169.254/",
    "http://[::ffff:169.254.169.254]:8000",
    "http://2852039166/",
    "http://0xa9.0xfe.0xa9.0xfe/",
    "https://eve.example",
    "http://127.0.0.1.eve.example:8000",
    "http://localhost.eve.example",
    "nobody",
)
SHAPED = (
    "task.options.scorer", "task.options.path", "scorer.secret", "es.adapter_server.server", "grpo.vllm.server",
    "tracking.wandb_project", "tracking.wandb_entity",
)  # fmt: skip
"""Marked fields whose shape refuses paths before any rule of a site is checked."""
PLAIN_TEXTS = (
    "task.options.system_prompt", "task.options.options", "es.lora.targets", "grpo.lora.targets", "scorer.name",
    "scorer.reward_label", "scorer.cost_label", "scorer.host", "compute.cluster", "compute.partition",
    "compute.gpu_type", "task.prefill",
    "task.options.instruction", "evaluate.steps", "evaluate.prior_tasks", "probe.probes", "probe.sigmas",
    "probe.groups", "probe.temperatures", "es.lora.layers", "es.adapter_server.model",
)  # fmt: skip
"""Fields of free text that name no file, no service and no code. Those of prior tasks are marked in each of them."""
CONFIGS: dict[str, dict[str, Any]] = {
    "conciseness": {"method": "es", "es": {}, "task": {"name": "conciseness"}},
    "countdown": {"method": "grpo", "grpo": {}, "task": {"name": "countdown"}},
    "safety": {"method": "es", "es": {}, "task": {"name": "safety"}},
    "math": {"method": "es", "es": {}, "task": {"name": "math"}},
    "choice": {"method": "es", "es": {}, "task": {"name": "choice"}},
    "scorer": {"method": "scorer", "scorer": {}},
    "evaluate": {"method": "evaluate", "evaluate": {}},
    "probe": {"method": "probe", "probe": {}},
    "adapter_server": {
        "method": "es",
        "es": {"backend": "adapter_server", "lora": {}, "adapter_server": {"server": "http://127.0.0.1:8000"}},
    },
}


@pytest.fixture
def folder(local: Cluster, tmp_path: Path) -> Path:
    """Return a folder that the cluster allows; `link` in it leads to a secret outside."""
    allowed, secret = tmp_path / "allowed", tmp_path / "outside"
    (allowed / "folder").mkdir(parents=True)
    secret.mkdir()
    (secret / "secret").write_text("the admin's password")
    (allowed / "link").symlink_to(secret)
    local.config = {"data_paths": [str(allowed)]}
    local.save()
    return allowed


def free_text_paths(config: dict[str, Any]) -> list[str]:
    """Return the paths of the marked fields of a config that take any text."""
    return [r.path for r in resources(RunConfig.from_json(config)) if r.path not in SHAPED and r.path != "grpo.extra"]


def as_value(path: str, value: str) -> Any:
    """Return the value in the form that the field takes: probe.runs is a list."""
    return [value] if path == "probe.runs" else value


def with_attack(config: dict[str, Any], value: str) -> dict[str, Any]:
    """Return the config with the value at each marked field."""
    out: dict[str, Any] = json.loads(json.dumps(config))
    for path in free_text_paths(config):
        *sections, name = path.split(".")
        section = out
        for part in sections:
            section = section[int(part)] if isinstance(section, list) else section.setdefault(part, {})
        section[name] = as_value(path, value)
    return out


Attack = tuple[dict[str, Any], str]


def all_attacks() -> Iterator[Attack]:
    """Yield every config with every attack."""
    for config in CONFIGS.values():
        for value in ATTACKS:
            yield config, value


def each_attack_once() -> Iterator[Attack]:
    """Yield every attack with one config, and every config with one attack at least."""
    assert len(ATTACKS) >= len(CONFIGS)
    return zip(itertools.cycle(CONFIGS.values()), ATTACKS, strict=False)


# One rule refuses the attacks of all ways to launch: `make test` sends all of them one way, and a few the other ways.
attack_sets = pytest.mark.parametrize("attacks", [each_attack_once, pytest.param(all_attacks, marks=pytest.mark.soak)])
Attacks = Callable[[], Iterator[Attack]]


def post(client: Client, address: str, body: dict[str, Any]) -> Any:
    return client.post(f"/api/v1/{address}", body, content_type="application/json")


def check_nothing_created() -> None:
    assert not Attempt.objects.exists() and not Sweep.objects.exists()


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


@each_case("extra", EXTRA_ATTACKS, ids=lambda extra: next(iter(extra)))
def test_hostile_trainer_arguments_are_refused(extra: dict[str, Any], ada: User, experiment: Experiment) -> None:
    config = {"method": "grpo", "grpo": {"extra": extra}}
    response = post(calls(ada), "runs", {"experiment": experiment.pk, "config": config})
    assert list(paths(response)) == ["grpo.extra"]
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


@each_case("scorer", SCORERS)
def test_disallowed_scorers_are_refused(scorer: str, ada: User, experiment: Experiment) -> None:
    config = {"method": "es", "es": {}, "task": {"name": "safety", "options": {"scorer": scorer}}}
    response = post(calls(ada), "runs", {"experiment": experiment.pk, "config": config})
    assert list(paths(response)) == ["task.options.scorer"]
    check_nothing_created()


@each_case("server", SCORERS)
def test_disallowed_adapter_servers_are_refused(server: str, ada: User, experiment: Experiment) -> None:
    es = {"backend": "adapter_server", "lora": {}, "adapter_server": {"server": server}}
    response = post(calls(ada), "runs", {"experiment": experiment.pk, "config": {"method": "es", "es": es}})
    assert list(paths(response)) == ["es.adapter_server.server"]
    check_nothing_created()


def test_adapter_servers_at_allowed_hosts_and_registered_ones_are_accepted(
    ada: User, experiment: Experiment, local: Cluster
) -> None:
    local.config = {"site_url": "http://127.0.0.1:8000"}
    local.save()
    for server in ("http://127.0.0.1:8001", "qwen-7b"):
        es = {"backend": "adapter_server", "lora": {}, "adapter_server": {"server": server}}
        body = {"experiment": experiment.pk, "config": {"method": "es", "es": es}}
        response = post(calls(ada), "runs", body)
        assert response.status_code == 201, response.content


def test_run_that_names_a_registered_server_gets_the_site_to_look_it_up(
    ada: User, experiment: Experiment, local: Cluster
) -> None:
    run = make_run(experiment, "es-micro")
    local.config = {}
    local.save()
    for server, is_looked_up in (("http://127.0.0.1:8001", False), ("qwen-7b", True)):
        es = {"backend": "adapter_server", "lora": {}, "adapter_server": {"server": server}}
        Run.objects.filter(pk=run.pk).update(config=RunConfig.from_json({"method": "es", "es": es}).to_json())
        attempt = Run.objects.get(pk=run.pk).newest_attempt()
        assert attempt is not None
        attempt.cluster = local
        with override_settings(SITE_URL="http://127.0.0.1:8000"):
            assert ("ESWEB_RUN_SITE" in credentials_environment(attempt)) == is_looked_up


def test_form_leaves_the_adapter_server_out_unless_it_is_ticked() -> None:
    fields = {"method": "es", "es.backend": "adapter_server", "es.adapter_server.server": "qwen-7b"}
    assert "adapter_server" not in config_from_fields(fields)["es"]
    ticked = config_from_fields(fields | {"es.adapter_server": True})
    assert ticked["es"]["adapter_server"] == {"server": "qwen-7b"}
    initial = initial_from(ticked)
    assert (initial["es.adapter_server"], initial["es.lora"]) == (True, False)


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


def test_metrics_leave_only_for_projects_that_the_cluster_allows(ada: User, experiment: Experiment) -> None:
    def launch(**tracking: str) -> HttpResponse:
        config = {"method": "es", "es": {}, "tracking": tracking}
        return post(calls(ada), "runs", {"experiment": experiment.pk, "config": config})

    refused = launch(wandb_project="es", wandb_entity="eve")
    assert set(paths(refused)) == {"tracking.wandb_project", "tracking.wandb_entity"}
    assert "allowed projects are: none" in refused.content.decode()
    check_nothing_created()

    Cluster.objects.filter(name="local").update(config={"wandb_projects": ["lab/es"]})
    assert set(paths(launch(wandb_project="es", wandb_entity="eve"))) == {"tracking.wandb_entity"}
    assert launch(wandb_project="es", wandb_entity="lab").status_code == 201


def test_servers_of_vllm_are_for_runs_started_by_hand(ada: User, experiment: Experiment) -> None:
    grpo = {"vllm": {"mode": "server", "server": "http://127.0.0.1:8000"}}
    config = {"method": "grpo", "grpo": grpo, "compute": {"gpus": 1}}
    response = post(calls(ada), "runs", {"experiment": experiment.pk, "config": config})

    assert "grpo.vllm.server" in paths(response)
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
