"""Apply the detectors to runs that are due, and store what they report. No other module writes flags."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from runs.flags.judged_run import JudgedRun, read_run
from runs.flags.peers import KL_DETECTOR, checked_peers
from runs.flags.queries import thresholds_of
from runs.flags.sentences import PAIRED
from runs.metrics import live
from runs.models import EVALUATION, Flag, FlagCheck, Response, Run, mark_flag_checks_due
from workers.analysis.detectors import Detection, Evaluation, detect

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
            while _check(run.pk):
                pass


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
    """Check a run if it is due, and return whether it was. It stays due if more evaluations are left than one check
    judges."""
    # The count is read before the records, so records that arrive meanwhile make the run due again.
    check = FlagCheck.objects.filter(pk=run_id, checked__lt=F("arrived")).first()
    if check is None:
        return False
    run = Run.objects.select_related("experiment", "parent").get(pk=run_id)
    before, judged = _flags_now(run), read_run(run, check.judged)
    _store(run, judged)
    changed = {detector for detector, *_ in _flags_now(run) ^ before}
    if changed - {KL_DETECTOR}:
        _mark_peers(run)
    responses, responses_before = judged.newest_size()
    FlagCheck.objects.filter(pk=run_id).update(
        checked=check.arrived if judged.is_complete else check.checked, checked_at=timezone.now(),
        step=judged.evaluations[-1].step if judged.evaluations else None, judged=judged.judged,
        responses=responses, responses_before=responses_before,
    )  # fmt: skip
    if changed:
        transaction.on_commit(partial(live.publish_changed, run.uid, "state"))
    return True


def _flags_now(run: Run) -> set[tuple[str, str, bool]]:
    return set(run.flags.values_list("detector", "data_hash", "is_current"))


def _mark_peers(run: Run) -> None:
    """Mark the runs of the same settings: a flagged run counts no longer among those that their KL is compared with."""
    peers = checked_peers(run)
    # Checks of two peers lock their rows in the same order, so neither waits for the other.
    list(FlagCheck.objects.select_for_update().filter(pk__in=[run.pk, *peers]).order_by("pk").values_list("pk"))
    mark_flag_checks_due(peers)


def mark_ended(run: Run) -> None:
    """Mark a run that ended as due, with those that it matters to: the runs of its settings, whose KL is compared with
    its own, and, if it has a step 0, the runs of the experiment without a base. Do nothing if it was never evaluated.
    Call it in a short transaction, since the runs' records wait for it."""
    if not FlagCheck.objects.filter(pk=run.pk).exists():
        return
    due = {run.pk, *checked_peers(run)}
    if Response.objects.filter(run=run, split=EVALUATION, step=0).exists():
        alone = FlagCheck.objects.filter(run__experiment=run.experiment_id, responses__gt=0, responses_before=0)
        due.update(alone.values_list("pk", flat=True))
    mark_flag_checks_due(due)


@dataclass(frozen=True)
class Firing:
    """The report of a detector at the newest of the judged evaluations at which it fired, and the first such step."""

    first_step: int
    evaluation: Evaluation
    detection: Detection


def _store(run: Run, judged: JudgedRun) -> None:
    """Store the detections of the judged evaluations. Flags that did not fire at the newest one are no longer
    current."""
    thresholds = thresholds_of(run.experiment)
    firings: dict[str, Firing] = {}
    newest: set[str] = set()
    for evaluation in judged.evaluations:
        number = judged.number_of(evaluation.step)
        detections = detect(evaluation, judged.base, judged.peers, thresholds, number)
        newest = {detection.detector for detection in detections}
        for detection in detections:
            earlier = firings.get(detection.detector)
            first = earlier.first_step if earlier else evaluation.step
            firings[detection.detector] = Firing(first, evaluation, detection)
    for firing in firings.values():
        _store_flag(run, judged, firing)
    Flag.objects.filter(run=run, is_current=True).exclude(detector__in=newest).update(is_current=False)


def _store_flag(run: Run, judged: JudgedRun, firing: Firing) -> None:
    detection, step = firing.detection, firing.evaluation.step
    flag = Flag.objects.filter(run=run, detector=detection.detector).first()
    if flag is not None and flag.step > step and flag.step in judged.steps and flag.step not in judged.hashes:
        # It fired at a later step, which was judged before.
        Flag.objects.filter(pk=flag.pk).update(first_step=min(flag.first_step, firing.first_step))
        return
    low, high = detection.interval or (None, None)
    values = {
        "step": step,
        "value": detection.value,
        "limit": detection.limit,
        "before": detection.before,
        "n": detection.n,
        "compared_with": _compared_with(judged, detection)[:300],
        "key": detection.key,
        "p": detection.p,
        "level": detection.level,
        "number": detection.number,
        "low": low,
        "high": high,
        "examples": [list(pair) for pair in detection.examples],
        "data_hash": judged.hash_of(firing.evaluation, detection.detector),
        "is_current": True,
    }
    if flag is None:
        Flag.objects.create(
            run=run, detector=detection.detector, first_step=firing.first_step, detected_at=timezone.now(), **values
        )
        return
    detected_at = flag.detected_at if flag.data_hash == values["data_hash"] else timezone.now()
    first_step = min(flag.first_step, firing.first_step)
    Flag.objects.filter(pk=flag.pk).update(**values, first_step=first_step, detected_at=detected_at)


def _compared_with(judged: JudgedRun, detection: Detection) -> str:
    """Return the label of the base; "" if the test did not need it."""
    needs_base = detection.detector in PAIRED or (detection.before is not None and detection.detector != KL_DETECTOR)
    return judged.base_label if needs_base else ""
