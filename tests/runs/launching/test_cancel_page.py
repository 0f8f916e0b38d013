import pytest
from django.urls import reverse

from tests.runs.full_runs import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def queued(monkeypatch):
    """Collect the attempts that are sent to the queue."""
    sent = []
    monkeypatch.setattr("runs.enqueue.send", lambda name, pk: sent.append(pk))
    return sent


def test_owner_may_cancel_a_run(ada_client, experiment, queued, django_capture_on_commit_callbacks):
    run = make_run(experiment)
    with django_capture_on_commit_callbacks(execute=True):
        response = ada_client.post(reverse("run-cancel", args=[run.uid]), follow=True)
    attempt = run.newest_attempt()
    assert attempt.cancel_requested_at is not None
    assert queued == [attempt.pk]
    text = response.content.decode()
    assert "Cancel of es-tiny seed 0 requested" in text
    assert "cancel requested" in text


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


def test_ended_run_cannot_be_cancelled(ada_client, experiment):
    run = make_run(experiment, state="succeeded")
    text = ada_client.post(reverse("run-cancel", args=[run.uid]), follow=True).content.decode()
    assert "has already ended (succeeded)" in text
