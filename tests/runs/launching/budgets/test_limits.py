"""Limits: a launch beyond one is refused with a sentence that names limit, used and estimate, by form and by call."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from runs import launching
from runs.access import give_role
from runs.launching.budgets import set_limit, use_of
from runs.launching.sweeps import commands
from runs.launching.sweeps.commands import NewSweep
from runs.models import Attempt, Cluster, Experiment, Limit, Run, Sweep
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import make_run
from tests.runs.launching.budgets.test_hours import make_ended_run
from tests.runs.launching.test_launch_page import sent
from workers.config import ConfigError, RunConfig, preset
from workers.executors.states import State

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")


@pytest.fixture
def limit(ada: User, experiment: Experiment) -> Limit:
    """Give Ada ten CPU-hours in total; her two runs took two each, and a similar run is estimated to take as long."""
    for run in (make_ended_run(experiment, 2.0), make_ended_run(experiment, 2.0)):
        config = RunConfig.from_json({**preset("es-micro").config, "seed": run.seed}).to_json()
        Run.objects.filter(pk=run.pk).update(config=config)
    return set_limit(kind="cpu", period="all", hours=10.0, person=ada)


def one_more(experiment: Experiment) -> Run:
    config = preset("es-micro").config
    return launching.create_run(
        experiment=experiment, person=experiment.owner, config=RunConfig.from_json(config), preset="es-micro"
    )


def test_runs_are_launched_until_what_is_used_and_to_come_reaches_it(experiment: Experiment, limit: Limit) -> None:
    for n in range(1, 4):
        assert one_more(experiment).estimated_seconds == 7200
        use = use_of(limit)
        assert (use.used, use.promised, use.left) == (4.0, 2.0 * n, 6.0 - 2.0 * n)
    with pytest.raises(ConfigError) as error:
        one_more(experiment)
    assert str(error.value) == (
        "limit: ada has a limit of 10 CPU-hours in total. Used: 4; reserved for unfinished runs: 6; this launch: 2."
    )
    assert Run.objects.count() == 5


def test_used_hours_are_subtracted_from_the_expected(experiment: Experiment, limit: Limit) -> None:
    run = one_more(experiment)
    run.attempts.update(started_at=timezone.now() - timedelta(hours=1.5))
    use = use_of(limit)
    assert use.used == pytest.approx(5.5, rel=1e-3) and use.promised == pytest.approx(0.5, rel=1e-2)


def test_a_limit_of_an_experiment_holds_for_all_who_launch_there(ada: User, experiment: Experiment) -> None:
    set_limit(kind="cpu", period="all", hours=0.0, experiment=experiment)
    with pytest.raises(ConfigError, match="The experiment has a limit of 0 CPU-hours in total"):
        one_more(experiment)
    assert launching.create_run(
        experiment=Experiment.objects.create(name="Other", owner=ada),
        person=ada,
        config=RunConfig.from_json(preset("es-micro").config),
    )


def test_hours_of_gpus_limit_no_run_without_one(ada: User, experiment: Experiment) -> None:
    Cluster.objects.filter(name="local").update(config={"gpus": ["0"]})
    set_limit(kind="gpu", period="all", hours=0.0, person=ada)
    assert one_more(experiment)
    config = {**preset("es-micro").config, "compute": {"gpus": 1}}
    with pytest.raises(ConfigError, match="runs without an estimate"):
        launching.create_run(experiment=experiment, person=ada, config=RunConfig.from_json(config))


def test_share_of_past_runs_counts_for_a_run_with_auto(ada: User, experiment: Experiment) -> None:
    Cluster.objects.filter(name="local").update(config={"gpus": ["0"]})
    config = RunConfig.from_json({**preset("es-micro").config, "compute": {"gpus": "auto"}})
    past = make_ended_run(experiment, 2.0, gpus="auto")
    Run.objects.filter(pk=past.pk).update(config=config.to_json())
    limit = set_limit(kind="gpu", period="all", hours=3.0, person=ada)
    launch = partial(launching.create_run, experiment=experiment, person=ada, config=config)
    # What took two hours of a whole GPU may do so once more only if it had a share.
    with pytest.raises(ConfigError, match=r"Used: 2; reserved for unfinished runs: 0; this launch: 2\."):
        launch()
    past.attempts.update(gpu_share=0.25)
    run = launch()
    # Its own share is not planned yet.
    assert (use_of(limit).used, use_of(limit).promised) == (0.5, 2.0)
    run.attempts.update(gpu_share=0.5)
    assert use_of(limit).promised == 1.0


def test_monthly_limit_starts_again_each_month(ada: User, experiment: Experiment) -> None:
    make_ended_run(experiment, 50.0, ended=timezone.now() - timedelta(days=70))
    assert use_of(set_limit(kind="cpu", period="month", hours=1.0, person=ada)).used == 0.0
    assert use_of(set_limit(kind="cpu", period="all", hours=1.0, person=ada)).used == 50.0


def test_sweep_beyond_the_limit_creates_nothing(experiment: Experiment, limit: Limit) -> None:
    new_sweep = NewSweep(
        base=preset("es-micro").config, grid={"evaluation.temperature": [0.5, 1.0]}, seeds=[0, 1], preset="es-micro"
    )
    with pytest.raises(ConfigError, match="this launch: 8"):
        commands.launch_sweep(new_sweep, experiment, experiment.owner)
    assert not Sweep.objects.exists() and Run.objects.count() == 2
    assert commands.launch_sweep(NewSweep(**{**vars(new_sweep), "seeds": [0]}), experiment, experiment.owner)


def test_form_and_api_report_the_limit_alike(
    ada: User, ada_client: Client, experiment: Experiment, limit: Limit
) -> None:
    set_limit(kind="cpu", period="all", hours=1.0, person=ada)
    message = "ada has a limit of 1 CPU-hours in total. Used: 4;"
    for route in ("launch", "launch-check"):
        assert message in ada_client.post(reverse(route, args=[experiment.pk]), sent()).content.decode()
    body = {"experiment": experiment.pk, "preset": "es-micro"}
    answer = calls(ada).post("/api/v1/runs", body, content_type="application/json")
    assert answer.status_code == 422 and paths(answer)["limit"].startswith(message)
    for address in ("sweeps", "sweeps/plan"):
        swept = {**body, "grid": {"es.sigma": [0.1]}}
        answer = calls(ada).post(f"/api/v1/{address}", swept, content_type="application/json")
        assert paths(answer)["limit"].startswith(message)
    assert Run.objects.count() == 2


def test_only_admins_set_and_remove_limits(ada: User, bo: User, ada_client: Client, experiment: Experiment) -> None:
    fields = {"person": "bo", "kind": "gpu", "hours": "5", "period": "month", "experiment": ""}
    assert ada_client.post(reverse("limit-set"), fields).status_code == 403
    refused = calls(ada, "admin").post(
        "/api/v1/limits", {"person": "bo", "kind": "gpu", "hours": 5}, content_type="application/json"
    )
    assert refused.status_code == 403 and not Limit.objects.exists()
    give_role(ada, "admin")
    for hours in ("5", "6"):
        ada_client.post(reverse("limit-set"), fields | {"hours": hours})
    assert Limit.objects.get().hours == 6.0
    page = ada_client.get(reverse("costs")).content.decode()
    assert "6 GPU-hours per month" in page and "Remove" in page
    for wrong, message in (
        ({"person": "nobody"}, "Unknown user"), ({"person": ""}, "Name either a user"),
        ({"hours": "-1"}, "greater than or equal to 0"), ({"experiment": "99999"}, "There is no experiment 99999"),
        ({"hours": "inf"}, "Enter a number"),
    ):  # fmt: skip
        answer = ada_client.post(reverse("limit-set"), fields | wrong)
        assert answer.status_code == 400 and message in answer.content.decode(), wrong
    script = calls(ada, "admin")
    created = script.post(
        "/api/v1/limits", {"experiment": experiment.pk, "kind": "cpu", "hours": 2}, content_type="application/json"
    ).json()
    assert (created["experiment"], created["period"], created["left"]) == (experiment.pk, "month", 2.0)
    assert [limit["id"] for limit in calls(bo, "read").get("/api/v1/limits").json()["items"]] == [
        Limit.objects.get(person=bo).pk, created["id"],
    ]  # fmt: skip
    assert script.delete(f"/api/v1/limits/{created['id']}").status_code == 204
    ada_client.post(reverse("limit-remove", args=[Limit.objects.get().pk]))
    assert not Limit.objects.exists()


def test_costs_are_of_runs_that_one_may_see(
    ada: User, ada_client: Client, bo_client: Client, private_experiment: Experiment, experiment: Experiment
) -> None:
    make_ended_run(private_experiment, 3.0, ended=timezone.now())
    make_ended_run(experiment, 1.0, ended=timezone.now())
    for client, hours in ((ada_client, "4"), (bo_client, "1")):
        page = client.get(reverse("costs"), {"since": "all", "by": "experiment"}).content.decode()
        page = " ".join(page.split()).replace("> <", "><")
        assert f'<th scope="row">Total</th><td class="number">0</td><td class="number">{hours}</td>' in page
        assert ("Secret" in page) == (client is ada_client)
    costs = calls(ada, "read").get("/api/v1/costs?by=cluster&since=all").json()
    assert (costs["total"]["cpu"], [row["name"] for row in costs["items"]]) == (pytest.approx(4.0), ["local"])


def test_the_page_asks_as_often_for_many_runs_as_for_few(
    ada_client: Client, experiment: Experiment, local: Cluster, django_assert_max_num_queries
) -> None:
    for n in range(20):
        make_run(experiment, "es-micro", n)
    with django_assert_max_num_queries(10):
        assert ada_client.get(reverse("costs")).status_code == 200


def make_ended_attempt(experiment: Experiment, state: State) -> Attempt:
    """Return the attempt of a restartable run that has ended in this state after an hour and a half of two."""
    config = {**preset("es-micro").config, "compute": {"restarts": 1}}
    run = launching.create_run(
        experiment=experiment, person=experiment.owner, config=RunConfig.from_json(config), preset="es-micro"
    )
    attempt = run.attempts.get()
    began = timezone.now() - timedelta(hours=1.5)
    launching.transition(attempt, state, "the end", started_at=began)
    return attempt


def test_resume_beyond_the_limit_is_refused(experiment: Experiment, limit: Limit, ada: User) -> None:
    run = make_ended_attempt(experiment, State.CANCELLED).run
    set_limit(kind="cpu", period="all", hours=5.9, person=ada)
    with pytest.raises(launching.CannotResume) as refused:
        launching.create_resume_attempt(run, ada)
    assert str(refused.value) == (
        "ada has a limit of 5.9 CPU-hours in total. Used: 5.5; reserved for unfinished runs: 0; this launch: 0.5"
    )
    assert run.attempts.count() == 1
    set_limit(kind="cpu", period="all", hours=6.1, person=ada)
    assert launching.create_resume_attempt(run, ada).n == 2


def test_restart_beyond_the_limit_is_refused_and_reported(
    experiment: Experiment, limit: Limit, ada: User, local: Cluster
) -> None:
    attempt = make_ended_attempt(experiment, State.FAILED)
    launching.plan_restart(attempt)
    set_limit(kind="cpu", period="all", hours=5.0, person=ada)
    Attempt.objects.filter(pk=attempt.pk).update(restart_at=timezone.now())
    assert launching.create_due_restarts(local) == [] and attempt.run.attempts.count() == 1
    reason = attempt.events.latest("pk").why
    assert reason.startswith("not restarted automatically: limit: ada has a limit of 5 CPU-hours in total.")
    assert launching.create_due_restarts(local) == []


def test_the_undo_of_a_cancel_beyond_it_is_refused_as_a_whole(
    ada_client: Client, experiment: Experiment, limit: Limit, ada: User
) -> None:
    new = NewSweep(preset("es-micro").config, [0, 1], grid={"es.sigma": [0.01]}, preset="es-micro")
    sweep = commands.launch_sweep(new, experiment, ada)
    commands.cancel_sweep(sweep, ada)
    set_limit(kind="cpu", period="all", hours=5.0, person=ada)
    page = ada_client.post(reverse("sweep-change", args=[sweep.pk]), {"do": "uncancel"}, follow=True)
    assert "ada has a limit of 5 CPU-hours in total" in page.content.decode()
    assert calls(ada, "launch").post(f"/api/v1/sweeps/{sweep.pk}/uncancel").status_code == 409
    assert not Attempt.objects.open().filter(run__sweep=sweep).exists()
