import pytest
from django.urls import reverse

from tests.runs.full_runs import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def queued(monkeypatch):
    """Attempts that were handed to the queue."""
    handed = []
    monkeypatch.setattr("runs.enqueue.send", lambda name, pk: handed.append(pk))
    return handed


def test_who_owns_a_run_may_end_it(ada_client, experiment, queued, django_capture_on_commit_callbacks):
    run = make_run(experiment)
    with django_capture_on_commit_callbacks(execute=True):
        response = ada_client.post(reverse("run-cancel", args=[run.uid]), follow=True)
    attempt = run.newest_attempt()
    assert attempt.cancel_requested_at is not None
    assert queued == [attempt.pk]
    text = response.content.decode()
    assert "Asked es-tiny seed 0 to stop" in text
    assert "asked to stop" in text


def test_looking_at_the_address_ends_nothing(ada_client, experiment):
    run = make_run(experiment)
    assert ada_client.get(reverse("run-cancel", args=[run.uid])).status_code == 405
    assert run.newest_attempt().cancel_requested_at is None


def test_a_colleague_may_look_but_not_end_it(bo_client, experiment):
    run = make_run(experiment)
    assert "Cancel run" not in bo_client.get(run.get_absolute_url()).content.decode()
    assert bo_client.post(reverse("run-cancel", args=[run.uid])).status_code == 403
    assert run.newest_attempt().cancel_requested_at is None


def test_a_stranger_does_not_learn_that_it_exists(cy_client, private_experiment):
    run = make_run(private_experiment)
    assert cy_client.post(reverse("run-cancel", args=[run.uid])).status_code == 404


def test_a_run_that_has_ended_says_so(ada_client, experiment):
    run = make_run(experiment, state="succeeded")
    text = ada_client.post(reverse("run-cancel", args=[run.uid]), follow=True).content.decode()
    assert "has already ended: succeeded" in text
