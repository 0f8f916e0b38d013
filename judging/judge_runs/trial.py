"""Send one small question to a judge, to see whether it can be used, and describe the result for users."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.utils.translation import gettext

from judging.judges import KeyLost, sampling_of, server_of
from judging.model_judge import (
    AccessDenied,
    CallResult,
    HostNotAllowed,
    Pair,
    RequestRejected,
    Rubric,
    ServerBusy,
    ServerUnavailable,
    State,
    interpret_reply,
    request,
)
from judging.models import Judge
from judging.stats.votes import Outcome

RUBRIC = Rubric("correctness", "Which answer is correct.")
QUESTION = Pair("What is two and two?", "Two and two is four.", "Two and two is seven.")
MAX_SECONDS = 20.0
"""The limit is short because a user waits for the page."""


@dataclass(frozen=True)
class TrialResult:
    """Result of a trial: whether it succeeded, and a message for users."""

    has_succeeded: bool
    message: str


def run_trial(judge: Judge) -> TrialResult:
    """Send one question to the judge, outside all limits. The response is not stored."""
    # Slow to import, and not needed by processes that only show pages.
    from judging.model_judge.client import Client

    try:
        server = server_of(judge)
        sent = request(judge.model, RUBRIC, QUESTION, sampling_of(judge))
        with Client(replace(server, seconds=min(server.seconds, MAX_SECONDS))) as client:
            return _describe(judge, interpret_reply(client.ask(sent), RUBRIC))
    except (ServerBusy, AccessDenied, KeyLost, HostNotAllowed, RequestRejected, ServerUnavailable, ValueError) as error:
        message = gettext("%(judge)s cannot be asked now: %(why)s")
        return TrialResult(False, message % {"judge": judge.name, "why": error})


def _describe(judge: Judge, end: CallResult) -> TrialResult:
    params = {"judge": judge.name, "step": end.reading.step if end.reading else "", "why": end.reason}
    if end.state is not State.DONE:
        return TrialResult(False, gettext("%(judge)s replied without a verdict: %(why)s.") % params)
    if end.outcome is not Outcome.A:
        return TrialResult(
            False, gettext("%(judge)s replied with a verdict, but chose seven for two and two.") % params
        )
    return TrialResult(True, gettext("%(judge)s replied with the correct verdict (parsed as %(step)s).") % params)
