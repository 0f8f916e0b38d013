"""The page of a run says by which way its records come, and how old they are."""

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
    """One that runs, with a record of an hour and a half ago on disk."""
    found = attempt_of(run_of(experiment))
    Attempt.objects.filter(pk=found.pk).update(state=State.RUNNING.value, submits=1)
    found.directory.mkdir(parents=True)
    records = found.directory / "records.0.jsonl"
    records.write_text('{"seq": 0}\n')
    written_at = time.time() - AGE_SECONDS
    os.utime(records, (written_at, written_at))
    return found


def said(client: Client, run: Run) -> str:
    """The words of the attempts' part."""
    page = client.get(f"{run.get_absolute_url()}past/", headers={"hx-request": "true"}).content.decode()
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_from_this_machines_disk(ada_client: Client, attempt: Attempt) -> None:
    words = said(ada_client, attempt.run)
    assert "disk. The newest came 1 h ago ." in words and "SSH" not in words


def test_from_a_shared_disk(ada_client: Client, attempt: Attempt) -> None:
    far = Cluster.objects.create(name="far", kind="slurm")
    Attempt.objects.filter(pk=attempt.pk).update(cluster=far)
    assert "Records are read from the disk shared with far." in said(ada_client, attempt.run)


def test_over_ssh_with_the_age_of_the_copy(ada_client: Client, attempt: Attempt) -> None:
    far = Cluster.objects.create(name="far", kind="slurm", config={"address": "login", "folder": "/x", "python": "/p"})
    Attempt.objects.filter(pk=attempt.pk).update(cluster=far)
    mirror.begin(attempt.directory)
    mirror.keep(attempt.directory, {"whole": {}, "pieces": {}, "behind": True})
    words = said(ada_client, attempt.run)
    assert "Records are copied here over SSH from far." in words
    assert "The cluster was last asked" in words and "More waits there to be brought." in words


def test_pushed(ada_client: Client, attempt: Attempt) -> None:
    RecordFile.objects.create(attempt=attempt, epoch=0, offset=0, next_seq=7)
    assert "Records are pushed here over HTTP." in said(ada_client, attempt.run)


def test_nothing_is_said_before_it_is_submitted(ada_client: Client, attempt: Attempt) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(submits=0)
    assert "Records are" not in said(ada_client, attempt.run)
