"""Reads of labels: progress of readers, the labels that a user may see, and final labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from runs.labels.readers import ReaderNames
from runs.models import Label, LabelItem, LabelSet
from runs.models.experiment import Person
from workers.analysis import labels as pure
from workers.analysis.labels import ADJUDICATED, FinalLabel, ReaderPair, compare_readers, final_labels


@dataclass(frozen=True)
class ReaderProgress:
    """Number of a reader's labels of a set."""

    reader: str
    done: int


@dataclass(frozen=True)
class Agreement:
    """Labels of a set, as far as a user may see them.

    progress: of every reader. pairs: agreement of every two readers. final: by primary key of the response, of those
    with visible labels. withheld: number of readings that the user does not see yet. revised: number of visible
    readings that were changed when their reader could see the others'. codebooks: versions that visible labels are by.
    enough: number of labels from which on a response's readers see the others'.
    """

    total: int
    progress: Sequence[ReaderProgress]
    pairs: Sequence[ReaderPair]
    final: Mapping[int, FinalLabel]
    withheld: int
    revised: int
    codebooks: Sequence[int]
    enough: int

    @property
    def readable(self) -> set[int]:
        """Return the responses of which the user sees the labels of all readers, who are enough."""
        return {pk for pk, label in self.final.items() if label.readers >= self.enough}

    @property
    def disputed(self) -> list[int]:
        """Return the responses on which readers differ and nobody has decided."""
        return sorted(pk for pk, label in self.final.items() if label.is_disputed)

    @property
    def decided(self) -> list[int]:
        """Return the responses that were adjudicated."""
        return sorted(pk for pk, label in self.final.items() if label.origin is pure.Origin.ADJUDICATED)

    def count_final(self, verdict: str) -> int:
        """Return the number of responses with this final verdict."""
        return sum(label.verdict == verdict for label in self.final.values())

    @property
    def with_verdict(self) -> int:
        """Return the number of responses with a final verdict."""
        return sum(label.verdict is not None for label in self.final.values())


def sets_with_progress(person: User, sets: QuerySet[LabelSet]) -> QuerySet[LabelSet]:
    """Return these sets, the newest first, each with the number of its `item_count`, of the user's `own_count` labels
    and of its `reader_count` readers."""
    readings = Label.objects.readings().filter(item__label_set=OuterRef("pk")).order_by()
    own = readings.filter(reader=person).values("item__label_set").annotate(n=Count("pk")).values("n")
    readers = readings.values("item__label_set").annotate(n=Count("reader", distinct=True)).values("n")
    named = readings.filter(reader=None).values("item__label_set").annotate(n=Count("reader_name", distinct=True))
    items = LabelItem.objects.filter(label_set=OuterRef("pk")).order_by().values("label_set").annotate(n=Count("pk"))
    return sets.select_related("experiment", "created_by").order_by("-pk").annotate(
        item_count=_number(items.values("n")), own_count=_number(own),
        reader_count=_number(readers) + _number(named.values("n")),
    )  # fmt: skip


def read_agreement(label_set: LabelSet, person: Person) -> Agreement:
    """Return what this user may see of the labels of a set. Four queries."""
    questions = dict(label_set.items.values_list("pk", "question"))
    readings = Label.objects.readings().filter(item__label_set=label_set)
    counts = readings.values_list("reader__username", "reader_name").annotate(n=Count("pk")).order_by()
    names = ReaderNames((user or "", name) for user, name, _n in counts)
    rows = list(visible_labels(label_set, person).order_by("labelled_at", "pk"))
    own_readings = [row for row in rows if not row.is_adjudication]
    labels = [pure_label(row, names, questions[row.item_id], str(row.item_id)) for row in rows]
    return Agreement(
        len(questions),
        sorted((ReaderProgress(names.of(user or "", name), n) for user, name, n in counts), key=lambda p: p.reader),
        compare_readers(labels), {int(key[1]): final for key, final in final_labels(labels).items()},
        sum(n for _user, _name, n in counts) - len(own_readings), sum(row.is_revision for row in own_readings),
        sorted({row.codebook for row in rows}), label_set.readers,
    )  # fmt: skip


def visible_labels(label_set: LabelSet, person: Person) -> QuerySet[Label]:
    """Return the current labels of the set that the user may see, with their readers."""
    rows = Label.objects.filter(item__label_set=label_set).current().visible_to(person)
    return rows.select_related("reader")


def read_names(label_set: LabelSet) -> ReaderNames:
    """Return the names of a set's readers. One query."""
    rows = Label.objects.readings().filter(item__label_set=label_set).order_by()
    pairs = rows.values_list("reader__username", "reader_name").distinct()
    return ReaderNames((user or "", name) for user, name in pairs)


def pure_label(row: Label, names: ReaderNames, question: str, response: str) -> pure.Label:
    """Return a label as `workers.analysis.labels` reads it."""
    reader = ADJUDICATED if row.is_adjudication else names.of_label(row)
    return pure.Label(
        question, response, reader, row.verdict, frozenset(row.kinds), row.note, row.codebook, row.labelled_at
    )


def labels_with_places(label_set: LabelSet, person: Person) -> list[pure.Label]:
    """Return the labels that the user may see, with their texts and places, in the order of the set's responses. A run
    is named by its name if no other of the experiment has it, else by its uid."""
    names = read_names(label_set)
    runs = label_set.experiment.runs.order_by().values_list("name").annotate(n=Count("pk"))
    unique = {name for name, n in runs if n == 1}
    rows = visible_labels(label_set, person).select_related("item__run", "reader")
    result = []
    for row in rows.order_by("item", "is_adjudication", "labelled_at", "pk"):
        item = row.item
        run = item.run_name if item.run is None else item.run.name if item.run.name in unique else item.run.uid
        label = pure_label(row, names, item.question, item.response)
        result.append(
            replace(label, run=run, step=item.step, split=item.split, prompt=item.prompt_name, sample=item.sample)
        )
    return result


def _number(counts: QuerySet[Any, Any]) -> Coalesce:
    return Coalesce(Subquery(counts, output_field=IntegerField()), 0)
