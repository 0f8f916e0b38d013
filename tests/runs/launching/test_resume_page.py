"""Resuming from pages: who may, the announcement before it, and one attempt for two clicks."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from runs.models import Attempt, Origin
from tests.runs.checkpoint_files import save
from tests.runs.full_runs import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def queued(monkeypatch):
    """Collect the attempts that are sent to the queue."""
    sent = []
    monkeypatch.setattr("runs.enqueue.send", lambda name, pk: sent.append(pk))
    return sent


@pytest.fixture
def run(experiment, local, runs_dir):
    """Interrupted after it saved step 20."""
    run = make_run(experiment, state="interrupted")
    save(run, 20)
    return run


def page(client, run):
    return client.get(run.get_absolute_url()).content.decode()


def resume(client, run):
    return client.post(reverse("run-resume", args=[run.uid]), follow=True)


def test_resume_is_described_before_and_after(ada_client, run, queued, django_capture_on_commit_callbacks):
    assert "Resumes from step 20 of 60, as attempt 2." in page(ada_client, run)
    with django_capture_on_commit_callbacks(execute=True):
        text = resume(ada_client, run).content.decode()
    attempt = run.newest_attempt()
    assert (attempt.n, attempt.resumed_step, attempt.origin) == (2, 20, Origin.RESUME)
    assert queued == [attempt.pk]
    assert "es-tiny seed 0 resumes from step 20, as attempt 2." in text
    assert reverse("run-resume", args=[run.uid]) not in text
    assert "resumed by ada" in ada_client.get(reverse("run-log", args=[run.uid])).content.decode()


def test_without_a_checkpoint_it_starts_from_the_beginning(ada_client, experiment, local, runs_dir, queued):
    run = make_run(experiment, state="failed")
    assert "Starts from the beginning, as attempt 2, because there is no checkpoint." in page(ada_client, run)
    assert "starts from the beginning, as attempt 2." in resume(ada_client, run).content.decode()


def test_pressed_twice_it_is_one_attempt(ada_client, run, queued):
    resume(ada_client, run)
    assert "has not ended (created)" in resume(ada_client, run).content.decode()
    assert Attempt.objects.count() == 2


def test_a_run_at_its_last_step_offers_a_clone_instead(ada_client, experiment, local, queued):
    run = make_run(experiment, state="succeeded")
    text = page(ada_client, run)
    assert reverse("run-resume", args=[run.uid]) not in text
    assert f"{reverse('launch', args=[experiment.pk])}?clone={run.uid}" in text
    assert "has reached its last step; clone it" in resume(ada_client, run).content.decode()
    assert Attempt.objects.count() == 1


def test_a_colleague_may_look_but_not_resume(bo_client, run, queued):
    assert reverse("run-resume", args=[run.uid]) not in page(bo_client, run)
    assert resume(bo_client, run).status_code == 403
    assert Attempt.objects.count() == 1


def test_a_stranger_does_not_learn_that_it_exists(cy_client, private_experiment):
    assert resume(cy_client, make_run(private_experiment, state="failed")).status_code == 404


def test_looking_at_the_address_resumes_nothing(ada_client, run):
    assert ada_client.get(reverse("run-resume", args=[run.uid])).status_code == 405
    assert Attempt.objects.count() == 1


def plan_restart(run, seconds=3600):
    """Fail the run, with its second restart of three due then."""
    run.config["compute"] = {"cluster": "local", "restarts": 3}
    run.state = "failed"
    run.save()
    run.attempts.update(state="failed", reason="no memory", origin="restart")
    run.attempts.update(restart_at=timezone.now() + timedelta(seconds=seconds))


def test_planned_restart_is_displayed_with_its_time_and_can_be_cancelled(ada_client, run, queued):
    plan_restart(run)
    text = page(ada_client, run)
    countdown = re.search(r'<countdown-timer data-seconds="(\d+)">in [^<]+</countdown-timer>', text)
    assert countdown and 3000 < int(countdown[1]) <= 3600 and "restart 2 of 3" in text
    answer = ada_client.post(reverse("run-cancel", args=[run.uid]), follow=True)
    assert "will not restart automatically" in answer.content.decode()
    assert run.newest_attempt().restart_at is None
    assert "<countdown-timer" not in page(ada_client, run)


def test_page_announces_the_resume_after_a_stop_of_esweb(ada_client, run, queued):
    run.attempts.update(native_state="stopped", reason="esweb was stopped by SIGTERM", restart_at=timezone.now())
    text = " ".join(page(ada_client, run).split())
    assert "Resumes automatically:</strong> a stop of esweb had ended it." in text
    assert "esweb was stopped by SIGTERM" in text and "<countdown-timer" not in text


def test_planned_restart_can_be_replaced_by_a_resume(ada_client, run, queued):
    plan_restart(run)
    assert "Resume now" in page(ada_client, run)
    resume(ada_client, run)
    assert not run.attempts.filter(restart_at__isnull=False).exists()


def test_exhausted_restart_budget_is_reported(ada_client, run):
    plan_restart(run)
    run.config["compute"]["restarts"] = 1
    run.save()
    run.attempts.update(restart_at=None)
    assert "The run does not restart automatically: its one restart is used up." in page(ada_client, run)


def test_all_interrupted_runs_of_an_experiment_are_resumed_at_once(
    ada_client, experiment, local, runs_dir, queued, django_capture_on_commit_callbacks
):
    runs = [make_run(experiment, seed=seed, state="interrupted") for seed in range(3)]
    failed, restarting = make_run(experiment, state="failed"), make_run(experiment, state="interrupted")
    plan_restart(restarting)
    address = reverse("experiment-resume", args=[experiment.pk])
    assert "Resume 3 interrupted runs" in ada_client.get(experiment.get_absolute_url()).content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        text = ada_client.post(address, follow=True).content.decode()
    assert "Resumed 3 runs, each from its newest checkpoint." in text
    assert queued == [run.newest_attempt().pk for run in runs]
    assert "interrupted run" not in text
    assert {failed.attempts.count(), restarting.attempts.count()} == {1}
    assert "Resumed 0 runs" in ada_client.post(address, follow=True).content.decode()


def test_nobody_resumes_the_runs_of_others(bo_client, experiment, local, runs_dir):
    make_run(experiment, state="interrupted")
    address = reverse("experiment-resume", args=[experiment.pk])
    assert address not in bo_client.get(experiment.get_absolute_url()).content.decode()
    bo_client.post(address)
    assert Attempt.objects.count() == 1


def test_private_experiment_returns_404_for_others(cy_client, private_experiment):
    assert cy_client.post(reverse("experiment-resume", args=[private_experiment.pk])).status_code == 404


def test_older_run_is_resumed_if_its_config_is_valid(ada_client, run, queued):
    """Settings that were added later have their defaults."""
    del run.config["compute"]
    run.save()
    resume(ada_client, run)
    assert run.newest_attempt().n == 2
