"""The interface of every scorer: a service over HTTP, or tiny models in the process."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

from workers.outgoing import InvalidReply, parse_json
from workers.outgoing.json_text import prepare
from workers.outgoing.lenient_json import RepeatedValues, UnreadableJson, read_object
from workers.outgoing.replies import describe_value

REWARDS, COSTS = "rewards", "costs"
NO_JSON = "the response is not JSON"
NUMERAL = re.compile(r"[-+]?\d{1,400}(?:\.\d{0,400})?(?:[eE][-+]?\d{1,4})?", re.ASCII)


class ScorerFailed(RuntimeError):
    """There are no scores, and none are made up. The message names the scorer, the number of tries and the error."""


class ScorerRefused(ScorerFailed):
    """The scorer, or the site that knows its address, rejects the request: another try changes nothing."""


@dataclass(frozen=True)
class Scores:
    """Scores of one answer. `reward`: the higher, the more helpful. `cost`: above 0 is unsafe. Both are finite."""

    reward: float
    cost: float


class Scorer(Protocol):
    """A source of scores: it scores all answers of a call or none."""

    def score(self, prompts: Sequence[str], responses: Sequence[str]) -> list[Scores]:
        """Return the scores of each pair, in order. Raise ScorerFailed."""


def parse_scores(reply: bytes, count: int) -> list[Scores]:
    """Return the `count` Scores of a scorer's reply. Raise InvalidReply, a ValueError, if a list is missing, too short
    or too long, or holds anything but finite numbers.

    The reply is an object with the lists `rewards` and `costs`, or an object that holds this one under a single name.
    Scores are numbers, numerals in quotes, or lists of one of these. The JSON need not be strict, but must be complete.
    """
    lists = _find_lists(_parse_reply(reply))
    rewards, costs = _numbers(REWARDS, lists.get(REWARDS), count), _numbers(COSTS, lists.get(COSTS), count)
    return [Scores(*pair) for pair in zip(rewards, costs, strict=True)]


def _parse_reply(reply: bytes) -> dict[str, Any]:
    try:
        text = prepare(reply.decode(json.detect_encoding(reply)).strip())
    except UnicodeDecodeError:
        raise InvalidReply(NO_JSON) from None
    if not text.startswith("{"):
        # Tells another value of JSON from text that is none.
        parse_json(text)
        raise InvalidReply("the response is not a JSON object")
    try:
        value, end = read_object(text)
    except UnreadableJson as error:
        raise InvalidReply(f"{NO_JSON}: it ends too early" if error.is_cut else NO_JSON) from None
    if text[end:].strip():
        raise InvalidReply("text follows the JSON object of the response")
    return value


def _find_lists(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the object with the scores: the reply, or the only one of its values that has any."""
    if REWARDS in reply or COSTS in reply:
        return reply
    nested = [value for value in reply.values() if isinstance(value, dict) and (REWARDS in value or COSTS in value)]
    return nested[0] if len(nested) == 1 else reply


def _numbers(name: str, values: Any, count: int) -> list[float]:
    if isinstance(values, RepeatedValues):
        raise InvalidReply(f"{name} is in the response {len(values)} times, with different values")
    if not isinstance(values, list) or len(values) != count:
        received = f"{len(values)}" if isinstance(values, list) else describe_value(values)
        raise InvalidReply(f"{name} must be a list of {count} numbers, not {received}")
    return [_number(f"{name}[{n}]", value) for n, value in enumerate(values)]


def _number(name: str, value: Any) -> float:
    """Return a score as a finite number. Models with one output send it as a list of one number."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str) and NUMERAL.fullmatch(value.strip()):
        value = float(value)
    if not isinstance(value, Real) or isinstance(value, bool) or not _is_finite(value):
        raise InvalidReply(f"{name} must be a finite number, not {describe_value(value)}")
    return float(value)


def _is_finite(value: Real) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        # An integer of more digits than a float has.
        return False
