"""Starts of a run reach no service and no project, and take no trainer argument, that is not allowed."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import override_settings

from runs.launching.config_form.fields import config_from_fields, initial_from
from runs.launching.credentials import credentials_environment
from runs.models import Cluster, Experiment, Run
from tests.cases import each_case
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import make_run
from tests.security.launch_attacks import check_nothing_created, post
from workers.config import RunConfig

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


@each_case("extra", EXTRA_ATTACKS, ids=lambda extra: next(iter(extra)))
def test_hostile_trainer_arguments_are_refused(extra: dict[str, Any], ada: User, experiment: Experiment) -> None:
    config = {"method": "grpo", "grpo": {"extra": extra}}
    response = post(calls(ada), "runs", {"experiment": experiment.pk, "config": config})
    assert list(paths(response)) == ["grpo.extra"]
    check_nothing_created()


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
