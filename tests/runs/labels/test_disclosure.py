"""Which labels of others a user sees, and whether a label is independent of them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs.labels.commands import undo_label
from runs.labels.queries import visible_labels
from runs.models import Experiment, LabelSet
from tests.runs.labels.label_cases import items_of, label, make_set

pytestmark = pytest.mark.django_db


@pytest.fixture
def label_set(experiment: Experiment) -> LabelSet:
    return make_set(experiment)


def seen(label_set: LabelSet, person: User) -> list[tuple[str, str]]:
    """Return (reader, question) of the labels that the user sees."""
    rows = visible_labels(label_set, person).order_by("reader__username", "item__question")
    return [(row.reader_text, row.item.question) for row in rows.select_related("item")]


def test_reader_sees_others_after_both_have_labelled(label_set: LabelSet, ada: User, bo: User, cy: User) -> None:
    first, second, *_ = items_of(label_set)
    label(first, bo, "right")
    assert seen(label_set, bo) == [("bo", "q0?")] and seen(label_set, cy) == [] and seen(label_set, ada) == []
    label(second, cy, "right")
    label(first, cy, "wrong")
    assert seen(label_set, bo) == [("bo", "q0?"), ("cy", "q0?")]
    assert seen(label_set, cy) == [("bo", "q0?"), ("cy", "q0?"), ("cy", "q1?")]
    # Ada reads nothing of the set, so she sees what both have labelled.
    assert seen(label_set, ada) == [("bo", "q0?"), ("cy", "q0?")]
    label(second, ada, "right")
    assert seen(label_set, ada) == [("ada", "q1?"), ("cy", "q1?")]


def test_single_reader_is_enough_if_the_set_says_so(experiment: Experiment, ada: User, bo: User) -> None:
    label_set = make_set(experiment, readers=1)
    label(items_of(label_set)[0], bo, "right")
    assert seen(label_set, ada) == [("bo", "q0?")]


def test_undone_label_hides_the_others_again(label_set: LabelSet, bo: User, cy: User) -> None:
    item = items_of(label_set)[0]
    label(item, bo, "right")
    label(item, cy, "right")
    undo_label(label_set, bo)
    assert seen(label_set, bo) == []


def test_label_that_may_follow_the_others_is_marked(label_set: LabelSet, bo: User, cy: User) -> None:
    first, second, *_ = items_of(label_set)
    label(first, bo, "right")
    assert not label(first, bo, "wrong").is_revision
    assert not label(first, cy, "right").is_revision
    assert label(first, cy, "wrong").is_revision
    label(second, bo, "right")
    label(second, cy, "wrong")
    undo_label(label_set, cy)
    assert label(second, cy, "right").is_revision


def test_hidden_labels_are_counted_and_not_exported(bo_client: Client, label_set: LabelSet, bo: User, cy: User) -> None:
    for item in items_of(label_set):
        label(item, cy, "wrong", note="cy's note")
    label(items_of(label_set)[0], bo, "right")
    page = bo_client.get(label_set.get_absolute_url()).content.decode()
    assert "3 labels of other readers are hidden" in page and '<td class="number">4</td>' in page
    text = b"".join(bo_client.get(reverse("label-file", args=[label_set.pk])).streaming_content).decode()  # type: ignore[attr-defined]
    assert text.count("cy's note") == 1
    assert bo_client.get(items_of(label_set)[1].get_absolute_url()).status_code == 404
