"""Pages of label sets: agreement, differences, decisions, lists and the form of a new set."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.labels.codebook import read_codebook
from runs.labels.queries import read_agreement
from runs.models import Experiment, Label, LabelItem, LabelSet
from tests.runs.labels.label_cases import items_of, label, make_set
from workers.analysis.labels import Origin

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_dir")]


@pytest.fixture
def label_set(experiment: Experiment, bo: User, cy: User) -> LabelSet:
    """Return a set of ten responses that bo and cy have labelled: they differ on the verdict of two, and on a kind."""
    label_set = make_set(experiment, tuple(f"text {n}" for n in range(10)))
    items = sorted(items_of(label_set), key=lambda item: item.response)
    for n, item in enumerate(items):
        label(item, bo, "right" if n < 5 else "wrong", *(["echo"] if n > 7 else []))
        label(item, cy, "right" if n < 4 or n == 9 else "wrong", *(["echo"] if n == 8 else []))
    return label_set


def page_of(client: Client, label_set: LabelSet, query: str = "") -> str:
    return client.get(label_set.get_absolute_url() + query).content.decode()


def disputed(label_set: LabelSet, person: User) -> list[LabelItem]:
    return [label_set.items.get(pk=pk) for pk in read_agreement(label_set, person).disputed]


def test_results_state_kappa_with_interval_and_n(ada_client: Client, ada: User, label_set: LabelSet) -> None:
    (pair,) = read_agreement(label_set, ada).pairs
    # 4 rr, 4 ww, 1 rw, 1 wr.
    assert (pair.n, pair.questions, pair.raw.value) == (10, 10, 0.8)
    assert pair.kappa.value == pytest.approx(0.6) and pair.kappa.low < 0.6 < pair.kappa.high  # type: ignore[operator]
    page = page_of(ada_client, label_set)
    assert "bo × cy" in page and "0.600" in page
    assert "Neither used it." in page
    assert "8 of 10 responses have" in page and "undecided (2)" in page


def test_results_list_the_differences(ada_client: Client, label_set: LabelSet) -> None:
    page = page_of(ada_client, label_set)
    assert page.count("<strong>bo</strong>: ") == 2
    assert page_of(ada_client, label_set, "?show=all").count("<strong>bo</strong>: ") == 10
    assert ada_client.get(label_set.get_absolute_url() + "?show=some").status_code == 404


def test_decision_is_a_label_with_its_reason(ada_client: Client, ada: User, label_set: LabelSet) -> None:
    first, second = disputed(label_set, ada)
    form = {"do": "decide", "verdict": "wrong", "kinds": ["echo"], "note": "It repeats the question."}
    reply = ada_client.post(first.get_absolute_url(), form)
    assert reply.headers["Location"] == second.get_absolute_url()
    row = Label.objects.get(is_adjudication=True)
    assert (row.reader, row.verdict, row.kinds, row.note) == (ada, "wrong", ["echo"], "It repeats the question.")
    final = read_agreement(label_set, ada).final[first.pk]
    assert (final.verdict, final.origin) == ("wrong", Origin.ADJUDICATED)
    assert "It repeats the question." in page_of(ada_client, label_set, "?show=decided")
    assert LogEntry.objects.filter(object_id=str(label_set.pk), change_message__contains="Adjudicated").count() == 1


def test_decision_is_changed_and_withdrawn(ada_client: Client, ada: User, label_set: LabelSet) -> None:
    first, _second = disputed(label_set, ada)
    for verdict in ("wrong", "unclear"):
        ada_client.post(first.get_absolute_url(), {"verdict": verdict, "note": "Because."})
    assert read_agreement(label_set, ada).final[first.pk].verdict == "unclear"
    assert "1 earlier label" in ada_client.get(first.get_absolute_url()).content.decode()
    ada_client.post(first.get_absolute_url(), {"do": "withdraw"})
    assert read_agreement(label_set, ada).final[first.pk].verdict == "wrong"
    ada_client.post(first.get_absolute_url(), {"do": "withdraw"})
    assert read_agreement(label_set, ada).final[first.pk].is_disputed


def test_decision_needs_a_reason(ada_client: Client, ada: User, label_set: LabelSet) -> None:
    item = disputed(label_set, ada)[0]
    reply = ada_client.post(item.get_absolute_url(), {"verdict": "wrong", "note": " "})
    assert reply.status_code == 400
    assert "State the reason of the decision" in reply.content.decode()


def test_only_the_owner_decides_creates_and_imports(bo_client: Client, bo: User, label_set: LabelSet) -> None:
    item = disputed(label_set, bo)[0]
    assert "data-save" not in bo_client.get(item.get_absolute_url()).content.decode()
    assert bo_client.post(item.get_absolute_url(), {"verdict": "wrong", "note": "x"}).status_code == 403
    assert bo_client.post(reverse("label-set-archive", args=[label_set.pk])).status_code == 403
    for name in ("label-set-new", "labels-import"):
        assert bo_client.get(reverse(name, args=[label_set.experiment_id])).status_code == 403


def test_set_is_drawn_from_the_form(ada_client: Client, label_set: LabelSet) -> None:
    experiment = label_set.experiment
    address = reverse("label-set-new", args=[experiment.pk])
    run = experiment.runs.get()
    assert f'value="{run.uid}"' in ada_client.get(f"{address}?run={run.uid}").content.decode()
    form = {
        "name": "More", "number": 4, "runs": [run.uid], "steps": "last", "split": "eval", "readers": 3, "seed": 2,
    }  # fmt: skip
    new = LabelSet.objects.get(name="More") if ada_client.post(address, form) else None
    assert new is not None and (new.items.count(), new.readers, new.codebook) == (4, 3, read_codebook().version)
    refused = ada_client.post(address, {**form, "name": "Empty", "steps": "77", "runs": []})
    assert refused.status_code == 400 and "Select at least one run." in refused.content.decode()
    refused = ada_client.post(address, {**form, "name": "Empty", "steps": "77"})
    assert "steps must be one of all, last, 5, not &#x27;77&#x27;." in refused.content.decode()


def test_archived_set_is_listed_apart(ada_client: Client, label_set: LabelSet) -> None:
    lists = reverse("experiment-labels", args=[label_set.experiment_id])
    assert "Gold" in ada_client.get(lists).content.decode()
    ada_client.post(reverse("label-set-archive", args=[label_set.pk]), {"do": "archive"})
    page = ada_client.get(lists, {"shelf": "current"}).content.decode()
    assert "No label sets yet" in page and "Show 1 archived label set" in page
    assert "Gold" in ada_client.get(lists, {"shelf": "archived"}).content.decode()
    ada_client.post(reverse("label-set-archive", args=[label_set.pk]), {"do": "restore"})
    assert "Gold" in ada_client.get(lists).content.decode()


def test_palette_has_the_set(ada_client: Client, label_set: LabelSet) -> None:
    page = ada_client.get(reverse("palette"), {"q": "gold"}).content.decode()
    assert label_set.get_absolute_url() in page


def test_pages_take_equally_many_queries_for_few_and_many_rows(
    ada_client: Client, label_set: LabelSet, bo: User, cy: User
) -> None:
    def count(address: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert ada_client.get(address).status_code == 200
        return len(queries)

    small = make_set(label_set.experiment, ("another",))
    for reader in (bo, cy):
        label(items_of(small)[0], reader, "right")
    results, lists = small.get_absolute_url() + "?show=all", reverse("label-sets")
    few, before = count(results), count(lists)
    LabelSet.objects.bulk_create(
        LabelSet(experiment=label_set.experiment, name=f"set {n}", codebook=1, created_by=label_set.created_by)
        for n in range(30)
    )
    assert count(label_set.get_absolute_url() + "?show=all") == few <= 20
    assert count(lists) == before <= 12
