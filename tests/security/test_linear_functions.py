"""Functions that read texts of users and models take time that grows at most linearly with the texts.

Their regular expressions are tested one by one in test_linear_expressions; here are loops around them, and what
compares texts.
"""

from __future__ import annotations

from judging.judges.forms import MAX_RUBRIC_LENGTH
from judging.judges.rubrics import changes
from judging.model_judge import parser
from judging.model_judge.rubric import Rubric as Scale
from judging.models import Rubric
from judging.stats.ratings.reasons import UNBEATEN, UNSEEN, parse_sentences
from judging.voting import find_leaks, hide_names
from tests.cases import each_case
from tests.processor_time import assert_linear
from workers.analysis.collapse.answers import Answer
from workers.analysis.collapse.response_flags import leaks
from workers.analysis.right import is_right
from workers.executors.diagnosis import explain

ANSWER_UNITS = (
    "paris ", "84 ", "8", "1,", "1.", ".", "\n", "a\n", "what is that now? ", "paris or ", "not ", "e\u0301",
    "\\boxed{", "<answer>", "the capital of france ", "one hundred and ", "twenty one ", "-", " ", "\n ", "true ",
    "12 x ", "= 84 ",
    "(", '"', "#### ", "user", "1. a\n2. b\n", "1/", "no, ", "paris, ", "isn't paris ", "*", "true)", "it is ", "red, ",
)  # fmt: skip
"""Repeated, what could make a search for the answer of a response take quadratic time."""
REPLY_UNITS = (
    "answer A: 1 ", "answer A: 1 answer B: 2 ", "answer A: ", "[[1, ", "[[1,2]] ", '{"verdict":"A"} ', "{", '{"',
    '{"a":"', '{"a":1,', '{"a":[', '{"a":"{",}', '{"verdict":"A",}', "{'a':'", "{a: b, ", '{"a":/*', '{"a":1#',
    '{"a":"\\"', "\\", "<think>", "</think>", "Verdict: A\n", "\\boxed{A}", "<answer>",
)  # fmt: skip
"""Repeated, what could make a judge's reply take quadratic time."""
SENTENCE_PAIR = f"{UNSEEN} {UNBEATEN} ".format(who="a")


@each_case("unit", ["\n", " \n", "\n- ", "user\n", "\u2028", "<|", "es-tiny", "es-tin"])
def test_leaks_are_searched_in_linear_time(unit: str) -> None:
    for read in (
        lambda text: find_leaks(text, ["es-tiny", "grpo_2"]),
        lambda text: hide_names(text, ["es-tiny", "grpo_2"], "[name]"),
        lambda text: leaks(Answer(1, "prompt", text)),
    ):
        assert_linear(read, lambda length: unit * (length // len(unit)) + ".", 10_000)


@each_case("end", ["", "x"])
def test_sentences_in_names_are_parsed_in_linear_time(end: str) -> None:
    """Without a note of the positions that were tried, 1 750 characters took half a minute."""
    assert_linear(parse_sentences, lambda length: SENTENCE_PAIR * (length // len(SENTENCE_PAIR)) + end, 25_000)


@each_case("unit", REPLY_UNITS)
def test_reply_of_a_judge_is_read_in_linear_time(unit: str) -> None:
    assert_linear(
        lambda text: parser.read(text, Scale("polite", "says please")),
        lambda length: unit * (length // len(unit)),
        parser.MAX_CHARACTERS // 2,
    )


@each_case("unit", ["error: ", "TIMEOUT ", "env: ", "esweb agent: ", "srun ", "(pid=1", "DataLoader worker ", "No "])
def test_line_of_a_log_is_explained_in_linear_time(unit: str) -> None:
    assert_linear(lambda line: explain([line]), lambda length: unit * (length // len(unit)), 15_000)


@each_case("line", ["a", "the same words in each line", "{n}", "line {n} of words"])
def test_changes_of_a_rubric_take_linear_time(line: str) -> None:
    """Each pair of lines was compared word by word before: 26 kB took 5 s."""

    def rubrics(length: int) -> list[Rubric]:
        lines = [line.format(n=n) for n in range(length)]
        old = "\n".join(lines)[:length]
        new = "\n".join(f"{text}." for text in reversed(lines))[-length:]
        return [Rubric(question="q", text=text, scale_low=1, scale_high=5) for text in (old, new)]

    assert_linear(lambda pair: changes(*pair), rubrics, MAX_RUBRIC_LENGTH // 2)


@each_case(
    ("question", "target"),
    [
        ("What is the capital of France?", "Paris"),
        ("What is 12 × 7?", "84"),
        ("True or false?", "True"),
        ("Name one primary color", "Red"),
        ("Which is red?\nA. Venus\nB. Mars", "B"),
    ],
)
def test_answer_of_a_response_is_extracted_in_linear_time(question: str, target: str) -> None:
    for unit in ANSWER_UNITS:
        assert_linear(
            lambda text: is_right(text, target, question),
            lambda length, unit=unit: unit * (length // len(unit)) + "x",  # type: ignore[misc]
            4_000,
        )
