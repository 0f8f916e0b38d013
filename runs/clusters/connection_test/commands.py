"""Tries a cluster with a real job, one step after the other, each with what it found, or why it failed and what to do.

Nobody waits: each call goes as far as it can now, and the next one goes on. A test that takes too long fails at the
step where it stands, with what that waited for.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from runs.clusters.connection_test.steps import KEYS_OF, REACHED_BY, STEPS, Failed, NotYet, Trial
from runs.clusters.executors import executor_for, place_of
from runs.enqueue import on_commit
from runs.models import Cluster, ClusterTest
from workers.executors.base import Ambiguous, Rejected, Unreachable

LIMIT = timedelta(minutes=5)
WENT_WRONG = (Failed, Rejected, Ambiguous, Unreachable, OSError)


@dataclass(frozen=True)
class StepReport:
    """A step's state (done, failed, going or waiting), and what it found, why it failed or what it waits for."""

    name: str
    state: str
    message: str


def report_steps(test: ClusterTest) -> list[StepReport]:
    """Report all steps of a test in order, also those that have not begun."""
    names = list(STEPS[test.cluster.kind])
    reports = [StepReport(s["name"], "failed" if s.get("failed") else "done", s["said"]) for s in test.steps]
    rest = names[len(reports) :]
    if rest and test.ended_at is None:
        reports.append(StepReport(rest.pop(0), "going", test.waits_for))
    return reports + [StepReport(name, "waiting", "") for name in rest]


def begin_test(cluster: Cluster, person: User | None) -> ClusterTest:
    """A new test, to be advanced; the present one where that has not ended."""
    try:
        with transaction.atomic():
            return ClusterTest.objects.create(cluster=cluster, asked_by=person)
    except IntegrityError:
        return ClusterTest.objects.get(cluster=cluster, ended_at__isnull=True)


def start_test(cluster: Cluster, person: User) -> ClusterTest:
    """Begin a test, or take the one that has not ended, and advance it as soon as this is committed."""
    with transaction.atomic():
        test = begin_test(cluster, person)
        on_commit("go_on_with_test", test.pk)
    return test


def advance_tests(cluster: Cluster) -> None:
    """Advance the open tests of a cluster: those of which the task was lost would wait for ever."""
    for test in ClusterTest.objects.filter(cluster=cluster, ended_at__isnull=True).select_related("cluster"):
        advance_test(test)


def advance_test(test: ClusterTest) -> bool:
    """Goes on with a test as far as it goes now; True where it has ended. Of two who do it at once, one does."""
    if test.ended_at is not None or not _take_turn(test):
        return test.ended_at is not None
    trial = _trial(test)
    for name, step in list(STEPS[test.cluster.kind].items())[len(test.steps) :]:
        try:
            _note(test, name, step(trial))
            if name == REACHED_BY[test.cluster.kind]:
                test.cluster.note_answer()
        except NotYet as error:
            if timezone.now() - test.started_at < LIMIT:
                _wait(test, str(error))
                return False
            _fail(trial, test, name, f"not in {LIMIT.seconds // 60} minutes: {error}")
            return True
        except WENT_WRONG as error:
            _fail(trial, test, name, str(error))
            return True
    _end(trial, test)
    return True


def _trial(test: ClusterTest) -> Trial:
    run = f"test{test.pk}"
    key = f"esweb-{run}-t"
    return Trial(
        test.cluster, executor_for(test.cluster), place_of(test.cluster), key, Path(settings.RUNS_DIR) / run / key
    )


def _take_turn(test: ClusterTest) -> bool:
    mine = ClusterTest.objects.filter(pk=test.pk, turns=test.turns, ended_at__isnull=True)
    taken = bool(mine.update(turns=test.turns + 1))
    test.refresh_from_db()
    return taken


def _note(test: ClusterTest, name: str, said: str, **more: bool) -> None:
    test.steps.append({"name": name, "said": said, **more})
    test.waits_for = ""
    test.save(update_fields=["steps", "waits_for"])


def _wait(test: ClusterTest, what: str) -> None:
    test.waits_for = what
    test.save(update_fields=["waits_for"])


def _fail(trial: Trial, test: ClusterTest, name: str, why: str) -> None:
    keys = KEYS_OF.get(test.cluster.kind, {}).get(name)
    _note(test, name, f"{why}; see {keys} in its config" if keys else why, failed=True)
    done = {step["name"] for step in test.steps[:-1]}
    if REACHED_BY[test.cluster.kind] not in done:
        test.cluster.note_silence()
    if "submit" in done or name == "submit":
        try:
            trial.executor.cancel(trial.key, 0.0)
        except Unreachable as error:
            test.steps[-1]["said"] += f". Its job may still be there: {error}"
    _end(trial, test)


def _end(trial: Trial, test: ClusterTest) -> None:
    shutil.rmtree(trial.directory.parent, ignore_errors=True)
    test.ended_at = timezone.now()
    test.save(update_fields=["steps", "ended_at"])
