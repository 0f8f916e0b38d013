"""What a reply comes to: a verdict, or one of the ways in which a judge does not judge. None of those is a tie."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from judging.model_judge.parser import Reading, read
from judging.model_judge.replies import Reply
from judging.model_judge.rubric import Rubric
from judging.stats.votes import Outcome

REFUSES = re.compile(
    r"^\W*(?:i['’]?m\s+(?:very\s+|really\s+)?sorry|i\s+am\s+sorry|sorry\b|i\s+(?:can(?:no|['’])?t|won['’]?t|will\s+not|"
    r"am\s+(?:unable|not\s+able))|i['’]m\s+(?:unable|not\s+able)|as\s+an\s+ai\b)",
    re.IGNORECASE,
)


class State(StrEnum):
    """How a call ended: judged, or why not."""

    DONE = "done"
    UNPARSED = "unparsed"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True)
class Ended:
    """A call's end. outcome: of the pair as it was shown. reading: of the text, where it was read."""

    state: State
    outcome: Outcome
    why: str = ""
    reading: Reading | None = None


def ended(reply: Reply, rubric: Rubric) -> Ended:
    """What a reply comes to."""
    if reply.refusal or reply.finish_reason == "content_filter":
        return Ended(State.REFUSED, Outcome.REFUSED, reply.refusal or "the server's filter stopped the answer")
    if reply.finish_reason == "length":
        return failed("the answer is longer than it may be: it was cut off before its verdict could be trusted")
    if not reply.text.strip():
        return failed("the answer is empty")
    reading = read(reply.text, rubric)
    if reading.outcome is not Outcome.UNPARSED:
        return Ended(State.DONE, reading.outcome, reading=reading)
    if reading.step == "none" and REFUSES.match(reply.text):
        return Ended(State.REFUSED, Outcome.REFUSED, "the judge declined in its own words", reading)
    return Ended(State.UNPARSED, Outcome.UNPARSED, reading.why, reading)


def failed(why: str) -> Ended:
    """A call that came to nothing."""
    return Ended(State.FAILED, Outcome.ERROR, why)
