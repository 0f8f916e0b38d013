"""The page on which readers label: blind, in an order of their own, with skip and undo."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs.access import give_role
from runs.labels.codebook import read_codebook
from runs.labels.commands import archive_set
from runs.labels.reading import ReadingOrder
from runs.labels.visible_text import visible_text
from runs.models import Experiment, Label, LabelSet
from tests.runs.labels.label_cases import items_of, label, make_set

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_dir")]


@pytest.fixture
def label_set(experiment: Experiment) -> LabelSet:
    return make_set(experiment)


def address(label_set: LabelSet) -> str:
    return reverse("label-next", args=[label_set.pk])


def post(client: Client, label_set: LabelSet, n: int, **form: object) -> object:
    return client.post(address(label_set), {"n": n, **form}, follow=True)


def page_of(client: Client, label_set: LabelSet, query: str = "") -> str:
    return client.get(address(label_set) + query).content.decode()


def test_page_shows_the_texts_and_nothing_of_the_run(bo_client: Client, label_set: LabelSet) -> None:
    item = items_of(label_set)[0]
    pages = "".join(page_of(bo_client, label_set, f"?n={n}") for n in (1, 2, 3, 4))
    assert item.question in pages and item.response in pages
    main = "".join(re.findall(r"<main.*?</main>", pages, re.DOTALL))
    for hidden in ("secret target", "es of labels", item.run.uid, "es-micro", "reward", "step 5", "Concise"):
        assert hidden not in main.partition('<details class="panel"')[0]
    assert "(empty)" in pages
    assert f"Codebook, version {read_codebook().version}" in pages and "other_language" in pages


def test_text_of_a_response_is_never_html(bo_client: Client, experiment: Experiment) -> None:
    label_set = make_set(
        experiment, ("<script>alert(1)</script>\u202e\u200b\u200b<|im_end|>" + 20 * " " + "x" * 50_000,)
    )
    page = page_of(bo_client, label_set)
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;⟨U+202E⟩⟨U+200B ×2⟩&lt;|im_end|&gt;" in page
    assert "⟨white space: 20 characters⟩" in page


def test_visible_text_leaves_plain_text_alone() -> None:
    text = 'Größe: 3 < 4 & "x"\nनमस्ते 👩‍🔬 ❤️'
    assert visible_text(text) == text
    assert visible_text("a\tb\r\n\x00") == "a⇥\tb⟨U+000D⟩\n⟨U+0000⟩"


def test_readers_have_orders_of_their_own(label_set: LabelSet, bo: User, cy: User) -> None:
    many = make_set(label_set.experiment, tuple(f"text {n}" for n in range(30)))
    assert ReadingOrder(many, bo).keys == ReadingOrder(many, bo).keys
    assert ReadingOrder(many, bo).keys != ReadingOrder(many, cy).keys
    assert sorted(ReadingOrder(many, bo).keys) == sorted(ReadingOrder(many, cy).keys)


def test_label_is_saved_and_the_next_response_follows(bo_client: Client, bo: User, label_set: LabelSet) -> None:
    reply = post(bo_client, label_set, 1, verdict="wrong", kinds=["plays_user", "echo"], note="Copied.")
    assert "Response 2 of 4" in reply.content.decode()
    row = Label.objects.get()
    assert (row.verdict, row.kinds, row.note, row.codebook) == (
        "wrong", ["echo", "plays_user"], "Copied.", read_codebook().version,
    )  # fmt: skip
    assert row.reader == bo and row.item_id == ReadingOrder(label_set, bo).keys[0]


def test_skipped_response_comes_back(bo_client: Client, label_set: LabelSet) -> None:
    page = post(bo_client, label_set, 1, do="skip").content.decode()
    assert "Response 2 of 4" in page and "1 skipped, it comes back at the end" in page
    for n in (2, 3):
        post(bo_client, label_set, n, verdict="right")
    assert "Response 1 of 4" in post(bo_client, label_set, 4, verdict="right").content.decode()
    done = post(bo_client, label_set, 1, verdict="unclear").content.decode()
    assert "You have labelled every response" in done and "4 of 4 labelled" in done


def test_undo_returns_to_the_response_and_restores_the_label_before(bo_client: Client, label_set: LabelSet) -> None:
    post(bo_client, label_set, 1, verdict="right")
    post(bo_client, label_set, 1, verdict="wrong")
    page = post(bo_client, label_set, 2, do="undo").content.decode()
    assert "Undone" in page and "Response 1 of 4" in page
    assert re.search(r'value="right" data-key="r"\s+checked', page)
    assert list(Label.objects.order_by("pk").values_list("verdict", "is_current")) == [
        ("right", True),
        ("wrong", False),
    ]
    post(bo_client, label_set, 1, do="undo")
    assert not Label.objects.current().exists()
    assert "You have no label to undo here." in post(bo_client, label_set, 1, do="undo").content.decode()


def test_same_label_twice_is_one_row(bo: User, label_set: LabelSet) -> None:
    item = items_of(label_set)[0]
    assert label(item, bo, "right", "echo") == label(item, bo, "right", "echo")
    assert Label.objects.count() == 1


def test_label_without_verdict_keeps_what_was_entered(bo_client: Client, label_set: LabelSet) -> None:
    reply = bo_client.post(address(label_set), {"n": 2, "kinds": ["echo"], "note": "Hm."})
    page = reply.content.decode()
    assert reply.status_code == 400
    assert "Select right, wrong or unclear; or skip the response." in page
    assert (
        "Response 2 of 4" in page
        and "Hm." in page
        and re.search(r'value="echo" data-key="6" data-exclusive\s+checked', page)
    )
    assert not Label.objects.exists()


@pytest.mark.parametrize("query", ["?n=9", "?n=0.5", "?after=x"])
def test_place_that_does_not_exist_is_refused(bo_client: Client, label_set: LabelSet, query: str) -> None:
    assert bo_client.get(address(label_set) + query).status_code == 404


def test_viewer_does_not_label(bo_client: Client, bo: User, label_set: LabelSet) -> None:
    give_role(bo, "viewer")
    assert bo_client.get(address(label_set)).status_code == 403
    assert bo_client.post(address(label_set), {"n": 1, "verdict": "right"}).status_code == 403
    assert bo_client.get(label_set.get_absolute_url()).status_code == 200


def test_private_set_does_not_exist_for_others(bo_client: Client, private_experiment: Experiment) -> None:
    label_set = make_set(private_experiment)
    for name in ("label-set", "label-next", "label-file"):
        assert bo_client.get(reverse(name, args=[label_set.pk])).status_code == 404
    assert bo_client.get(items_of(label_set)[0].get_absolute_url()).status_code == 404
    assert label_set.name not in bo_client.get(reverse("label-sets")).content.decode()


def test_archived_set_takes_no_labels(bo_client: Client, ada: User, bo: User, label_set: LabelSet) -> None:
    archive_set(label_set, ada, is_archived=True)
    assert "This label set is archived" in page_of(bo_client, label_set)
    assert "archived. Restore it" in post(bo_client, label_set, 1, verdict="right").content.decode()
    assert not Label.objects.exists()
