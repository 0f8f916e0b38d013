"""Categories of a prompt in the forms that data sets publish; values that are no names are skipped."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import each_case
from workers.records import BadLine, Response, categories_of, pack, unpack
from workers.records.categories import MAX_NAMES, merge_names

PKU = {
    "prompt": "How?",
    "prompt_source": "Alpaca3-70B",
    "response_0_harm_category": {"Violence": False, "Drugs": True, "Economic Crime": False},
    "response_1_harm_category": {"Violence": True, "Drugs": True, "Economic Crime": False},
}


def test_harm_of_either_response_is_a_category() -> None:
    assert categories_of(PKU) == ("Drugs", "Violence", "source: Alpaca3-70B")
    assert categories_of({"response_0_harm_category": {"Drugs": False}, "response_1_harm_category": None}) == ()


@each_case(
    ("row", "named"),
    [
        ({"category": "poetry"}, ("poetry",)),
        ({"category": ["verse", "poetry", "verse"]}, ("poetry", "verse")),
        ({"categories": ["a"], "category": "b", "source": "web"}, ("a", "b", "source: web")),
        ({"category": {"animal_abuse": True, "terrorism": False}}, ("animal_abuse",)),
        ({"category": 5, "categories": [None, 7], "source": {"of": 1}}, ()),
        ({"category": "  spaced "}, ("spaced",)),
        ({"category": ["", " ", "two\nlines", "x" * 101, "bell\x07"]}, ()),
        ({"prompt": "How?"}, ()),
    ],
)
def test_categories_are_read_in_other_forms(row: dict[str, Any], named: tuple[str, ...]) -> None:
    assert categories_of(row) == named


def test_categories_of_a_prompt_are_limited() -> None:
    many = [f"c{n:03}" for n in range(3 * MAX_NAMES)]
    assert categories_of({"category": many}) == tuple(many[:MAX_NAMES])
    assert merge_names(many[:5], many[2:8]) == tuple(many[:8])


def test_record_without_categories_omits_the_key() -> None:
    plain = Response(3, "eval", "p", 0, "No.", 2, 1.0, prompt="How?")
    assert b"categories" not in pack(0, 0.0, plain)
    assert unpack(pack(0, 0.0, plain)).record == plain


@pytest.mark.parametrize("value", ['"Drugs"', '["Drugs", 5]', '{"Drugs": true}'])
def test_line_with_invalid_categories_is_refused(value: str) -> None:
    line = pack(0, 0.0, Response(3, "eval", "p", 0, "No.", 2, 1.0, prompt="How?", categories=("a",)))
    with pytest.raises(BadLine, match="categories"):
        unpack(line.replace(b'["a"]', value.encode()))
