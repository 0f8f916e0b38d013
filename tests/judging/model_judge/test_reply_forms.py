"""Replies in random combinations of the forms that models use: the verdict is read, and none from a cut object."""

from __future__ import annotations

import random
from dataclasses import dataclass

from judging.model_judge import Rubric, read
from judging.stats.votes import Outcome

RUBRIC = Rubric("helpfulness", "Which helps more.")
SCORES = {Outcome.A: (8, 4), Outcome.B: (3, 9), Outcome.TIE: (6, 6)}
TIES = ("tie", "Tie", "tie.", "draw", "TIE", "A tie")
SIDES = (
    "{0}",
    "Answer {0}",
    "{0}.",
    "Response {0}",
    "response {1}",
    "{1}",
    "**{0}**",
    "[[{0}]]",
    "Assistant {0} is better",
)
NUMBERS = ("{0}", "{1}{0}{1}", "{1}{0}/10{1}", "{0}.0", "{1}{0} out of 10{1}", "{0}/10")
PASSAGES = (
    "A is right.\nB is wrong.", "\tx", r"\( x^2 \ge 0 \)", r"\frac{1}{2}", r"\[ y \]", 'says "yes" and', "it's fine",
    "100% {sure}", r"C:\temp\new", '{"x": 1} is shown', "a, b, and c: d", "(see [1], [2])", "“so”", "<b>bold</b>",
    "// no comment", "# heading", "/* c */", "verdict: mixed", "A: 7, B: 5", "<think>hm</think>",
)  # fmt: skip
COUNT = 1000


@dataclass(frozen=True)
class _Reply:
    """A reply: the object, the text before and after it, and the outcome that it states."""

    before: str
    body: str
    after: str
    outcome: Outcome


def _random_reply(chance: random.Random) -> _Reply:
    outcome, quote = chance.choice(list(SCORES)), chance.choice('""\'')
    score_a, score_b = (chance.choice(NUMBERS).format(score, quote) for score in SCORES[outcome])
    words = (
        chance.choice(TIES)
        if outcome is Outcome.TIE
        else chance.choice(SIDES).format(*(outcome.name, outcome.name.lower()))
    )
    reasons = " ".join(chance.sample(PASSAGES, chance.randint(1, 4)))
    if quote == "'":
        reasons = reasons.replace('"', "")
    elif chance.random() < 0.3:
        reasons = reasons.replace('"', r"\"")
    values = {
        "reasoning": f"{quote}{reasons}{quote}", "score_a": score_a, "score_b": score_b,
        "verdict": f"{quote}{words}{quote}", "both_bad": chance.choice(("false", "False")),
    }  # fmt: skip
    members = [f"{quote}{_key(name, chance)}{quote}: {value}" for name, value in values.items()]
    separator = chance.choice((", ", ",\n  ", ","))
    body = f"{{{separator.join(members)}{chance.choice(('', '', ',', ', // end'))}\n}}"
    before = chance.choice(("", "Here is my verdict:\n", "```json\n", '<think>{"verdict": "A"} or [[B]]</think>\n'))
    return _Reply(before, body, chance.choice(("", "\n```", "\nI hope this helps!")), outcome)


def _key(name: str, chance: random.Random) -> str:
    return chance.choice((name, name, name.title(), name.replace("_", " ")))


def test_verdict_is_read_in_every_combination_of_forms() -> None:
    chance = random.Random(1)
    for _ in range(COUNT):
        reply = _random_reply(chance)
        text = reply.before + reply.body + reply.after
        reading = read(text, RUBRIC)
        assert (reading.outcome, reading.scores) == (reply.outcome, SCORES[reply.outcome]), text


def test_verdict_is_not_read_from_an_object_that_is_cut() -> None:
    chance = random.Random(2)
    for _ in range(COUNT):
        reply = _random_reply(chance)
        text = reply.before + reply.body[: chance.randrange(1, len(reply.body))]
        assert read(text, RUBRIC).outcome is Outcome.UNPARSED, text
