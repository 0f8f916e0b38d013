"""Models that judge: their servers, their prices, and their agreement with humans."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from judging.model_judge import LIMITED_BY, MIN_TOKENS
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


class JudgeSettings(models.Model):
    """Settings of a judge, in the order of the form: each field states its title, help, choices, bounds and default.

    Prices are per million tokens. `sampling` is sent as it is (temperature, top_p, seed). `structured`: the server is
    asked to enforce the schema. `limited_by` is its name of the limit of an answer's length. `family` names the base
    model, for a warning if the judge compares responses of its own family. Limits are per minute; 0 is no limit.
    """

    name = models.CharField(_("Name"), max_length=200)
    base_url = models.CharField(
        _("Address"), max_length=500, blank=True,
        help_text=_("Address of any OpenAI-compatible server, such as http://127.0.0.1:8001/v1."),
    )  # fmt: skip
    model = models.CharField(_("Model"), max_length=200, help_text=_("The model's name on the server."))
    family = models.CharField(
        _("Family"), max_length=100, blank=True,
        help_text=_("Its base model, to warn if it judges models of its own family."),
    )  # fmt: skip
    key = models.ForeignKey(
        JudgeKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="judges", verbose_name=_("Key")
    )
    is_private = models.BooleanField(_("Only I may see it"), default=False)
    max_tokens = models.PositiveIntegerField(
        _("Tokens per reply"), default=2048, validators=[MinValueValidator(MIN_TOKENS)]
    )
    limited_by = models.CharField(
        _("Length is limited by"), max_length=30, default=LIMITED_BY[0], choices=[(name, name) for name in LIMITED_BY]
    )
    answer_seconds = models.PositiveSmallIntegerField(
        _("Seconds per reply"), default=60, validators=[MinValueValidator(1), MaxValueValidator(120)]
    )
    structured = models.BooleanField(
        _("Send the JSON schema"), default=True,
        help_text=_("Untick if the server does not know JSON schemas, or sends empty replies."),
    )  # fmt: skip
    sampling = models.JSONField(_("Sampling"), default=dict, blank=True, help_text=_("JSON, sent unchanged."))
    price_in = models.DecimalField(
        _("Price of a million input tokens"), max_digits=12, decimal_places=6, default=0,
        validators=[MinValueValidator(0)], help_text=_("0 for a server of your own."),
    )  # fmt: skip
    price_out = models.DecimalField(
        _("Price of a million output tokens"), max_digits=12, decimal_places=6, default=0,
        validators=[MinValueValidator(0)],
    )  # fmt: skip
    requests_per_minute = models.PositiveIntegerField(_("Requests per minute"), default=0, help_text=_("0: no limit."))
    tokens_per_minute = models.PositiveIntegerField(_("Tokens per minute"), default=0, help_text=_("0: no limit."))
    at_once = models.PositiveSmallIntegerField(
        _("Concurrent requests"), default=4, validators=[MinValueValidator(1), MaxValueValidator(64)]
    )

    class Meta:
        abstract = True


JUDGE_SETTINGS = tuple(field.name for field in JudgeSettings._meta.local_fields)


class Judge(JudgeSettings):
    """A way to ask one model. Its verdicts depend on all settings, so another setting is another judge.

    `digest` is the sha256 of the settings that decide its verdicts: address, model, sampling, token limit.
    """

    class Kind(models.TextChoices):
        """Kind of judge: asked over HTTP like OpenAI's models, or by rules that come with the site, or not asked at
        all: a judge of an imported file of judgments, which is not calibrated here."""

        OPENAI = "openai"
        RULES = "rules"
        IMPORTED = "imported"

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="judges"
    )
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.OPENAI)
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
