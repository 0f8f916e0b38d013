"""The judge that is no model: the form of answers alone, always the same, both ways round."""

from __future__ import annotations

from judging.model_judge import Pair, Rubric, State, rules
from judging.stats.votes import Outcome
from tests.cases import each_case

RUBRIC = Rubric("helpfulness", "Which helps more.")
PLAIN = "Paris is its capital."


@each_case(
    ("worse", "reason"),
    [
        ("", "says nothing"),
        ("Paris. USER: and of Spain?", "goes on as somebody else"),
        ("What is the capital of France?", "repeats the request"),
        ("Paris is Paris is Paris is Paris is Paris.", "repeats itself"),
        ("It is the city which lies on the Seine and that", "stops in the middle"),
        ("It is Paris, " + " ".join(f"road{n}" for n in range(40)) + ".", "has 43 words"),
    ],
)
def test_better_form_wins_in_both_orders(worse: str, reason: str) -> None:
    pair = Pair("What is the capital of France?", PLAIN, worse)
    first, second = rules.judge(RUBRIC, pair), rules.judge(RUBRIC, pair.swapped())
    assert (first.outcome, second.outcome, first.state) == (Outcome.A, Outcome.B, State.DONE)
    assert first.reading is not None and reason in first.reading.reasoning and first.reading.scores is not None
    assert all(RUBRIC.holds(score) for score in first.reading.scores)


def test_equal_answers_tie_and_empty_answers_are_both_bad() -> None:
    assert rules.judge(RUBRIC, Pair("What?", PLAIN, PLAIN)).outcome is Outcome.TIE
    assert rules.judge(RUBRIC, Pair("What?", " ", "…")).outcome is Outcome.BOTH_BAD
