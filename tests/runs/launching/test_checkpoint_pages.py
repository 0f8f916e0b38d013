"""Checkpoints on a run's page: existing ones download immediately, others of an ES run can be rebuilt."""

import pytest
from django.urls import reverse

from runs import launching
from runs.models import Rebuild, checkpoint_folder
from tests.cases import each_case
from tests.runs.checkpoint_files import WEIGHTS, fill, save, unpack_reply
from tests.runs.full_runs import a_bit_of_everything, make_run, record
from workers.executors.states import State
from workers.records import Member, Population

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(experiment, local, runs_dir):
    """Return an ES run that has reached step 40 and saved step 20."""
    run = make_run(experiment)
    record(run, [Population(40, (Member(0, -40.0, z=1.0),))])
    save(run, 20)
    return run


@pytest.fixture
def queued(monkeypatch):
    """Collect the rebuilds that are sent to the queue."""
    sent = []
    monkeypatch.setattr("runs.enqueue.send", lambda name, pk: sent.append((name, pk)))
    return sent


def ask(client, run, step, **headers):
    return client.post(reverse("run-checkpoints", args=[run.uid]), {"step": step}, headers=headers)


def download(client, run, step):
    return client.get(reverse("run-checkpoint", args=[run.uid, step]))


def page(client, run):
    return client.get(reverse("run-checkpoints", args=[run.uid])).content.decode()


def test_a_saved_checkpoint_is_downloaded_at_once(ada_client, run, queued):
    there = reverse("run-checkpoint", args=[run.uid, 20])
    assert ask(ada_client, run, "20")["Location"] == there
    assert ask(ada_client, run, "20", hx_request="true")["HX-Redirect"] == there
    assert unpack_reply(download(ada_client, run, 20)) == {
        f"{run.uid}-step-000020/config.json": b"{}",
        f"{run.uid}-step-000020/adapter/model.safetensors": WEIGHTS,
    }
    assert queued == [] and f'href="{there}"' in page(ada_client, run)


def test_rebuild_is_requested_once(ada_client, ada, run, queued, django_capture_on_commit_callbacks):
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            answer = ask(ada_client, run, "33", hx_request="true")
        assert answer.status_code == 200
    rebuild = Rebuild.objects.get()
    assert (rebuild.step, rebuild.asked_by, rebuild.key[:-4]) == (33, ada, f"esweb-{run.uid}-r33-")
    assert set(queued) == {("submit_rebuild", rebuild.pk)}
    assert download(ada_client, run, 33).status_code == 404


def test_rebuild_shows_progress_and_failure(ada_client, run, queued):
    ask(ada_client, run, "33")
    rebuild = Rebuild.objects.get()
    launching.update_facts(rebuild, progress=0.25, reason="waiting for a core")
    text = page(ada_client, run)
    assert 'value="0.25"' in text and "waiting for a core" in text
    launching.transition(rebuild, State.FAILED, "the base model has changed")
    text = page(ada_client, run)
    assert "the base model has changed" in text and "Try again" in text
    ask(ada_client, run, "33")
    assert Rebuild.objects.get().state == State.CREATED.value
    assert "the base model has changed" not in page(ada_client, run)


def test_a_rebuilt_one_is_downloaded(ada_client, run, queued):
    ask(ada_client, run, "33")
    rebuild = Rebuild.objects.get()
    fill(rebuild.folder)
    launching.transition(rebuild, State.SUCCEEDED, "done", bytes=7002, sha256="cd" * 32)
    assert f"{run.uid}-step-000033/config.json" in unpack_reply(download(ada_client, run, 33))
    text = page(ada_client, run)
    assert "cdcdcdcdcdcd…" in text and "6.8\xa0KB" in text
    assert ask(ada_client, run, "33")["Location"] == reverse("run-checkpoint", args=[run.uid, 33])
    assert Rebuild.objects.get() == rebuild


@each_case("step", ["41", "-1", "x", "", "1" * 30, "²", "20.0"])
def test_a_step_that_it_has_not_reached_is_refused_with_the_range(ada_client, run, queued, step):
    answer = ask(ada_client, run, step, hx_request="true")
    text = answer.content.decode()
    assert 'role="alert"' in text and "from 0 to 40" in text
    assert not Rebuild.objects.exists()
    plain = ada_client.post(reverse("run-checkpoints", args=[run.uid]), {"step": step}, follow=True)
    assert "from 0 to 40" in plain.content.decode()


def test_a_rebuild_can_be_stopped(ada_client, run, queued, django_capture_on_commit_callbacks):
    ask(ada_client, run, "33")
    rebuild = Rebuild.objects.get()
    launching.transition(rebuild, State.RUNNING, "")
    with django_capture_on_commit_callbacks(execute=True):
        ada_client.post(reverse("run-rebuild-stop", args=[run.uid, 33]))
    rebuild.refresh_from_db()
    assert rebuild.cancel_requested_at is not None
    assert queued == [("cancel_rebuild", rebuild.pk)]
    assert "cancelling" in page(ada_client, run)


def test_grpo_run_offers_only_saved_checkpoints(ada_client, experiment, local, runs_dir, queued):
    run = make_run(experiment, "grpo-tiny")
    save(run, 20)
    text = page(ada_client, run)
    assert "Only saved checkpoints of a GRPO run are available" in text and 'id="checkpoint-step"' not in text
    assert "Saved steps: 20." in ask(ada_client, run, "10", hx_request="true").content.decode()
    assert not Rebuild.objects.exists()
    assert len(unpack_reply(download(ada_client, run, 20))) == 2


def test_checkpoint_missing_on_disk_is_reported(ada_client, experiment, runs_dir):
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    assert "no longer on disk" in page(ada_client, run)
    assert download(ada_client, run, 5).status_code == 404


def test_checkpoint_on_disk_without_a_record_is_listed_and_downloaded(ada_client, run, runs_dir):
    fill(checkpoint_folder(run.newest_attempt().directory, 30))
    assert f'href="{reverse("run-checkpoint", args=[run.uid, 30])}"' in page(ada_client, run)
    assert len(unpack_reply(download(ada_client, run, 30))) == 2


def test_a_colleague_downloads_but_asks_for_none(bo_client, run, queued):
    assert len(unpack_reply(download(bo_client, run, 20))) == 2
    assert 'id="checkpoint-step"' not in page(bo_client, run)
    assert ask(bo_client, run, "33").status_code == 403
    assert bo_client.post(reverse("run-rebuild-stop", args=[run.uid, 33])).status_code == 403


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_stranger_does_not_learn_that_there_are_any(cy_client, private_experiment, runs_dir, method):
    run = make_run(private_experiment)
    save(run, 20)
    assert getattr(cy_client, method)(reverse("run-checkpoints", args=[run.uid]), {"step": "20"}).status_code == 404
    assert download(cy_client, run, 20).status_code == 404
