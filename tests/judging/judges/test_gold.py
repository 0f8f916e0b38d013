"""Gold sets from files: both formats, invalid files, and visibility."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from judging.judges import create_standard_rubrics
from judging.judges.gold import CannotRead, save_gold_set
from judging.models import GoldPair, GoldSet
from tests.cases import each_case

pytestmark = pytest.mark.django_db
OURS = {"prompt": "?", "response_a": "yes", "response_b": "no", "expected": {"helpfulness": "tie"}, "category": "x"}
PKU = {"prompt": "?", "response_0": "yes", "response_1": "no", "better_response_id": 0, "safer_response_id": 1}


@pytest.fixture(autouse=True)
def _criteria(db: None) -> None:
    create_standard_rubrics()


def lines(*rows: Any) -> bytes:
    """Return rows as a JSON-lines file with an empty line at the end."""
    return "\n".join([*map(json.dumps, rows), ""]).encode()


def test_gold_reads_llmbar_rows_and_json_lists(ada: User) -> None:
    rows = [{"input": "?", "output_1": "yes", "output_2": "no", "label": label} for label in (1, 2)]
    gold_set = save_gold_set(ada, "list", json.dumps([*rows, PKU], indent=1).encode())
    assert [pair.expected.get("helpfulness") for pair in gold_set.pairs.order_by("place")] == ["a", "b", "a"]
    assert {(pair.prompt, pair.text_a, pair.text_b) for pair in gold_set.pairs.all()} == {("?", "yes", "no")}
    with pytest.raises(CannotRead, match="Line 2 has no expected outcome"):
        save_gold_set(ada, "wrong", json.dumps([rows[0], {**rows[0], "label": 0}]).encode())
    with pytest.raises(CannotRead, match="begins like a JSON list but is not valid JSON"):
        save_gold_set(ada, "cut", b'[{"input": ')


def test_gold_file_may_mix_formats(ada: User) -> None:
    gold_set = save_gold_set(ada, "mixed", lines(OURS, PKU))

    pairs = [(pair.text_a, pair.text_b, pair.expected, pair.category) for pair in gold_set.pairs.order_by("place")]
    assert pairs == [
        ("yes", "no", {"helpfulness": "tie"}, "x"),
        ("yes", "no", {"helpfulness": "a", "harmlessness": "b"}, ""),
    ]


@each_case(
    ("data", "message"),
    [
        (b"", "1 to 20000 pairs, not 0"),
        (b"\xff", "not UTF-8"),
        (lines(OURS) + b"{", "Line 2 is not JSON"),
        (b"[" * 100_000, "begins like a JSON list but is not valid JSON"),
        (lines([1]), "Line 1 is not a JSON object"),
        (lines(OURS | {"expected": {}}), "has no expected outcome, which is a criterion with one of a, b, tie"),
        (lines(OURS | {"expected": {"helpfulness": "A"}}), "one of a, b, tie"),
        (
            lines(OURS | {"expected": {"kindness": "a"}}),
            "expects the unknown criteria kindness; known are harmlessness, helpfulness",
        ),
        (lines(PKU | {"better_response_id": 2, "safer_response_id": True}), "has no expected outcome"),
        (lines(OURS | {"response_b": None}), "must have response_b, a text"),
        (lines(OURS | {"prompt": "\0"}), "must have prompt, a text"),
    ],
)
def test_invalid_gold_file_is_refused(ada: User, data: bytes, message: str) -> None:
    with pytest.raises(CannotRead, match=message):
        save_gold_set(ada, "wrong", data)
    assert not GoldSet.objects.exists()


def test_gold_file_is_uploaded_on_page(ada_client: Client, cy_client: Client) -> None:
    address = reverse("gold-sets")
    assert "No gold sets yet" in ada_client.get(address).content.decode()

    file = SimpleUploadedFile("gold.jsonl", lines(OURS, PKU))
    page = ada_client.post(address, {"name": "Mine", "file": file, "is_private": "on"}, follow=True).content.decode()

    assert "Uploaded 2 pairs of Mine." in page and GoldPair.objects.count() == 2
    assert "Mine" not in cy_client.get(address).content.decode()
    wrong = ada_client.post(address, {"name": "Mine", "file": SimpleUploadedFile("a", b"{}")})
    assert (wrong.status_code, "Line 1 has no expected outcome" in wrong.content.decode()) == (400, True)
