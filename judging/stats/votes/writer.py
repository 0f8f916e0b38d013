"""Write judgments as lines in the published format or FastChat's. Reading them back gives the same board."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from judging.stats.votes.judgments import TIE_THRESHOLD, Judgment
from judging.stats.votes.outcomes import COUNTED
from judging.stats.votes.rows import WINNERS

LIKE_A_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
WINNER_WORDS = {outcome: word for word, outcome in WINNERS.items()}


def published_lines(judgments: Iterable[Judgment]) -> Iterator[str]:
    """Yield one line per judgment, with the judge's scores.

    Raise ValueError for a verdict without scores: the format has nothing else, and other programs would read the line
    as a tie.
    """
    for number, judgment in enumerate(judgments, 1):
        if judgment.scores is None and judgment.verdict in COUNTED:
            raise ValueError(
                f"judgment {number}, {judgment.model_a} against {judgment.model_b}, has a winner but no scores, "
                "which the published format cannot hold; use FastChat's"
            )
        row = _names(judgment) | {"dimension": judgment.criterion, "prompt_id": _number_or_text(judgment.prompt)}
        row["scores"] = judgment.scores and list(judgment.scores)
        if judgment.verdict is not None:
            row["winner"] = WINNER_WORDS[judgment.verdict]
        row |= _preference(judgment)
        yield _line(row | _order(judgment) | _rest(judgment))


def fastchat_lines(judgments: Iterable[Judgment], tie_threshold: float = TIE_THRESHOLD) -> Iterator[str]:
    """Yield one line per judgment, with the winner by verdict or scores, and the scores if there are any."""
    for judgment in judgments:
        row = {"question_id": _number_or_text(judgment.prompt)} | _names(judgment)
        row |= {"winner": WINNER_WORDS[judgment.outcome(tie_threshold)], "dimension": judgment.criterion}
        if judgment.scores:
            row["scores"] = list(judgment.scores)
        row |= _preference(judgment)
        # Of a mere winner, a was on the left; an unknown order must be stated.
        is_mere_winner = not judgment.scores and judgment.preference is None
        if not (judgment.order_known and is_mere_winner):
            row |= _order(judgment) if judgment.order_known else {"order_ab": None}
        yield _line(row | _rest(judgment))


FORMATS: dict[str, Callable[[Iterable[Judgment]], Iterator[str]]] = {
    "published": published_lines,
    "fastchat": fastchat_lines,
}


def _names(judgment: Judgment) -> dict[str, Any]:
    return {"model_a": judgment.model_a, "model_b": judgment.model_b}


def _order(judgment: Judgment) -> dict[str, Any]:
    return {"order_ab": [judgment.model_a, judgment.model_b]} if judgment.order_known else {}


def _preference(judgment: Judgment) -> dict[str, Any]:
    """Return a soft preference as AlpacaEval writes it: from 1, all for a, to 2, none for a."""
    return {} if judgment.preference is None else {"preference": 2 - judgment.preference}


def _rest(judgment: Judgment) -> dict[str, Any]:
    fields: dict[str, Any] = {"judge": judgment.annotator, "judge_kind": "person" if judgment.is_person else ""}
    category = judgment.categories[0] if len(judgment.categories) == 1 else list(judgment.categories)
    fields |= {
        "category": category,
        "lengths": judgment.lengths and list(judgment.lengths),
        "contestants": list(judgment.other_contestants),
    }
    fields["sample"] = judgment.sample
    return {key: value for key, value in fields.items() if value}


def _number_or_text(prompt: str) -> int | str:
    return int(prompt) if LIKE_A_NUMBER.fullmatch(prompt) else prompt


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row)
