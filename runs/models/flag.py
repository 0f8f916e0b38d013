"""Flags of runs that look as if they cheat, the reasons for which users dismissed them, and the thresholds. Only
`runs.flags` writes flags; `runs.ingest` marks runs as due."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from django.conf import settings
from django.db import connection, models
from django.db.models import Exists, F, OuterRef, Q

from runs.models.experiment import Experiment, Run

MARK_DUE = """
INSERT INTO runs_flagcheck (run_id, arrived, checked)
SELECT id, 1, 0 FROM unnest(%s::bigint[]) AS changed (id) ORDER BY id
ON CONFLICT (run_id) DO UPDATE SET arrived = runs_flagcheck.arrived + 1
"""


class FlagQuerySet(models.QuerySet["Flag"]):
    """Flags, by whether they still count."""

    def open(self) -> Self:
        """Return the flags of the newest evaluations that nobody dismissed for the same data."""
        return self.filter(~Exists(dismissals_of_same_data()), is_current=True)


class Flag(models.Model):
    """A detector that fired at an evaluation of a run: at its newest if `is_current`, else at an earlier one.

    One row per run and detector, of the newest evaluation at which it fired. value, limit, before, n, compared_with,
    key, p, level and number are those of `workers.analysis.detectors.Detection`, low and high its interval; the last
    five are None for a flag that was not tested, of versions without tests.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="flags")
    detector = models.CharField(max_length=30)
    step = models.BigIntegerField()
    first_step = models.BigIntegerField()
    """The first step at which it fired."""
    value = models.FloatField()
    limit = models.FloatField()
    before = models.FloatField(null=True)
    n = models.BigIntegerField(null=True)
    compared_with = models.CharField(max_length=300, blank=True)
    """The evaluation before training; empty if there was none to compare with."""
    key = models.CharField(max_length=200, blank=True)
    p = models.FloatField(null=True)
    level = models.FloatField(null=True)
    """What p had to be at most at this evaluation."""
    number = models.PositiveIntegerField(null=True)
    """Number of the evaluation after the base, from 1, in the order in which they were judged."""
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    """95 % interval of the change of the share, or of the share if `before` is None; None of other measures."""
    examples = models.JSONField(default=list)
    """[primary key of the response before or null, primary key of the response now], the most telling first."""
    data_hash = models.CharField(max_length=64)
    """Hash of the evaluation: equal if the same step is evaluated again with the same responses and numbers."""
    is_current = models.BooleanField(default=True)
    detected_at = models.DateTimeField()

    objects = FlagQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "detector"], name="one_flag_of_a_run_by_a_detector"),)

    def __str__(self) -> str:
        return f"{self.detector} at step {self.step}"


class FlagDismissal(models.Model):
    """A user's reason why a flag is no cheating. It applies to the flag while the data are the same."""

    flag = models.ForeignKey(Flag, on_delete=models.CASCADE, related_name="dismissals")
    data_hash = models.CharField(max_length=64)
    step = models.BigIntegerField()
    reason = models.TextField()
    dismissed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    dismissed_at = models.DateTimeField(auto_now_add=True)
    undone_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    undone_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["flag", "data_hash"], condition=Q(undone_at__isnull=True), name="one_dismissal_of_the_same_data"
            ),
        )

    def __str__(self) -> str:
        return f"dismissal of {self.flag}"


class FlagCheck(models.Model):
    """Progress of the detectors on a run: due while `arrived`, which counts its changes, exceeds `checked`."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="flag_check")
    arrived = models.BigIntegerField(default=0)
    checked = models.BigIntegerField(default=0)
    step = models.BigIntegerField(null=True)
    """The newest step that was checked; None if no evaluation was whole yet."""
    judged = models.JSONField(default=dict, db_default={})
    """Step -> [number, start of the hash of the data, version of the rows] of the judged evaluations. The number, from
    1 after the base, is the evaluation's as long as its data are the same."""
    responses = models.PositiveIntegerField(default=0, db_default=0)
    """Judged responses of the newest evaluation."""
    responses_before = models.PositiveIntegerField(default=0, db_default=0)
    """Responses before training that they are compared with; 0 without a base."""
    checked_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (models.Index(fields=["run"], condition=Q(checked__lt=F("arrived")), name="flag_check_due"),)

    def __str__(self) -> str:
        return f"flag check of run {self.run_id}"


class FlagThresholds(models.Model):
    """Thresholds that differ from the defaults: of the site if `experiment` is None, else of an experiment. Detector ->
    number, or null if it is off."""

    experiment = models.OneToOneField(Experiment, on_delete=models.CASCADE, null=True, related_name="flag_thresholds")
    values = models.JSONField(default=dict)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                models.Value(1), condition=Q(experiment__isnull=True), name="one_row_of_flag_thresholds_of_the_site"
            ),
        )

    def __str__(self) -> str:
        return f"flag thresholds of {self.experiment or 'the site'}"


def mark_flag_checks_due(runs: Iterable[int]) -> None:
    """Mark runs, by primary key, for the detectors. Call it in the transaction that stores what they have to see."""
    with connection.cursor() as cursor:
        cursor.execute(MARK_DUE, [list(runs)])


def dismissals_of_same_data() -> models.QuerySet[FlagDismissal]:
    """Return the dismissals that apply to the flag of the outer query."""
    return FlagDismissal.objects.filter(flag=OuterRef("pk"), data_hash=OuterRef("data_hash"), undone_at__isnull=True)
