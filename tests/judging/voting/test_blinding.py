"""Names in answers are found and hidden, markers of roles are found, and ordinary words are left alone."""

from __future__ import annotations

import pytest

from judging.voting import are_identical, hidden, leaks

NAMES = ("beaver run 3", "es-500")


@pytest.mark.parametrize(
    ("text", "found"),
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
def test_what_tells_whose_an_answer_is_is_found(text: str, found: list[str]) -> None:
    assert leaks(text, NAMES) == found


def test_names_are_hidden_and_nothing_else_changes() -> None:
    said = hidden("I am Qwen2.5 of beaver run 3; *bold* <b>", NAMES, "▒▒▒")

    assert said == "I am ▒▒▒ of ▒▒▒; *bold* <b>"


@pytest.mark.parametrize("name", ["es", "baseline"])
def test_names_that_are_ordinary_words_are_left(name: str) -> None:
    assert hidden(f"the {name} of it", (name,), "▒▒▒") == f"the {name} of it"
    assert leaks(f"the {name} of it", (name,)) == []


@pytest.mark.parametrize("text", ["yes", " yes", "yes\n", "\n\t yes \u00a0\r\n", "\x1fyes\u3000"])
def test_space_around_an_answer_is_hidden(text: str) -> None:
    assert hidden(text, (), "") == "yes"
    assert are_identical(text, "yes")


def test_space_inside_an_answer_is_shown() -> None:
    assert hidden(" a\n\n b ", (), "") == "a\n\n b"
    assert not are_identical("a  b", "a b")
