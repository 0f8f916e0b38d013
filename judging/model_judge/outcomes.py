"""Turn a reply into a call's result: a verdict, or the reason why there is none. None of these reasons is a tie."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from judging.model_judge.parser import Reading, read, without_drafts
from judging.model_judge.replies import Reply
from judging.model_judge.rubric import Rubric
from judging.stats.votes import Outcome

REFUSAL = re.compile(
    r"^\W*(?:i['’]?m\s+(?:very\s+|really\s+)?sorry|i\s+am\s+sorry|sorry\b|i\s+(?:can(?:no|['’])?t|won['’]?t|will\s+not|"
    r"am\s+(?:unable|not\s+able))|i['’]m\s+(?:unable|not\s+able)|as\s+an\s+ai\b)",
    re.IGNORECASE,
)


class State(StrEnum):
    """Final state of a call: judged, or the kind of failure."""

    DONE = "done"
    UNPARSED = "unparsed"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True)
class CallResult:
    """Result of a call. outcome: by position, A is the first response. reading: of the text, if it was parsed."""

    state: State
    outcome: Outcome
    reason: str = ""
    reading: Reading | None = None


def interpret_reply(reply: Reply, rubric: Rubric) -> CallResult:
    """Return the result of a reply."""
    if reply.refusal or reply.finish_reason == "content_filter":
        return CallResult(State.REFUSED, Outcome.REFUSED, reply.refusal or "the server's filter stopped the reply")
    if reply.finish_reason == "length":
        return failed_result("the reply is too long: it was cut off before a complete verdict")
    if not reply.text.strip():
        return failed_result("the reply is empty")
    reading = read(reply.text, rubric)
    if reading.outcome is not Outcome.UNPARSED:
        return CallResult(State.DONE, reading.outcome, reading=reading)
    if reading.step == "none" and REFUSAL.match(without_drafts(reply.text)):
        return CallResult(State.REFUSED, Outcome.REFUSED, "the judge declined", reading)
    return CallResult(State.UNPARSED, Outcome.UNPARSED, reading.reason, reading)


def failed_result(reason: str) -> CallResult:
    """Return the result of a failed call."""
    return CallResult(State.FAILED, Outcome.ERROR, reason)
