"""Mentions of an answer as a separate word of a text."""

from __future__ import annotations

import time

import pytest

from tests.cases import each_case
from workers.analysis.right.mention import mentions


@each_case(
    ("text", "answer"),
    [
        ("8", "8"),
        ("It is 8.", "8"),
        ("3+5=8", "8"),
        ("(8)", "8"),
        ("The answer is PARIS!", "Paris"),
        ("**Paris**", "Paris"),
        ("New York City", "new york"),
        ("Es ist die STRASSE", "Straße"),
        ("árbol", "árbol"),
        ("la capitale est Paris, bien sûr", "Paris"),
        ("法国的首都是巴黎。", "巴黎"),
        ("答案是8个", "8"),
        ("\uff18", "8"),
        ("It costs 1,000.", "1,000"),
        ("C++ is a language", "C++"),
    ],
)
def test_answer_as_whole_words_is_a_mention(text: str, answer: str) -> None:
    assert mentions(text, answer)


@each_case(
    ("text", "answer"),
    [
        ("18", "8"),
        ("80", "8"),
        ("8.5", "8"),
        ("1,8", "8"),
        ("-8", "8"),
        ("It is \u22128.", "8"),
        ("Parisian", "Paris"),
        ("Carbon", "C"),
        ("known", "No"),
        ("", "Paris"),
        ("anything", ""),
        ("a.b", "a+b"),
    ],
)
def test_part_of_a_word_or_number_is_no_mention(text: str, answer: str) -> None:
    assert not mentions(text, answer)


@pytest.mark.parametrize("text", ["a" + "\u0300\u0316" * 500_000, "\ufdfa" * 100_000, "8" * 10**6, "Pari " * 200_000])
def test_million_characters_are_searched_quickly(text: str) -> None:
    began = time.thread_time()
    assert not mentions(text, "Paris") and mentions(text + " Paris", "Paris")
    assert time.thread_time() - began < 5, "the processor time grows with the square of the length"
