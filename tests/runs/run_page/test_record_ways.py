"""The run's page reports by which path its records arrive, and how old they are."""

from __future__ import annotations

import os
import re
import time

import pytest
from django.test import Client

from runs.models import Attempt, Cluster, Experiment, RecordFile, Run
from tests.runs.local_cluster import attempt_of, run_of
from workers.executors import mirror
from workers.executors.states import State

AGE_SECONDS = 5400.0


@pytest.fixture
def attempt(experiment: Experiment, local: Cluster) -> Attempt:
    """Return a running attempt with a record of an hour and a half ago on disk."""
    running = attempt_of(run_of(experiment))
    Attempt.objects.filter(pk=running.pk).update(state=State.RUNNING.value, submits=1)
    running.directory.mkdir(parents=True)
    records = running.directory / "records.0.jsonl"
    records.write_text('{"seq": 0}\n')
    written_at = time.time() - AGE_SECONDS
    os.utime(records, (written_at, written_at))
    return running


def attempts_text(client: Client, run: Run) -> str:
    """Return the text of the attempts' section."""
    page = client.get(f"{run.get_absolute_url()}past/", headers={"hx-request": "true"}).content.decode()
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_from_this_machines_disk(ada_client: Client, attempt: Attempt) -> None:
    words = attempts_text(ada_client, attempt.run)
    assert "disk. The newest record arrived 1 h ago ." in words and "SSH" not in words


def test_from_a_shared_disk(ada_client: Client, attempt: Attempt) -> None:
    other_cluster = Cluster.objects.create(name="far", kind="slurm")
    Attempt.objects.filter(pk=attempt.pk).update(cluster=other_cluster)
    assert "Records are read from the disk shared with far." in attempts_text(ada_client, attempt.run)


def test_over_ssh_with_the_age_of_the_copy(ada_client: Client, attempt: Attempt) -> None:
    other_cluster = Cluster.objects.create(
        name="far", kind="slurm", config={"address": "login", "folder": "/x", "python": "/p"}
    )
    Attempt.objects.filter(pk=attempt.pk).update(cluster=other_cluster)
    mirror.begin(attempt.directory)
    mirror.save_look(attempt.directory, {"whole": {}, "pieces": {}, "behind": True})
    words = attempts_text(ada_client, attempt.run)
    assert "Records are copied here over SSH from far." in words
    assert "The cluster was last contacted" in words and "It has more records to copy." in words


def test_pushed(ada_client: Client, attempt: Attempt) -> None:
    RecordFile.objects.create(attempt=attempt, epoch=0, offset=0, next_seq=7)
    assert "Records are pushed here over HTTP." in attempts_text(ada_client, attempt.run)


def test_record_path_is_omitted_before_submission(ada_client: Client, attempt: Attempt) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(submits=0)
    assert "Records are" not in attempts_text(ada_client, attempt.run)
