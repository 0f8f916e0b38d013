"""Apply the detectors to runs that are due, and store what they report. No other module writes flags."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from functools import partial

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from runs.flags.evaluations import JudgedRun, read_run
from runs.flags.queries import thresholds_of
from runs.kinds import kind_of
from runs.metrics import live
from runs.models import Flag, FlagCheck, Run, mark_flag_checks_due
from workers.analysis.detectors import Detection, detect
from workers.analysis.keys import REWARD

MAX_PEERS_DUE = 50
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('flags', %s)), true"
TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended('flags', %s)), false"
"""The lock of a run's check. Its row stays free, so that records can mark it while it is checked."""


def check_all_due(seconds: float) -> None:
    """Check due runs one after another, until none is due or the time is over.

    Raise ExceptionGroup of unexpected errors after all other runs; the failed runs stay due.
    """
    deadline = time.monotonic() + seconds
    skipped: set[int] = set()
    errors: list[Exception] = []
    while time.monotonic() < deadline and (run_id := _next_due(skipped)) is not None:
        try:
            if not check_run(run_id):
                skipped.add(run_id)
        except Exception as error:
            error.add_note(f"while the detectors looked at run {run_id}")
            skipped.add(run_id)
            errors.append(error)
    if errors:
        raise ExceptionGroup("runs that could not be checked", errors)


def _next_due(skipped: Collection[int]) -> int | None:
    """Return the run that was checked the longest ago, without those to skip; None if none is due."""
    due = FlagCheck.objects.filter(checked__lt=F("arrived")).exclude(run_id__in=skipped)
    return due.order_by(F("checked_at").asc(nulls_first=True), "run_id").values_list("run_id", flat=True).first()


def check_now(runs: Iterable[Run]) -> None:
    """Check these runs if they are due; wait for those that another process checks now."""
    for run in runs:
        with transaction.atomic():
            _lock(run.pk, LOCK)
            _check(run.pk)


def check_run(run_id: int) -> bool:
    """Check a run if it is due and no other process checks it now. Return whether it was checked."""
    with transaction.atomic():
        return _lock(run_id, TRY_LOCK) and _check(run_id)


def _lock(run_id: int, statement: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, [run_id])
        locked, waited = cursor.fetchone()
    return bool(waited or locked)


def _check(run_id: int) -> bool:
    """Check a run if it is due, and return whether it was."""
    # The count is read before the records, so records that arrive meanwhile make the run due again.
    check = FlagCheck.objects.filter(pk=run_id, checked__lt=F("arrived")).first()
    if check is None:
        return False
    run = Run.objects.select_related("experiment").get(pk=run_id)
    before, judged = _flags_now(run), read_run(run, after=check.step)
    _store(run, judged)
    newest = judged.evaluations[-1].step if judged.evaluations else None
    FlagCheck.objects.filter(pk=run_id).update(checked=check.arrived, checked_at=timezone.now(), step=newest)
    if _flags_now(run) != before:
        transaction.on_commit(partial(live.publish_changed, run.uid, "state"))
    return True


def _flags_now(run: Run) -> set[tuple[str, str, bool]]:
    return set(run.flags.values_list("detector", "data_hash", "is_current"))


def mark_ended(run: Run) -> None:
    """Mark a run that ended as due, with the newest runs of its experiment: its KL now belongs to their band. Do
    nothing if it was never evaluated. Call it in a short transaction, since the runs' records wait for it."""
    if not FlagCheck.objects.filter(pk=run.pk).exists():
        return
    if not kind_of(run.method).is_listed:
        mark_flag_checks_due([run.pk])
        return
    newest = Run.objects.trainings().filter(experiment=run.experiment_id, deleted_at__isnull=True).order_by("-pk")
    evaluated = newest.filter(series__key=REWARD).exclude(pk=run.pk)
    mark_flag_checks_due([run.pk, *evaluated.values_list("pk", flat=True)[:MAX_PEERS_DUE]])


def _store(run: Run, judged: JudgedRun) -> None:
    """Store the detections at each evaluation. Flags that did not fire at the newest one are no longer current."""
    thresholds = thresholds_of(run.experiment)
    fired: set[str] = set()
    for evaluation in judged.evaluations:
        base = judged.base if evaluation.step != judged.base_step_of_run else None
        detections = detect(evaluation, base, judged.peers, thresholds) if evaluation.step else []
        fired = {detection.detector for detection in detections}
        for detection in detections:
            _store_detection(run, judged, evaluation.step, detection)
    Flag.objects.filter(run=run, is_current=True).exclude(detector__in=fired).update(is_current=False)


def _store_detection(run: Run, judged: JudgedRun, step: int, detection: Detection) -> None:
    values = {
        "step": step,
        "value": detection.value,
        "limit": detection.limit,
        "before": detection.before,
        "n": detection.n,
        "compared_with": (detection.compared_with or (judged.base_label if detection.before is not None else ""))[:300],
        "key": detection.key,
        "examples": [list(pair) for pair in detection.examples],
        "data_hash": judged.hash_of(step, detection.detector),
        "is_current": True,
    }
    flag, is_new = Flag.objects.get_or_create(
        run=run, detector=detection.detector,
        defaults=values | {"first_step": step, "detected_at": timezone.now()},
    )  # fmt: skip
    if is_new:
        return
    is_same = flag.data_hash == values["data_hash"]
    detected_at = flag.detected_at if is_same else timezone.now()
    Flag.objects.filter(pk=flag.pk).update(**values, first_step=min(flag.first_step, step), detected_at=detected_at)
