"""Launch runs of method probe: which runs they may name, what their attempts get, and how they are named."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from runs import launching
from runs.kinds import EXAMINATIONS, PROBE
from runs.launching.config_form import LaunchForm, config_from_fields, initial_from
from runs.launching.run_names import default_run_name
from runs.launching.submit import spec_of
from runs.models import Cluster, Experiment, Population, Run
from tests.cases import each_case
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import make_run
from tests.runs.launching.test_launch_evaluations import launch, own_experiment, started_run
from workers.config import RunConfig
from workers.config.resources import RUN_CHECKPOINT, RUN_FOLDERS
from workers.executors.states import State

pytestmark = pytest.mark.django_db


def probe_of(*names: str, **probe: Any) -> dict[str, Any]:
    return {"method": "probe", "probe": {"runs": list(names), **probe}, "model": {"path": "micro"}}


def end_at(run: Run, step: int) -> None:
    """Let the run end after it has recorded this step."""
    attempt = run.newest_attempt()
    Population.objects.create(run=run, attempt=attempt, epoch=0, seq=0, step=step, members=[])
    Run.objects.filter(pk=run.pk).update(state=State.SUCCEEDED.value)


def refusal(person: User, experiment: Experiment, *names: str) -> str:
    return str(paths(launch(person, experiment, probe_of(*names)))["probe.runs"])


def test_api_launches_a_probe_of_several_trainings(ada: User, experiment: Experiment, local: Cluster) -> None:
    first, second = started_run(experiment), started_run(experiment, "grpo-tiny")
    end_at(first, 5)
    names = [f"run:{first.uid}@5", f"run:{second.uid}", f"run:{first.uid}@2"]
    response = launch(ada, experiment, probe_of(*names, probes=["cosine", "overlap"]))
    assert response.status_code == 201, response.content
    run = Run.objects.get(uid=response.json()["uid"])
    assert (run.method, run.parent, run.parent_step, run.kind) == ("probe", first, 5, PROBE)
    assert run.config["probe"]["runs"] == names and run.config["probe"]["probes"] == ["cosine", "overlap"]
    assert (run.name, response.json()["parent"]) == (f"probe {first.name} +2", first.uid)
    assert [item["uid"] for item in calls(ada).get("/api/v1/runs?method=probe").json()["items"]] == [run.uid]


def test_section_may_be_omitted_for_a_model_alone(ada: User, experiment: Experiment, local: Cluster) -> None:
    response = launch(ada, experiment, {"method": "probe", "model": {"path": "micro"}})
    run = Run.objects.get(uid=response.json()["uid"])
    assert (run.name, run.parent, run.parent_step, run.config["probe"]["draws"]) == ("probe micro", None, None, 8)


def test_attempt_gets_the_folders_of_all_runs_that_it_examines(
    ada: User, experiment: Experiment, local: Cluster, settings: Settings, tmp_path: Path
) -> None:
    settings.RUNS_DIR = tmp_path
    first, second = started_run(experiment), started_run(experiment, "grpo-tiny")
    names = (f"run:{first.uid}@1", f"run:{second.uid}", f"run:{first.uid}")
    attempt = launching.create_run(
        experiment=experiment, person=ada, config=RunConfig.from_json(probe_of(*names))
    ).newest_attempt()
    assert attempt is not None
    env = spec_of(attempt).env
    folders = env[RUN_FOLDERS].split(os.pathsep)
    assert [Path(folder).name for folder in folders] == [first.uid, second.uid]
    assert [(attempt.directory / folder).resolve() for folder in folders] == [first.root, second.root]
    assert not any(folder.startswith("/") for folder in folders) and RUN_CHECKPOINT not in env


def test_checkpoint_as_model_is_the_parent_with_its_step(
    ada: User, experiment: Experiment, local: Cluster, settings: Settings, tmp_path: Path
) -> None:
    settings.RUNS_DIR = tmp_path
    parent = started_run(experiment)
    attempt = parent.newest_attempt()
    assert attempt is not None
    folder = attempt.directory / "checkpoints" / "step-000005"
    folder.mkdir(parents=True)
    for name in ("config.json", "es-state.json", "model.safetensors"):
        (folder / name).write_text("{}")
    config = {"method": "probe", "model": {"path": f"run:{parent.uid}@5"}}
    run = launching.create_run(experiment=experiment, person=ada, config=RunConfig.from_json(config))
    assert (run.parent, run.parent_step, run.name) == (parent, 5, f"probe {parent.name}")


def test_strangers_run_is_refused_like_a_missing_one(bo: User, ada: User, local: Cluster) -> None:
    hidden, own = started_run(own_experiment(ada, is_private=True)), own_experiment(bo)
    for step in ("", "@3"):
        missing = f"run:{'2' * 10}{step}"
        reply = refusal(bo, own, f"run:{hidden.uid}{step}").replace(hidden.uid, "2" * 10)
        assert reply == refusal(bo, own, missing) == f"names {missing}, but you see no such run"
    assert not own.runs.exists()


def test_every_run_that_may_not_be_examined_is_named(ada: User, experiment: Experiment, local: Cluster) -> None:
    good, waiting = started_run(experiment), make_run(experiment)
    probe = started_run(experiment, method="probe")
    message = refusal(ada, experiment, f"run:{good.uid}", f"run:{probe.uid}@3", f"run:{waiting.uid}")
    assert message == (
        f"names run:{probe.uid}@3, which has method probe; it must be a run of method es or grpo; names "
        f"run:{waiting.uid}, but no attempt of that run has started on a cluster of this site"
    )


def test_step_after_the_end_of_a_run_is_refused(ada: User, experiment: Experiment, local: Cluster) -> None:
    run = started_run(experiment)
    assert launch(ada, experiment, probe_of(f"run:{run.uid}@900")).status_code == 201, "an open run may come so far"
    end_at(run, 40)
    assert launch(ada, experiment, probe_of(f"run:{run.uid}@40")).status_code == 201
    assert (
        refusal(ada, experiment, f"run:{run.uid}@41") == f"names run:{run.uid}@41, but the last step of that run is 40"
    )


def test_path_is_refused_and_the_form_named(ada: User, experiment: Experiment, local: Cluster) -> None:
    run = started_run(experiment)
    for path in (str(run.root), "../runs", run.uid, f"run:{run.uid}@", f"run:{run.uid}@-1", f"run:{run.uid}@05", ""):
        assert refusal(ada, experiment, path).startswith("must be run:<uid> or run:<uid>@<step>"), path
    assert refusal(ada, experiment, f"{run.root}@5").endswith(f"; this one may be run:{run.uid}@5")
    assert refusal(ada, experiment, f"{run.root}/").endswith(f"; this one may be run:{run.uid}")


def test_run_on_the_disk_of_another_cluster_is_refused(ada: User, experiment: Experiment, local: Cluster) -> None:
    remote = Cluster.objects.create(
        name="far", kind="slurm", config={"address": "far.example", "folder": "/home/esweb", "host_key": "k"}
    )
    run = started_run(experiment)
    run.attempts.update(cluster=remote)
    name = f"run:{run.uid}@5"
    assert refusal(ada, experiment, name) == f"names {name}, which is on the disk of far; local cannot read it"


def test_runs_are_named_only_to_readers_who_see_them(ada: User, bo: User, local: Cluster) -> None:
    parent = started_run(own_experiment(ada, is_private=True))
    config = probe_of(f"run:{parent.uid}")
    run = launching.create_run(experiment=own_experiment(ada), person=ada, config=RunConfig.from_json(config))
    assert (run.name, run.parent) == ("probe a run", parent)
    assert calls(bo).get(f"/api/v1/runs/{run.uid}").json()["parent"] is None


def test_probe_that_ended_early_continues_with_the_next_attempt(
    ada: User, ada_client: Client, experiment: Experiment, local: Cluster
) -> None:
    config = probe_of(f"run:{started_run(experiment).uid}")
    run = launching.create_run(experiment=experiment, person=ada, config=RunConfig.from_json(config))
    run.attempts.update(state=State.FAILED.value)
    Run.objects.filter(pk=run.pk).update(state=State.FAILED.value)
    sentence = "the probes that are not complete yet, as attempt 2."
    assert sentence in " ".join(ada_client.get(run.get_absolute_url()).content.decode().split())
    page = ada_client.post(reverse("run-resume", args=[run.uid]), follow=True)
    assert sentence in " ".join(page.content.decode().split())
    newest = run.newest_attempt()
    assert newest is not None and (newest.n, newest.resumed_step) == (2, None)
    assert "continues with the probes that are not complete yet" in newest.events.get().why


def test_finished_probe_is_not_resumed(ada: User, experiment: Experiment, local: Cluster) -> None:
    run = launching.create_run(experiment=experiment, person=ada, config=RunConfig.from_json(probe_of()))
    Run.objects.filter(pk=run.pk).update(state=State.SUCCEEDED.value)
    run.attempts.update(state=State.SUCCEEDED.value)
    reply = calls(ada).post(f"/api/v1/runs/{run.uid}/resume", content_type="application/json")
    assert reply.status_code == 409 and "has completed all of its probes" in reply.content.decode()


def test_form_makes_the_config_that_it_was_filled_from() -> None:
    runs = ["run:abcdefghjk@50", "run:mnpqrstuvw"]
    config = RunConfig.from_json(probe_of(*runs, sigmas="0.01, 0.1", groups=["mlp"], base="tiny")).to_json()
    filled = {name: value for name, value in initial_from(config).items() if value not in (None, False)}
    assert filled["probe.runs"] == json.dumps(runs)
    form = LaunchForm({**filled, "seeds": "0", "preset": ""})
    assert form.is_valid(), form.errors
    assert [made.to_json() for made in form.configs] == [config]
    assert form.names("es-tiny seed 0") == ["probe es-tiny seed 0 +1"]
    assert config_from_fields({"method": "probe"}) == {"method": "probe", "probe": {}}


@each_case(
    ("field", "value", "message"),
    [
        ("probe.runs", "run:abcdefghjk", "must be a list of text, not 'run:abcdefghjk'"),
        ("probe.probes", '["magic"]', "names 'magic'; the choices are magnitude, spectrum"),
        ("probe.sigmas", "a lot", "numbers separated by commas"),
        ("probe.draws", "1", "must be at least 2"),
    ],
)
def test_form_reports_a_problem_at_its_field(field: str, value: str, message: str) -> None:
    form = LaunchForm({"method": "probe", "seeds": "0", "preset": "", field: value})
    assert not form.is_valid() and list(form.errors) == [field]
    assert any(message in error for error in form.errors[field]), form.errors[field]


def test_launch_page_is_filled_for_the_probe_of_runs(ada_client: Client, experiment: Experiment) -> None:
    first, second = started_run(experiment), started_run(experiment, "grpo-tiny")
    first.config["evaluation"]["prompts"] = 7
    first.config["model"] |= {"dtype": "float32", "device": "cpu"}
    first.save()
    page = ada_client.get(reverse("launch", args=[experiment.pk]), {"probe": [first.uid, second.uid, first.uid]})
    initial = page.context["form"].initial
    expected = {
        "method": "probe", "probe.runs": json.dumps([f"run:{first.uid}", f"run:{second.uid}"]), "model.path": "micro",
        "model.dtype": "float32", "model.device": "cpu", "task.name": first.config["task"]["name"],
        "evaluation.prompts": 7, "preset": "",
    }  # fmt: skip
    assert {name: initial[name] for name in expected} == expected
    assert "Examination of the weights of a model or of runs, no training" in page.content.decode()
    sent = {name: value for name, value in initial.items() if value not in (None, False)}
    launched = ada_client.post(reverse("launch", args=[experiment.pk]), sent)
    run = Run.objects.get(method="probe")
    assert launched.status_code == 302 and launched["Location"] == run.get_absolute_url()
    assert (run.name, run.parent) == (f"probe {first.name} +1", first)


def test_launch_page_reports_more_runs_than_one_probe_examines(ada_client: Client, experiment: Experiment) -> None:
    runs = [started_run(experiment) for _ in range(10)]
    address = reverse("launch", args=[experiment.pk])
    initial = ada_client.get(address, {"probe": [run.uid for run in runs]}).context["form"].initial
    sent = {name: value for name, value in initial.items() if value not in (None, False)}
    reply = ada_client.post(reverse("launch-check", args=[experiment.pk]), sent)
    assert "names 9 runs; at most 8 can be examined together" in reply.content.decode()


def test_launch_page_hides_a_strangers_run(bo_client: Client, bo: User, ada: User, local: Cluster) -> None:
    hidden, own = started_run(own_experiment(ada, is_private=True)), started_run(own_experiment(bo))
    address = reverse("launch", args=[own.experiment_id])
    assert bo_client.get(address, {"probe": [own.uid, hidden.uid]}).status_code == 404


def test_run_page_of_a_training_offers_a_probe(ada_client: Client, ada: User, experiment: Experiment) -> None:
    training = started_run(experiment)
    link = f'{reverse("launch", args=[experiment.pk])}?probe={training.uid}"'
    assert link in ada_client.get(training.get_absolute_url()).content.decode()
    run = launching.create_run(
        experiment=experiment, person=ada, config=RunConfig.from_json(probe_of(f"run:{training.uid}"))
    )
    text = ada_client.get(run.get_absolute_url()).content.decode()
    assert "?probe=" not in text and "?evaluate=" not in text, "a probe cannot be examined"
    assert "Probe of" in text and training.get_absolute_url() in text


@each_case(
    ("config", "parent", "name"),
    [
        ({"model": {"path": "Qwen/Qwen2.5-1.5B"}}, "", "probe Qwen2.5-1.5B"),
        ({"probe": {"runs": ["run:abcdefghjk@5"]}}, "es-tiny seed 0", "probe es-tiny seed 0"),
        ({"probe": {"runs": ["run:abcdefghjk", "run:mnpqrstuvw"]}, "seed": 3}, "", "probe a run +1, seed 3"),
        ({"probe": {"runs": ["run:abcdefghjk", "run:mnpqrstuvw"]}}, "a" * 200, f"probe {'a' * 191} +1"),
    ],
)
def test_default_name_states_what_is_examined(config: dict[str, Any], parent: str, name: str) -> None:
    assert default_run_name(RunConfig.from_json({"method": "probe", **config}), "", parent) == name


def test_form_copies_settings_of_one_section_and_the_examined_runs_stay(
    ada_client: Client, experiment: Experiment, local: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = started_run(experiment)
    samples, prompts = run.config["evaluation"]["samples"] + 3, run.config["evaluation"]["prompts"] + 5
    Run.objects.filter(pk=run.pk).update(
        config={**run.config, "evaluation": {**run.config["evaluation"], "samples": samples, "prompts": prompts}}
    )
    copying = replace(EXAMINATIONS[1], copies=("evaluation.samples", "evaluation.prompts"))
    monkeypatch.setattr("runs.launching.launch_page.EXAMINATIONS", (copying,))
    initial = ada_client.get(reverse("launch", args=[experiment.pk]), {"probe": run.uid}).context["form"].initial
    assert (initial["evaluation.samples"], initial["evaluation.prompts"]) == (samples, prompts)
    assert run.uid in str(initial["probe.runs"])
