"""The letter that a response names is the one that a careful reader sees in it."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterable
from pathlib import Path
from string import ascii_uppercase

import pytest

from tests.cases import each_case
from tests.processor_time import assert_linear
from workers.analysis.right import is_right
from workers.tasks.choice_letter import read_letter

LABELLED = Path(__file__).parent / "choice_letters.jsonl"
"""Responses with the text of each option and the letter that a reader gives them; null if they name none. An option
that is named by its text alone names no letter. They were written and labelled before the rules that read them."""
HELD_OUT = Path(__file__).parent / "choice_letters_held_out.jsonl"
"""Further such responses, in sets that were written one after the other, each read once before the rules were mended.
The guide `right` states how many were read well then."""
BLIND = Path(__file__).parent / "choice_letters_blind.jsonl"
"""Responses in the style of models, written and labelled by a reader who did not know the rules; read once before the
rules were mended. The guide states how many were read well then."""
SHARED = Path(__file__).parents[3].parent / "shared/data/cases-3/choice-letter/try.py"
UNITS = (
    "A", "A ", "A, ", "A or ", "A. ", "(A", "(", "A)", "A: x\n", "A. x\nB. y\n", "answer is ", "answer: ", "answer\n",
    "the answer is A. ", "not ", "is A ", "**", "*", "_", "```", "`", "<think>", "</think>", "<answer>", "\\boxed{",
    "\\boxed{A} ", "J. D. ", " ", "\n", "so B ", "option ", "the ", "maybe ", "because ", " - ", "B? ", "wait, ", "Ａ",
    "是", "'A' ", "{",
    '{"answer": "A"} ', "```{'A'``` ", "A if ", "otherwise A. ", "can't decide ",
)  # fmt: skip
"""Repeated, what could make the search for a letter take quadratic time."""

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


def errors(cases: Iterable[tuple[str, str, str | None]]) -> list[str]:
    """Return what is read otherwise than labelled. cases: (response, letters of the options, wanted letter)."""
    read = [(text, read_letter(text, letters) or None, wanted) for text, letters, wanted in cases]
    return [f"{text!r}: {letter} instead of {wanted}" for text, letter, wanted in read if letter != wanted]


def test_labelled_responses_have_the_letter_of_their_reader() -> None:
    cases = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
    assert len(cases) == 200
    assert sum(case["letter"] is None for case in cases) >= 80
    assert errors([(case["text"], ascii_uppercase[: len(case["options"])], case["letter"]) for case in cases]) == []


@each_case("path", [HELD_OUT, BLIND])
def test_held_out_responses_have_the_letter_of_their_reader(path: Path) -> None:
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert errors([(case["text"], case["letters"], case["letter"]) for case in cases]) == []


def test_imported_response_to_listed_options_is_right_by_the_same_rule() -> None:
    question = "Which planet is red?\n(A) Venus\n(B) Mars"
    assert is_right("B is correct because A is too hot.", "B", question)
    assert is_right("B is correct because A is too hot.", "(A)", question) is False
    assert is_right("A or B", "B", question) is False
    assert is_right("It is a planet", "A", question) is False
    assert is_right("The blood type is B.", "B", "Which blood type is it?"), "no options are listed"


def test_shared_cases_have_their_letters(capsys: pytest.CaptureFixture[str]) -> None:
    if not SHARED.is_file():
        pytest.skip(f"there is no {SHARED}")
    runpy.run_path(str(SHARED))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 17
    assert [line for line in lines if "<<<" in line] == []


def test_letter_is_read_in_linear_time() -> None:
    for unit in UNITS:
        assert_linear(
            lambda text: read_letter(text, "ABCD"),
            lambda length, unit=unit: unit * (length // len(unit)) + ". The answer is (C).",  # type: ignore[misc]
            2_000,
        )


def test_letter_at_the_end_of_a_long_response_is_read() -> None:
    for unit in ("A", "A ", "(", " ", "**", "x. "):
        assert read_letter(unit * 10_000 + ". The answer is (C).", "BCD") == "C"


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


@each_case(
    ("response", "letter"),
    [
        # JSON, also as code
        ('```json\n{"answer": "B", "explanation": "A is wrong."}\n```', "B"),
        ('```\n{\n  "options": {"A": "1", "B": "2", "C": "3"},\n  "answer": "C",\n  "confidence": 0.9\n}\n```', "C"),
        ('{\n "reasoning": "Mars is red. A and D are gas giants.",\n "final_answer": "(b)"\n}', "B"),
        ('{"answer": {"letter": "D", "text": "Mars"}}', "D"),
        ('```json\n{"answer": ["A", "C"], "note": "both fit the question"}\n```', ""),
        ('```json\n{\n  "A": "one",\n  "B": "two",\n  "C": "three"\n}\n```', ""),
        ('{"answer": null}', ""),
        ('```\nprint("The answer is A")\n```\nRun it.', ""),
        ("```\nB\n```", "B"),
        # Lists of the options, also cut off
        ("A. 10\nB. 20\nC", ""),
        ("A) 10\nB) 20\nC) 30\nD)", ""),
        ("- A. 10\n- B. 20\n\nB", "B"),
        ("Option A: 10\nOption B: 20\n\nB", "B"),
        ("A. Venus: this is hot\nB. Mars: this is the correct answer", "B"),
        ("- B: incorrect\n- C: correct", "C"),
        # Formulas
        ("P(A or B) = P(A) + P(B) - P(A and B).", ""),
        ("P(A) = 1/2.", ""),
        ("Since f(A, B) = 3, the answer is (A).", "A"),
        # Doubts
        ("The answer is A. I don't know which one is right.", ""),
        ("The answer is B, but I can't really decide.", ""),
        ("I can't decide between A and C, but I would go with C.", "C"),
        ("The answer is B. At first I was not sure which was right.", "B"),
        ("The answer is B. I cannot choose A because it is false.", "B"),
        ("First I thought the answer is B, but B is clearly wrong.", ""),
        ("B. Maybe not.", ""),
        # Conditions
        ("If it is a mammal, the answer is A. Otherwise, the answer is B.", ""),
        ("The answer is A if it is hot, and C otherwise.", ""),
        ("A if x > 0, else B", ""),
        ("If x = 1, the answer is A. If x = 2, the answer is B. Here x = 2, so the answer is B.", "B"),
        ("Option A is correct about the size. If we add the mass, the answer is B.", "B"),
        ("The answer is B; otherwise the sum would be odd.", "B"),
        ("If I had to guess, B.", "B"),
        # Degrees
        ("D looks like the most likely one.", "D"),
        ("C is the most probable.", "C"),
        ("A is the most common letter of English.", ""),
        ("B is indeed right.", "B"),
        ("B is the wrong answer.", ""),
        # Letters that are no answer, or one of several
        ("\ue301 is correct", ""),
        ("C) Venus\nThe answer is A) Mars", "A"),
        ("I think A. Or it is both B and C.", ""),
        ("It is A. Or possibly B.", ""),
        ("The answer is B or none of them.", ""),
        ("The answer is D; also A is wrong.", "D"),
        ("Venus (A) is too hot.", ""),
        ("Only B is too big.", ""),
        ("Only C notes are played.", ""),
        ("C in chemistry is carbon.", ""),
        ("A oder B", ""),
        ("A y B", ""),
        ("A和B", ""),
        ("<b>C</b>", "C"),
    ],
)
def test_letter_is_read_as_the_whole_response_means_it(response: str, letter: str) -> None:
    assert read_letter(response, "ABCD") == letter
