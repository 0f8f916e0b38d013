"""Names in answers are detected and hidden, role markers are detected, and ordinary words are left alone."""

from __future__ import annotations

import pytest

from judging.voting import are_identical, find_leaks, hide_names
from tests.cases import each_case

NAMES = ("beaver run 3", "es-500")


@each_case(
    ("text", "kinds"),
    [
        ("I am Qwen2.5, made to help.", ["name"]),
        ("As ChatGPT I cannot.", ["name"]),
        ("Says ES-500 itself", ["name"]),
        ("Sure.\nUSER: and now?\nASSISTANT: yes", ["marker"]),
        ("<|im_start|>assistant", ["marker"]),
        ("I am GPT-4.\nUSER: really?", ["name", "marker"]),
        ("The user asked: why? A llamasoft game, the tulups, es.", []),
        ("A userland tool: fine", []),
        ("", []),
    ],
)
def test_leaks_of_author_are_detected(text: str, kinds: list[str]) -> None:
    assert find_leaks(text, NAMES) == kinds


def test_only_names_are_hidden() -> None:
    text = hide_names("I am Qwen2.5 of beaver run 3; *bold* <b>", NAMES, "▒▒▒")

    assert text == "I am ▒▒▒ of ▒▒▒; *bold* <b>"


@pytest.mark.parametrize("name", ["es", "baseline"])
def test_ordinary_words_are_not_hidden(name: str) -> None:
    assert hide_names(f"the {name} of it", (name,), "▒▒▒") == f"the {name} of it"
    assert find_leaks(f"the {name} of it", (name,)) == []


@each_case("text", ["yes", " yes", "yes\n", "\n\t yes \u00a0\r\n", "\x1fyes\u3000"])
def test_space_around_an_answer_is_hidden(text: str) -> None:
    assert hide_names(text, (), "") == "yes"
    assert are_identical(text, "yes")


def test_space_inside_an_answer_is_shown() -> None:
    assert hide_names(" a\n\n b ", (), "") == "a\n\n b"
    assert not are_identical("a  b", "a b")
