"""Responses of a set in an order of the reader's own, without anything but the texts."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from django.contrib.auth.models import User

from runs.models import Label, LabelItem, LabelSet


@dataclass(frozen=True)
class Reading:
    """A response as its reader sees it. n: its place in the reader's order, from 1. own: the reader's label of it."""

    n: int
    item: LabelItem
    own: Label | None


class ReadingOrder:
    """The responses of a set in the order of one reader, with the places that the reader has labelled.

    Each reader has another order, so that what readers learn on the way does not fall on the same responses.
    """

    def __init__(self, label_set: LabelSet, reader: User) -> None:
        self.label_set, self.reader = label_set, reader
        keys = label_set.items.order_by("pk").values_list("pk", flat=True)
        self.keys = sorted(keys, key=lambda pk: sha256(f"{label_set.seed} {reader.pk} {pk}".encode()).digest())
        readings = Label.objects.readings().filter(item__label_set=label_set, reader=reader)
        labelled = set(readings.values_list("item", flat=True))
        self.open = [n for n, pk in enumerate(self.keys, 1) if pk not in labelled]

    @property
    def total(self) -> int:
        return len(self.keys)

    @property
    def done(self) -> int:
        """Return the number of responses that the reader has labelled."""
        return len(self.keys) - len(self.open)

    def next_place(self, after: int = 0) -> int | None:
        """Return the first place behind `after` without a label; else the first of all, which was skipped; None if all
        have one."""
        return next((n for n in self.open if n > after), self.open[0] if self.open else None)

    def place_of(self, item: int) -> int:
        """Return the place of a response, by its primary key."""
        return self.keys.index(item) + 1

    def read(self, n: int) -> Reading | None:
        """Return the response at a place; None if there is no such place."""
        if not 1 <= n <= len(self.keys):
            return None
        item = LabelItem.objects.only("label_set", "question", "response").get(pk=self.keys[n - 1])
        own = Label.objects.readings().filter(item=item, reader=self.reader).first()
        return Reading(n, item, own)
