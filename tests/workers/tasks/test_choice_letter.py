"""The letter that a response names is read by the published kind of rules."""

from __future__ import annotations

import time

import pytest

from tests.cases import each_case
from workers.tasks.choice_letter import read_letter

# TIGER-AI-Lab/MMLU-Pro, compute_accuracy.py, `extract_answer`, `extract_again`, `extract_final`, with the letters A to
# D: a response, the letter that those read, and ours. Ours differs where the reason says so.
PUBLISHED = [
    ("The answer is (C).", "C", "C", ""),
    ("The answer is C", "C", "C", ""),
    ("the answer is (B) because of A", "B", "B", ""),
    ("Answer: D", "D", "D", ""),
    ("First I thought.\nanswer: A", "A", "A", ""),
    ("C", "C", "C", ""),
    ("(C)", "C", "C", ""),
    ("C.", "C", "C", ""),
    ("It must be B", "B", "B", ""),
    ("A or B? Rather B", "B", "B", ""),
    ("no idea", "", "", ""),
    ("The answer is (A). No, the answer is (B).", "A", "B", "the last counts"),
    ("The answer is Because", "B", "", "the beginning of a word is no letter"),
    ("C. Not A", "A", "C", "a response that begins with its letter has answered"),
    ("A kitten", "A", "", "an article is no letter"),
]


@each_case(("response", "published", "ours", "reason"), PUBLISHED)
def test_responses_have_the_published_letter_or_a_reason(response: str, published: str, ours: str, reason: str) -> None:
    assert read_letter(response, "ABCD") == ours
    assert (published == ours) is not bool(reason)


@each_case(
    ("response", "letter"),
    [
        ("c", "C"),
        ("(c)", "C"),
        (" c.\n", "C"),
        ("**C**", "C"),
        ("**Answer:** C", "C"),
        (r"\boxed{C}", "C"),
        (r"So it is $\boxed{\text{B}}$.", "B"),
        ("B) Rome", "B"),
        ("B\nbecause of A", "B"),
        ("B: Rome", "B"),
        ("The correct answer is option D.", "D"),
        ("The answer is: D", "D"),
        ("ANSWER: D", "D"),
        ("The answer is a dog", ""),
        ("The answer is A dog, so D", "D"),
        ("A dog is not a cat, so option C", "C"),
        ("E", ""),
        ("The answer is E", ""),
        ("I think so", ""),
        ("B's house", ""),
        ("DNA", ""),
        ("Paris", ""),
        ("", ""),
    ],
)
def test_a_letter_is_read_from_a_response(response: str, letter: str) -> None:
    assert read_letter(response, "ABCD") == letter


def test_only_letters_of_options_are_read() -> None:
    assert read_letter("The answer is E", "ABCDE") == "E"
    assert read_letter("C", "AB") == ""


@pytest.mark.parametrize(
    "text", ["A" * 10**6, "A " * 500_000, "answer is " * 100_000, "(" * 10**6, " " * 10**6 + "x", "**" * 500_000]
)
def test_a_million_characters_are_read_quickly(text: str) -> None:
    began = time.thread_time()
    assert read_letter(text, "BCD") == ""
    assert read_letter(text + ". The answer is (C).", "BCD") == "C"
    assert time.thread_time() - began < 5, "the processor time grows with the square of the length"


@each_case(
    ("response", "letter"),
    [
        ("The answer is B because water boils there.", "B"),
        ("Answer: D since the sum is 42", "D"),
        ("The answer is B which says 42", "B"),
        ("The answer is A because it is largest.", "A"),
        ("I pick C because A is too small.", "C"),
        ("Therefore D is the right choice.", "D"),
        ("The answer is b.", "B"),
        ("answer: (b)", "B"),
        ("The answer is option b", "B"),
        ("The answer would be B. However A looked good.", "B"),
        ("A and B are wrong, so C must be right", "C"),
        ("Only option A fits; B is too big.", "A"),
        ("The answer is a number", ""),
    ],
)
def test_letter_within_a_sentence_is_read(response: str, letter: str) -> None:
    assert read_letter(response, "ABCD") == letter
