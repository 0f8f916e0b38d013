"""Test a cluster with a real job, step by step. Each step reports its result, or why it failed and how to fix it.

No process waits: each call advances the test as far as possible now, and the next call continues. A test that takes too
long fails at its current step, with what that step waited for.
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

from runs.clusters.connection_test.steps import KEYS_OF, REACHED_BY, STEPS
from runs.clusters.connection_test.trial import StepFailed, StepPending, Trial
from runs.clusters.executors import executor_for, submit_host_of
from runs.enqueue import on_commit
from runs.models import Cluster, ClusterTest
from workers.executors.base import Ambiguous, Rejected, Unreachable

LIMIT = timedelta(minutes=5)
STEP_ERRORS = (StepFailed, Rejected, Ambiguous, Unreachable, OSError)


@dataclass(frozen=True)
class StepReport:
    """A step's state (done, failed, going or waiting), and its result, why it failed or what it waits for."""

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
    """Create a test, to be advanced, and return it. Return the current test if it has not ended."""
    try:
        with transaction.atomic():
            return ClusterTest.objects.create(cluster=cluster, asked_by=person)
    except IntegrityError:
        return ClusterTest.objects.get(cluster=cluster, ended_at__isnull=True)


def start_test(cluster: Cluster, person: User) -> ClusterTest:
    """Begin a test, or take the one that has not ended, and advance it after the commit."""
    with transaction.atomic():
        test = begin_test(cluster, person)
        on_commit("go_on_with_test", test.pk)
    return test


def advance_tests(cluster: Cluster) -> None:
    """Advance the open tests of a cluster. A test with a lost task would otherwise wait for ever."""
    for test in ClusterTest.objects.filter(cluster=cluster, ended_at__isnull=True).select_related("cluster"):
        advance_test(test)


def advance_test(test: ClusterTest) -> bool:
    """Advance a test as far as possible now. Return whether it has ended. Of two simultaneous calls, one advances
    it."""
    if test.ended_at is not None or not _claim_turn(test):
        return test.ended_at is not None
    trial = _trial(test)
    for name, step in list(STEPS[test.cluster.kind].items())[len(test.steps) :]:
        try:
            _note(test, name, step(trial))
            if name == REACHED_BY[test.cluster.kind]:
                test.cluster.note_answer()
        except StepPending as error:
            if timezone.now() - test.started_at < LIMIT:
                _wait(test, str(error))
                return False
            _fail(trial, test, name, f"not within {LIMIT.seconds // 60} minutes: {error}")
            return True
        except STEP_ERRORS as error:
            _fail(trial, test, name, str(error))
            return True
    _end(trial, test)
    return True


def _trial(test: ClusterTest) -> Trial:
    run = f"test{test.pk}"
    key = f"esweb-{run}-t"
    return Trial(
        test.cluster, executor_for(test.cluster), submit_host_of(test.cluster), key, Path(settings.RUNS_DIR) / run / key
    )


def _claim_turn(test: ClusterTest) -> bool:
    unclaimed = ClusterTest.objects.filter(pk=test.pk, turns=test.turns, ended_at__isnull=True)
    taken = bool(unclaimed.update(turns=test.turns + 1))
    test.refresh_from_db()
    return taken


def _note(test: ClusterTest, name: str, message: str, **more: bool) -> None:
    test.steps.append({"name": name, "said": message, **more})
    test.waits_for = ""
    test.save(update_fields=["steps", "waits_for"])


def _wait(test: ClusterTest, message: str) -> None:
    test.waits_for = message
    test.save(update_fields=["waits_for"])


def _fail(trial: Trial, test: ClusterTest, name: str, reason: str) -> None:
    keys = KEYS_OF.get(test.cluster.kind, {}).get(name)
    _note(test, name, f"{reason}; see {keys} in its config" if keys else reason, failed=True)
    done = {step["name"] for step in test.steps[:-1]}
    if REACHED_BY[test.cluster.kind] not in done:
        test.cluster.note_silence()
    if "submit" in done or name == "submit":
        try:
            for job in (trial, trial.second_job()):
                if job.directory.exists():
                    trial.executor.cancel(job.key, 0.0)
        except Unreachable as error:
            test.steps[-1]["said"] += f". Its job may still exist: {error}"
    _end(trial, test)


def _end(trial: Trial, test: ClusterTest) -> None:
    shutil.rmtree(trial.directory.parent, ignore_errors=True)
    test.ended_at = timezone.now()
    test.save(update_fields=["steps", "ended_at"])
