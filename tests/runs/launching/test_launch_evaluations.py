"""Launch runs of method evaluate: which runs they may name, what their attempts get, and how they are named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from runs import launching
from runs.launching.config_form import LaunchForm, config_from_fields, initial_from
from runs.launching.resources import by_hand_problems
from runs.launching.run_names import default_run_name
from runs.launching.submit import spec_of
from runs.models import Cluster, Experiment, Run
from tests.cases import each_case
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import make_run
from workers.config import RunConfig
from workers.config.resources import RUN_CHECKPOINT, RUN_FOLDERS
from workers.executors.states import State

pytestmark = pytest.mark.django_db


def started_run(experiment: Experiment, preset: str = "es-micro", method: str = "") -> Run:
    """Create a run with an attempt that started on this machine."""
    run = make_run(experiment, preset)
    run.attempts.update(started_at=timezone.now())
    if method:
        Run.objects.filter(pk=run.pk).update(method=method)
    return run


def evaluation_of(run: Run, **evaluate: Any) -> dict[str, Any]:
    return {"method": "evaluate", "evaluate": {"run": f"run:{run.uid}", **evaluate}, "model": {"path": "micro"}}


def launch(person: User, experiment: Experiment, config: dict[str, Any]) -> Any:
    body = {"experiment": experiment.pk, "config": config}
    return calls(person).post("/api/v1/runs", body, content_type="application/json")


def own_experiment(person: User, *, is_private: bool = False) -> Experiment:
    return Experiment.objects.create(name=f"of {person}", owner=person, is_private=is_private)


@pytest.mark.parametrize("preset", ["es-micro", "grpo-tiny"])
def test_api_launches_an_evaluation_of_a_training(
    ada: User, experiment: Experiment, local: Cluster, preset: str
) -> None:
    parent = started_run(experiment, preset)
    response = launch(ada, experiment, evaluation_of(parent, steps="0, 5"))
    assert response.status_code == 201, response.content
    run = Run.objects.get(uid=response.json()["uid"])
    assert (run.method, run.parent, run.parent_step) == ("evaluate", parent, None)
    assert run.name == f"evaluate {parent.name}" and run.config["evaluate"]["steps"] == "0, 5"
    assert response.json()["parent"] == parent.uid and run.state == State.CREATED.value


def test_section_may_be_omitted_for_a_model_alone(ada: User, experiment: Experiment, local: Cluster) -> None:
    response = launch(ada, experiment, {"method": "evaluate", "model": {"path": "micro"}})
    run = Run.objects.get(uid=response.json()["uid"])
    assert (run.name, run.parent, run.config["evaluate"]["points"]) == ("evaluate micro", None, 20)


def test_strangers_run_is_refused_like_a_missing_one(bo: User, ada: User, local: Cluster) -> None:
    hidden = started_run(own_experiment(ada, is_private=True))
    own = own_experiment(bo)
    missing = f"run:{'2' * 10}"
    replies = {
        name: paths(launch(bo, own, {"method": "evaluate", "evaluate": {"run": name}}))
        for name in (f"run:{hidden.uid}", missing)
    }
    texts = {path: message.replace(hidden.uid, "2" * 10) for path, message in replies[f"run:{hidden.uid}"].items()}
    assert texts == replies[missing] == {"evaluate.run": f"names {missing}, but you see no such run"}
    assert not own.runs.exists()


@each_case("method", ["scorer", "evaluate", "unknown"])
def test_run_that_does_not_train_is_refused(ada: User, experiment: Experiment, local: Cluster, method: str) -> None:
    parent = started_run(experiment, method=method)
    message = paths(launch(ada, experiment, evaluation_of(parent)))["evaluate.run"]
    assert f"has method {method}" in message and "es or grpo" in message


def test_path_is_refused_and_the_form_named(ada: User, experiment: Experiment, local: Cluster) -> None:
    parent = started_run(experiment)
    for path in (str(parent.root), "../runs", parent.uid, f"run:{parent.uid}@5"):
        reply = launch(ada, experiment, {"method": "evaluate", "evaluate": {"run": path}})
        assert paths(reply)["evaluate.run"].startswith("must be run:<uid>, the uid of a run of method es or grpo"), path
    assert (
        f"this one may be run:{parent.uid}"
        in paths(launch(ada, experiment, {"method": "evaluate", "evaluate": {"run": str(parent.root)}}))["evaluate.run"]
    )


def test_run_that_has_not_started_is_refused(ada: User, experiment: Experiment, local: Cluster) -> None:
    message = paths(launch(ada, experiment, evaluation_of(make_run(experiment))))["evaluate.run"]
    assert "no attempt of that run has started" in message


def test_run_on_the_disk_of_another_cluster_is_refused(ada: User, experiment: Experiment, local: Cluster) -> None:
    remote = Cluster.objects.create(
        name="far", kind="slurm", config={"address": "far.example", "folder": "/home/esweb", "host_key": "k"}
    )
    assert remote.is_remote
    parent = started_run(experiment)
    parent.attempts.update(cluster=remote)
    message = paths(launch(ada, experiment, evaluation_of(parent)))["evaluate.run"]
    assert message == f"names run:{parent.uid}, which is on the disk of far; local cannot read it"


def test_scorer_token_of_a_prior_task_is_refused(ada: User, experiment: Experiment, local: Cluster) -> None:
    task = {"name": "safety", "options": {"scorer": "embedded", "scorer_token_file": "/etc/passwd"}}
    config = evaluation_of(started_run(experiment), prior_tasks=[task])
    assert list(paths(launch(ada, experiment, config))) == ["evaluate.prior_tasks.0.options.scorer_token_file"]
    assert [p.path for p in by_hand_problems(config)] == ["evaluate.prior_tasks.0.options.scorer_token_file"]


def test_attempt_gets_the_folder_of_the_parents_attempts(
    ada: User, experiment: Experiment, local: Cluster, settings: Settings, tmp_path: Any
) -> None:
    settings.RUNS_DIR = tmp_path
    parent = started_run(experiment)
    run = launching.create_run(experiment=experiment, person=ada, config=RunConfig.from_json(evaluation_of(parent)))
    attempt = run.newest_attempt()
    assert attempt is not None
    env = spec_of(attempt).env
    assert (attempt.directory / env[RUN_FOLDERS]).resolve() == parent.root.resolve()
    assert not env[RUN_FOLDERS].startswith("/") and RUN_CHECKPOINT not in env
    other = launching.create_run(
        experiment=experiment, person=ada, config=RunConfig.from_json({"method": "evaluate", "evaluate": {}})
    )
    other_attempt = other.newest_attempt()
    assert other_attempt is not None and RUN_FOLDERS not in spec_of(other_attempt).env


def test_checkpoint_of_a_run_makes_it_the_parent_with_its_step(
    ada: User, experiment: Experiment, local: Cluster, settings: Settings, tmp_path: Any
) -> None:
    settings.RUNS_DIR = tmp_path
    parent = started_run(experiment)
    attempt = parent.newest_attempt()
    assert attempt is not None
    folder = attempt.directory / "checkpoints" / "step-000005"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"1")
    (folder / "es-state.json").write_text("{}")
    config = {"method": "evaluate", "model": {"path": f"run:{parent.uid}@5"}}
    run = launching.create_run(experiment=experiment, person=ada, config=RunConfig.from_json(config))
    assert (run.parent, run.parent_step) == (parent, 5)
    training = {**config, "method": "es", "es": {}}
    assert launching.create_run(experiment=experiment, person=ada, config=RunConfig.from_json(training)).parent is None


def test_parent_in_the_trash_keeps_the_evaluation(ada: User, experiment: Experiment, local: Cluster) -> None:
    parent = started_run(experiment)
    run = launching.create_run(experiment=experiment, person=ada, config=RunConfig.from_json(evaluation_of(parent)))
    Run.objects.filter(pk=parent.pk).update(deleted_at=timezone.now())
    assert calls(ada).get(f"/api/v1/runs/{run.uid}").json()["parent"] is None
    Run.objects.get(pk=parent.pk).delete()
    run.refresh_from_db()
    assert run.parent is None and run.state == State.CREATED.value


def test_parent_is_named_only_to_readers_who_see_it(ada: User, bo: User, local: Cluster) -> None:
    parent = started_run(own_experiment(ada, is_private=True))
    public = own_experiment(ada)
    run = launching.create_run(experiment=public, person=ada, config=RunConfig.from_json(evaluation_of(parent)))
    assert run.name == "evaluate a run" and run.parent == parent
    listed = {
        person.username: [
            calls(person).get(f"/api/v1/runs/{run.uid}").json()["parent"],
            *(item["parent"] for item in calls(person).get("/api/v1/runs?method=evaluate").json()["items"]),
        ]
        for person in (ada, bo)
    }
    assert listed == {"ada": [parent.uid, parent.uid], "bo": [None, None]}


def test_evaluation_that_ended_early_starts_again_without_a_checkpoint(
    ada: User, experiment: Experiment, local: Cluster
) -> None:
    run = launching.create_run(
        experiment=experiment, person=ada, config=RunConfig.from_json(evaluation_of(started_run(experiment)))
    )
    run.attempts.update(state=State.FAILED.value)
    Run.objects.filter(pk=run.pk).update(state=State.FAILED.value)
    reply = calls(ada).post(f"/api/v1/runs/{run.uid}/resume", content_type="application/json")
    assert reply.status_code == 202 and [a["n"] for a in reply.json()["attempts"]] == [1, 2]
    newest = run.newest_attempt()
    assert newest is not None and newest.resumed_step is None
    assert "continues with the steps that are not evaluated yet" in newest.events.get().why


def test_form_makes_the_config_that_it_was_filled_from() -> None:
    config = RunConfig.from_json({
        "method": "evaluate", "model": {"path": "micro"},
        "evaluate": {"run": "run:abcdefghjk", "steps": "0, 50", "prior_tasks": [{"name": "countdown"}]},
    }).to_json()  # fmt: skip
    filled = {name: value for name, value in initial_from(config).items() if value not in (None, False)}
    form = LaunchForm({**filled, "seeds": "0", "preset": ""})
    assert form.is_valid(), form.errors
    assert [made.to_json() for made in form.configs] == [config]
    assert form.names("es-tiny seed 0") == ["evaluate es-tiny seed 0"]
    assert config_from_fields({"method": "evaluate"}) == {"method": "evaluate", "evaluate": {}}


def test_form_reports_a_problem_of_a_prior_task_at_its_field() -> None:
    tasks = json.dumps(2 * [{"name": "countdown"}])
    form = LaunchForm({"method": "evaluate", "seeds": "0", "preset": "", "evaluate.prior_tasks": tasks})
    assert not form.is_valid() and "repeats countdown" in str(form.errors["evaluate.prior_tasks"])


def test_launch_page_is_filled_for_the_evaluation_of_a_run(ada_client: Client, experiment: Experiment) -> None:
    parent = started_run(experiment)
    page = ada_client.get(reverse("launch", args=[experiment.pk]), {"evaluate": parent.uid})
    initial = page.context["form"].initial
    assert {name: initial[name] for name in ("method", "evaluate.run", "model.path", "task.name", "preset")} == {
        "method": "evaluate", "evaluate.run": f"run:{parent.uid}", "model.path": "micro",
        "task.name": parent.config["task"]["name"], "preset": "",
    }  # fmt: skip
    assert "Evaluation of a model or a run, no training" in page.content.decode()


def test_launch_page_hides_a_strangers_run(bo_client: Client, bo: User, ada: User, local: Cluster) -> None:
    hidden = started_run(own_experiment(ada, is_private=True))
    address = reverse("launch", args=[own_experiment(bo).pk])
    assert bo_client.get(address, {"evaluate": hidden.uid}).status_code == 404


@each_case(
    ("config", "evaluated", "name"),
    [
        ({"model": {"path": "Qwen/Qwen2.5-1.5B"}}, "", "evaluate Qwen2.5-1.5B"),
        ({"evaluate": {"run": "run:abcdefghjk"}}, "es-tiny seed 0", "evaluate es-tiny seed 0"),
        ({"evaluate": {"run": "run:abcdefghjk"}, "seed": 3}, "", "evaluate a run, seed 3"),
    ],
)
def test_default_name_states_what_is_evaluated(config: dict[str, Any], evaluated: str, name: str) -> None:
    assert default_run_name(RunConfig.from_json({"method": "evaluate", **config}), "", evaluated) == name
