"""Gold labels: sets of responses that people label without seeing their run, and the labels. Only `runs.labels` writes
them.

A label is of a question and a response. The texts are stored with the set, because labels outlive the run that wrote
the response.
"""

from __future__ import annotations

from hashlib import sha256
from typing import ClassVar, Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Coalesce
from django.urls import reverse

from runs.models.experiment import Experiment, Person, Run
from workers.analysis.labels import KINDS, VERDICTS

MAX_ITEMS = 5000
"""Responses of one set."""


def digest_of(question: str, response: str) -> str:
    """Return the identity of a question with a response, as hexadecimal digits."""
    # The length separates the two texts.
    return sha256(f"{len(question)}:{question}{response}".encode(errors="surrogatepass")).hexdigest()


class LabelSetQuerySet(models.QuerySet["LabelSet"]):
    """Label sets, selected by the rights of users."""

    def visible_to(self, person: Person) -> Self:
        """Return the sets of the experiments that this user may see."""
        return self.filter(experiment__in=Experiment.objects.visible_to(person))

    def current(self) -> Self:
        """Return the sets that are not archived."""
        return self.filter(archived_at__isnull=True)


class LabelSet(models.Model):
    """Responses of an experiment that people label. `drawn`: how they were drawn, the fields of
    `runs.labels.draw.Drawing`; empty if they came with imported labels.

    codebook: the version when the set was created. readers: the number of labels of a response, from which on its
    readers see the labels of the others.
    """

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="label_sets")
    name = models.CharField(max_length=200)
    codebook = models.PositiveIntegerField()
    seed = models.BigIntegerField(default=0)
    readers = models.PositiveSmallIntegerField(default=2, validators=[MinValueValidator(1)])
    drawn = models.JSONField(default=dict)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="label_sets")
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True)

    objects = LabelSetQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("label-set", args=[self.pk])


class LabelItem(models.Model):
    """A response to label, and where it was taken from. `run` is None if the run was deleted or is unknown; `run_name`
    remains."""

    label_set = models.ForeignKey(LabelSet, on_delete=models.CASCADE, related_name="items")
    digest = models.CharField(max_length=64)
    question = models.TextField()
    response = models.TextField()
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, related_name="+")
    run_name = models.CharField(max_length=200, blank=True)
    step = models.BigIntegerField(null=True)
    split = models.CharField(max_length=20, blank=True)
    prompt_name = models.CharField(max_length=200, blank=True)
    sample = models.PositiveBigIntegerField(null=True)

    class Meta:
        constraints: ClassVar[tuple[models.BaseConstraint, ...]] = (
            models.UniqueConstraint(fields=["label_set", "digest"], name="response_of_a_label_set_once"),
        )

    def __str__(self) -> str:
        return f"response {self.pk} of {self.label_set_id}"

    def get_absolute_url(self) -> str:
        return reverse("label-item", args=[self.label_set_id, self.pk])


class LabelQuerySet(models.QuerySet["Label"]):
    """Labels, selected by whether they count, and by what readers may see of each other."""

    def current(self) -> Self:
        """Return the labels that were neither replaced nor undone."""
        return self.filter(is_current=True)

    def readings(self) -> Self:
        """Return the current labels of readers, without adjudications."""
        return self.current().filter(is_adjudication=False)

    def visible_to(self, person: Person) -> Self:
        """Return the user's own labels, and those of responses that enough readers have labelled; of a set that the
        user has begun to label, only if the user is one of the response's readers."""
        sets = LabelSet.objects.visible_to(person)
        readings = Label.objects.readings()
        counted = readings.filter(item=OuterRef("item")).order_by().values("item").annotate(n=models.Count("pk"))
        is_reader_of_item = Exists(readings.filter(item=OuterRef("item"), reader=person.pk))
        is_reader_of_set = Exists(readings.filter(item__label_set=OuterRef("item__label_set"), reader=person.pk))
        rows = self.filter(item__label_set__in=sets).annotate(
            item_readers=Coalesce(models.Subquery(counted.values("n")), 0)
        )
        is_disclosed = Q(item_readers__gte=F("item__label_set__readers")) & (is_reader_of_item | ~is_reader_of_set)
        return rows.filter(Q(reader=person.pk, is_adjudication=False) | is_disclosed)


class Label(models.Model):
    """A label of a response, by a user, or by the reader of imported labels whom `reader_name` names.

    A row never changes but for `is_current`: a new label of the same reader replaces it, and to undo the new one makes
    it current again. An adjudication is a label of its own; its note is the reason.
    """

    item = models.ForeignKey(LabelItem, on_delete=models.CASCADE, related_name="labels")
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    reader_name = models.CharField(max_length=150, blank=True)
    is_adjudication = models.BooleanField(default=False)
    verdict = models.CharField(max_length=10)
    kinds = ArrayField(models.CharField(max_length=20), default=list)
    note = models.TextField(blank=True)
    codebook = models.PositiveIntegerField()
    labelled_at = models.DateTimeField()
    is_revision = models.BooleanField(default=False)
    """True if its reader had labelled the response before, and could see the other labels since."""
    is_current = models.BooleanField(default=True)
    replaces = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="+")

    objects = LabelQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["item", "reader"], condition=Q(is_current=True, is_adjudication=False, reader__isnull=False),
                name="one_current_label_of_a_user",
            ),
            models.UniqueConstraint(
                fields=["item", "reader_name"], condition=Q(is_current=True, is_adjudication=False, reader=None),
                name="one_current_label_of_a_named_reader",
            ),
            models.UniqueConstraint(
                fields=["item"], condition=Q(is_current=True, is_adjudication=True), name="one_current_adjudication",
            ),
            models.CheckConstraint(condition=Q(reader__isnull=False) | ~Q(reader_name=""), name="label_has_a_reader"),
            models.CheckConstraint(condition=Q(verdict__in=VERDICTS), name="label_has_a_verdict"),
            models.CheckConstraint(condition=Q(kinds__contained_by=list(KINDS)), name="label_has_known_kinds"),
        )  # fmt: skip
        indexes = (models.Index(fields=["reader", "labelled_at"], name="label_by_reader"),)

    def __str__(self) -> str:
        return f"{self.verdict} by {self.reader_text}"

    @property
    def reader_text(self) -> str:
        """Return the name of the reader, or of the adjudicator."""
        return self.reader.get_username() if self.reader else self.reader_name
