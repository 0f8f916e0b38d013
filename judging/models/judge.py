"""Models that judge: their servers, their prices, and their agreement with humans."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse

from judging.model_judge import LIMITED_BY
from judging.models.gold import GoldSet
from judging.models.ownership import OwnedQuerySet
from judging.models.rubric import Rubric


class JudgeKey(models.Model):
    """A key of a judge's server, encrypted; it is never shown again, logged or exported. `hint` is its last letters."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="judge_keys")
    name = models.CharField(max_length=100)
    secret = models.BinaryField()
    hint = models.CharField(max_length=8, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["owner", "name"], name="judge_key_once_a_name"),)

    def __str__(self) -> str:
        return self.name


class Judge(models.Model):
    """A way to ask one model. Its verdicts depend on all settings, so another setting is another judge.

    Prices are per million tokens. `sampling` is sent as it is (temperature, top_p, seed). `structured`: the server is
    asked to enforce the schema. `limited_by` is its name of the limit of an answer's length. `family` names the base
    model, for a warning if the judge compares responses of its own family. Limits are per minute; 0 is no limit.
    `digest` is the sha256 of the settings that decide its verdicts: address, model, sampling, token limit.
    """

    class Kind(models.TextChoices):
        """Kind of judge: asked over HTTP like OpenAI's models, or by rules that come with the site, or not asked at
        all: a judge of an imported file of judgments, which is not calibrated here."""

        OPENAI = "openai"
        RULES = "rules"
        IMPORTED = "imported"

    name = models.CharField(max_length=200)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="judges"
    )
    is_private = models.BooleanField(default=False)
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.OPENAI)
    base_url = models.CharField(max_length=500, blank=True)
    model = models.CharField(max_length=200)
    family = models.CharField(max_length=100, blank=True)
    key = models.ForeignKey(JudgeKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="judges")
    sampling = models.JSONField(default=dict, blank=True)
    max_tokens = models.PositiveIntegerField(default=2048)
    structured = models.BooleanField(default=True)
    limited_by = models.CharField(max_length=30, default=LIMITED_BY[0])
    answer_seconds = models.PositiveSmallIntegerField(default=60)
    price_in = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    price_out = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    requests_per_minute = models.PositiveIntegerField(default=0)
    tokens_per_minute = models.PositiveIntegerField(default=0)
    at_once = models.PositiveSmallIntegerField(default=4)
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True, blank=True)

    objects = OwnedQuerySet["Judge"].as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["owner", "kind", "name"], condition=models.Q(retired_at__isnull=True), name="judge_once_a_name"
            ),
        )

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("judge", args=[self.pk])


class Calibration(models.Model):
    """Result of a judge on gold, by one rubric. Its verdicts count on a board if its newest calibration `passes`.

    `measured`: accuracy, kappa with its interval, swap consistency, slot share, and the counts behind each.
    """

    judge = models.ForeignKey(Judge, on_delete=models.CASCADE, related_name="calibrations")
    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="calibrations")
    gold_set = models.ForeignKey(GoldSet, on_delete=models.CASCADE, related_name="calibrations")
    passes = models.BooleanField()
    measured = models.JSONField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=["judge", "rubric", "-at"], name="calibration_newest"),)

    def __str__(self) -> str:
        return f"{self.judge} on {self.gold_set} by {self.rubric}"
