"""Judgments -> lines in the published format or FastChat's. What is read back gives the same board."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from judging.stats.votes.judgments import TIE_THRESHOLD, Judgment
from judging.stats.votes.outcomes import COUNTED
from judging.stats.votes.rows import WINNERS

LIKE_A_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
WORDS = {outcome: word for word, outcome in WINNERS.items()}


def published(judgments: Iterable[Judgment]) -> Iterator[str]:
    """A line each, with the scores that the judge gave. Raises ValueError for a judgment that was made without
    scores: the format has nothing else, and other programs would read it as a tie."""
    for number, one in enumerate(judgments, 1):
        if one.scores is None and one.verdict in COUNTED:
            raise ValueError(
                f"judgment {number}, {one.model_a} against {one.model_b}, has a winner and no scores, "
                "which the published format cannot say; write FastChat's"
            )
        row = _names(one) | {"dimension": one.criterion, "prompt_id": _number_or_text(one.prompt)}
        row["scores"] = one.scores and list(one.scores)
        if one.verdict is not None:
            row["winner"] = WORDS[one.verdict]
        yield _line(row | _order(one) | _rest(one))


def fastchat(judgments: Iterable[Judgment], tie_threshold: float = TIE_THRESHOLD) -> Iterator[str]:
    """A line each, with the winner that scores stand for, and the scores too where there are any."""
    for one in judgments:
        row = {"question_id": _number_or_text(one.prompt)} | _names(one)
        row |= {"winner": WORDS[one.outcome(tie_threshold)], "dimension": one.criterion}
        if one.scores:
            row["scores"] = list(one.scores)
        # Absent means that a was on the left; what is not known must be said.
        row |= _order(one) if one.order_known and one.scores else {} if one.order_known else {"order_ab": None}
        yield _line(row | _rest(one))


FORMATS: dict[str, Callable[[Iterable[Judgment]], Iterator[str]]] = {"published": published, "fastchat": fastchat}


def _names(one: Judgment) -> dict[str, Any]:
    return {"model_a": one.model_a, "model_b": one.model_b}


def _order(one: Judgment) -> dict[str, Any]:
    return {"order_ab": [one.model_a, one.model_b]} if one.order_known else {}


def _rest(one: Judgment) -> dict[str, Any]:
    said: dict[str, Any] = {"judge": one.annotator, "judge_kind": "person" if one.is_person else ""}
    category = one.categories[0] if len(one.categories) == 1 else list(one.categories)
    said |= {"category": category, "lengths": one.lengths and list(one.lengths), "contestants": list(one.also)}
    said["sample"] = one.sample
    return {key: value for key, value in said.items() if value}


def _number_or_text(prompt: str) -> int | str:
    return int(prompt) if LIKE_A_NUMBER.fullmatch(prompt) else prompt


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row)
