"""What data sets publish of a prompt's category, in the forms in which they do; what is no name is passed over."""

from __future__ import annotations

from typing import Any

import pytest

from workers.records import BadLine, Response, categories_of, pack, unpack
from workers.records.categories import MOST, merged

PKU = {
    "prompt": "How?",
    "prompt_source": "Alpaca3-70B",
    "response_0_harm_category": {"Violence": False, "Drugs": True, "Economic Crime": False},
    "response_1_harm_category": {"Violence": True, "Drugs": True, "Economic Crime": False},
}


def test_a_harm_is_a_prompts_where_either_response_does_it() -> None:
    assert categories_of(PKU) == ("Drugs", "Violence", "source: Alpaca3-70B")
    assert categories_of({"response_0_harm_category": {"Drugs": False}, "response_1_harm_category": None}) == ()


@pytest.mark.parametrize(
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
def test_other_forms_are_read_and_what_is_no_name_is_passed_over(row: dict[str, Any], named: tuple[str, ...]) -> None:
    assert categories_of(row) == named


def test_a_prompt_has_so_many_at_most() -> None:
    many = [f"c{n:03}" for n in range(3 * MOST)]
    assert categories_of({"category": many}) == tuple(many[:MOST])
    assert merged(many[:5], many[2:8]) == tuple(many[:8])


def test_a_record_without_them_is_the_line_that_it_always_was() -> None:
    plain = Response(3, "eval", "p", 0, "No.", 2, 1.0, prompt="How?")
    assert b"categories" not in pack(0, 0.0, plain)
    assert unpack(pack(0, 0.0, plain)).record == plain


@pytest.mark.parametrize("said", ['"Drugs"', '["Drugs", 5]', '{"Drugs": true}'])
def test_a_line_whose_categories_are_no_list_of_texts_is_refused(said: str) -> None:
    line = pack(0, 0.0, Response(3, "eval", "p", 0, "No.", 2, 1.0, prompt="How?", categories=("a",)))
    with pytest.raises(BadLine, match="categories"):
        unpack(line.replace(b'["a"]', said.encode()))
