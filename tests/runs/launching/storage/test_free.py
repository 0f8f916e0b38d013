"""What a run takes on disk is measured, and deleted on request: only what is not needed, and never more than asked."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from runs import checkpoints, launching
from runs.launching.storage import CannotFree, free, measure_changed
from runs.launching.storage.inventory import Part, stored_weights
from runs.models import Cluster, DiskUse, Experiment, Run, checkpoint_folder
from tests.runs.api_client import calls
from tests.runs.full_runs import make_run
from tests.runs.launching.storage.saved_weights import BYTES, es_run, grpo_run

pytestmark = pytest.mark.usefixtures("db", "runs_dir")


def parts_of(run: Run) -> list[tuple[str, int]]:
    return [(weights.part.value, weights.step) for weights in stored_weights(run)]


def test_weights_are_rebuildable_if_the_log_leads_to_them(experiment: Experiment, local: Cluster) -> None:
    run = es_run(experiment, (2, 3, 4))
    (run.root / "rebuilt" / "step-000001").mkdir(parents=True)
    (checkpoint_folder(run.attempts.get().directory, 4) / "evaluation-due").touch()

    assert parts_of(run) == [("rebuildable", 2), ("weights", 3), ("weights", 4), ("rebuildable", 1)]
    assert parts_of(grpo_run(experiment)) == [("weights", 2), ("weights", 4), ("states", 4)]


def test_freed_checkpoints_can_be_read_and_resumed_from(experiment: Experiment, ada: User, local: Cluster) -> None:
    run = es_run(experiment, state="interrupted")

    freed = free(run, ada, [Part.REBUILDABLE])

    assert freed.bytes > 2 * BYTES and freed.refusals == []
    assert parts_of(run) == [] and checkpoints.by_step(run) == {}
    resumed = checkpoints.newest(run)
    assert resumed is not None and (resumed.attempt, resumed.step, resumed.is_deleted) == (1, 4, True)
    run.attempts.update(started_at=timezone.now())
    assert checkpoints.readable(run, 3) is not None
    assert checkpoints.readable(run, 5) is None
    assert launching.create_resume_attempt(run, ada).resumed_step == 4
    entry = LogEntry.objects.get(user=ada)
    assert entry.change_message == f"freed {freed.bytes} bytes on disk: rebuildable 2, rebuildable 4"
    assert DiskUse.objects.get(run=run).rebuildable_bytes == 0


def test_each_part_of_a_grpo_run_is_freed_alone(experiment: Experiment, ada: User, local: Cluster) -> None:
    run = grpo_run(experiment)
    newest = checkpoints.newest(run)
    assert newest is not None and newest.step == 4

    assert free(run, ada, [Part.REBUILDABLE]).bytes == 0
    assert free(run, ada, [Part.STATES]).bytes == BYTES
    assert parts_of(run) == [("weights", 2), ("weights", 4)]
    assert checkpoints.newest(run) is None and list(checkpoints.by_step(run)) == [4, 2]
    assert free(run, ada, [Part.WEIGHTS]).bytes == 2 * BYTES
    assert parts_of(run) == []


def test_weights_that_others_need_stay(experiment: Experiment, ada: User, local: Cluster) -> None:
    run, later = grpo_run(experiment), make_run(experiment, "es-micro", 7)
    later.config["model"]["path"] = f"run:{run.uid}@4"
    later.save()
    readers = run.attempts.get().directory / "checkpoints-readers"
    readers.mkdir()
    (readers / "step-000002@elsewhere@17").touch()

    freed = free(run, ada, [Part.WEIGHTS])

    assert freed.refusals == ["Step 4 stays: 1 run has it as its model.", "Step 2 stays: a job reads it."]
    assert parts_of(run) == [("weights", 2), ("weights", 4)]


def test_nothing_is_freed_before_a_run_has_ended(experiment: Experiment, ada: User, local: Cluster) -> None:
    with pytest.raises(CannotFree, match="The run has not ended"):
        free(es_run(experiment, state="running"), ada, [Part.REBUILDABLE])


def test_runs_are_measured_until_they_change_no_more(experiment: Experiment, local: Cluster) -> None:
    ended, running = es_run(experiment), es_run(experiment, state="running")
    assert (measure_changed(), measure_changed()) == (2, 0)
    use = DiskUse.objects.get(run=ended)
    assert use.total_bytes > use.rebuildable_bytes > 2 * BYTES and use.other_bytes == 0
    DiskUse.objects.update(measured_at=timezone.now() - timedelta(minutes=11))
    assert measure_changed() == 1
    running.attempts.update(state="succeeded", ended_at=timezone.now())
    Run.objects.update(state="succeeded")
    assert measure_changed() == 1


def test_list_shows_the_runs_that_a_user_may_change(
    experiment: Experiment, ada_client: Client, bo: User, local: Cluster
) -> None:
    run = es_run(experiment)
    measure_changed()
    address = reverse("storage")
    assert run.name in ada_client.get(address).content.decode()
    stranger = Client()
    stranger.force_login(bo)
    assert "No run that you may change has been measured yet." in stranger.get(address).content.decode()


def test_form_deletes_what_cannot_be_rebuilt_only_if_that_is_confirmed(
    experiment: Experiment, ada_client: Client, local: Cluster
) -> None:
    run = grpo_run(experiment)
    address = reverse("run-free", args=[run.uid])
    page = ada_client.get(reverse("run-checkpoints", args=[run.uid])).content.decode()
    assert f'action="{address}"' in page and 'name="sure"' in page
    for form, left in (({}, 2), ({"part": "weights"}, 2), ({"part": "weights", "sure": "on"}, 0)):
        assert ada_client.post(address, form)["Location"] == reverse("run-checkpoints", args=[run.uid])
        assert len(checkpoints.by_step(run)) == left


def test_api_measures_and_frees(experiment: Experiment, ada: User, bo: User, local: Cluster) -> None:
    run = es_run(experiment)
    address = f"/api/v1/runs/{run.uid}/storage"
    client = calls(ada, "launch")
    assert client.get(address).json()["rebuildable_bytes"] > 2 * BYTES
    assert not DiskUse.objects.exists()
    refused = calls(bo, "launch").post(f"{address}/free", {"parts": ["rebuildable"]}, content_type="application/json")
    assert refused.status_code == 403
    freed = client.post(f"{address}/free", {"parts": ["rebuildable"]}, content_type="application/json").json()
    assert freed["freed_bytes"] > 2 * BYTES
    assert freed["disk_use"]["rebuildable_bytes"] == 0
    wrong = client.post(f"{address}/free", {"parts": ["everything"]}, content_type="application/json")
    assert wrong.status_code == 422


def test_page_offers_to_rebuild_deleted_checkpoints(
    experiment: Experiment, ada_client: Client, ada: User, local: Cluster, runs_dir: Path
) -> None:
    run = es_run(experiment)
    free(run, ada, [Part.REBUILDABLE])
    listed = calls(ada, "read").get(f"/api/v1/runs/{run.uid}/checkpoints").json()["items"]
    assert [(item["step"], item["availability"], item["download"]) for item in listed] == [
        (4, "rebuildable", None), (2, "rebuildable", None),
    ]  # fmt: skip
    page = ada_client.get(reverse("run-checkpoints", args=[run.uid])).content.decode()
    assert "the checkpoint of step 4" in page and "no longer on disk" not in page
