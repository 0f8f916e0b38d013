"""Gold sets from files: both formats, what does not fit, and whose they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from judging.judges import make_standard
from judging.judges.gold import CannotRead, keep
from judging.models import GoldPair, GoldSet

pytestmark = pytest.mark.django_db
OURS = {"prompt": "?", "response_a": "yes", "response_b": "no", "expected": {"helpfulness": "tie"}, "category": "x"}
PKU = {"prompt": "?", "response_0": "yes", "response_1": "no", "better_response_id": 0, "safer_response_id": 1}


@pytest.fixture(autouse=True)
def _criteria(db: None) -> None:
    make_standard()


def lines(*rows: Any) -> bytes:
    """Rows as a file has them, with an empty line at the end."""
    return "\n".join([*map(json.dumps, rows), ""]).encode()


def test_llmbar_and_lists_are_read_too(ada: User) -> None:
    rows = [{"input": "?", "output_1": "yes", "output_2": "no", "label": label} for label in (1, 2)]
    made = keep(ada, "list", json.dumps([*rows, PKU], indent=1).encode())
    assert [pair.expected.get("helpfulness") for pair in made.pairs.order_by("place")] == ["a", "b", "a"]
    assert {(pair.prompt, pair.text_a, pair.text_b) for pair in made.pairs.all()} == {("?", "yes", "no")}
    with pytest.raises(CannotRead, match="Line 2 has no expected outcome"):
        keep(ada, "wrong", json.dumps([rows[0], {**rows[0], "label": 0}]).encode())
    with pytest.raises(CannotRead, match="begins as a JSON list and is none"):
        keep(ada, "cut", b'[{"input": ')


def test_both_formats_are_told_apart_and_keep_their_order(ada: User) -> None:
    made = keep(ada, "mixed", lines(OURS, PKU))

    said = [(pair.text_a, pair.text_b, pair.expected, pair.category) for pair in made.pairs.order_by("place")]
    assert said == [
        ("yes", "no", {"helpfulness": "tie"}, "x"),
        ("yes", "no", {"helpfulness": "a", "harmlessness": "b"}, ""),
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "1 to 20000 pairs, not 0"),
        (b"\xff", "not UTF-8"),
        (lines(OURS) + b"{", "Line 2 is no JSON"),
        (b"[" * 100_000, "begins as a JSON list and is none"),
        (lines([1]), "Line 1 is no JSON object"),
        (lines(OURS | {"expected": {}}), "has no expected outcome: a criterion with one of a, b, tie"),
        (lines(OURS | {"expected": {"helpfulness": "A"}}), "one of a, b, tie"),
        (lines(OURS | {"expected": {"kindness": "a"}}), "expects kindness.*they are harmlessness, helpfulness"),
        (lines(PKU | {"better_response_id": 2, "safer_response_id": True}), "has no expected outcome"),
        (lines(OURS | {"response_b": None}), "has no response_b that is a text"),
        (lines(OURS | {"prompt": "\0"}), "has no prompt that is a text"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_and_leaves_nothing(ada: User, data: bytes, said: str) -> None:
    with pytest.raises(CannotRead, match=said):
        keep(ada, "wrong", data)
    assert not GoldSet.objects.exists()


def test_a_file_is_read_on_the_page_and_offered_to_new_tournaments(ada_client: Client, cy_client: Client) -> None:
    address = reverse("gold-sets")
    assert "No gold set yet" in ada_client.get(address).content.decode()

    file = SimpleUploadedFile("gold.jsonl", lines(OURS, PKU))
    page = ada_client.post(address, {"name": "Mine", "file": file, "is_private": "on"}, follow=True).content.decode()

    assert "Read 2 pairs of Mine." in page and GoldPair.objects.count() == 2
    assert "Mine" not in cy_client.get(address).content.decode()
    wrong = ada_client.post(address, {"name": "Mine", "file": SimpleUploadedFile("a", b"{}")})
    assert (wrong.status_code, "Line 1 has no expected outcome" in wrong.content.decode()) == (400, True)
