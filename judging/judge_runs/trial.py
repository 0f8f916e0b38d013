"""Send one small question to a judge, to see whether it can be used, and describe the result for users."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.utils.translation import gettext

from judging.judges import KeyLost, sampling_of, server_of
from judging.model_judge import (
    Busy,
    Denied,
    Ended,
    NotAllowed,
    Pair,
    Rejected,
    Rubric,
    State,
    Unwell,
    ended,
    request,
)
from judging.models import Judge
from judging.stats.votes import Outcome

RUBRIC = Rubric("correctness", "Which answer is correct.")
QUESTION = Pair("What is two and two?", "Two and two is four.", "Two and two is seven.")
LONGEST_SECONDS = 20.0
"""The limit is short because a user waits for the page."""


@dataclass(frozen=True)
class TrialResult:
    """Result of a trial: whether it succeeded, and a message for users."""

    went_well: bool
    words: str


def try_out(judge: Judge) -> TrialResult:
    """Send one question to the judge, outside all limits. The response is not stored."""
    # Slow to import, and needed by nobody who only shows pages.
    from judging.model_judge.client import Client

    try:
        server = server_of(judge)
        sent = request(judge.model, RUBRIC, QUESTION, sampling_of(judge))
        with Client(replace(server, seconds=min(server.seconds, LONGEST_SECONDS))) as client:
            return _told(judge, ended(client.ask(sent), RUBRIC))
    except (Busy, Denied, KeyLost, NotAllowed, Rejected, Unwell, ValueError) as error:
        said = gettext("%(judge)s cannot be asked now: %(why)s")
        return TrialResult(False, said % {"judge": judge.name, "why": error})


def _told(judge: Judge, end: Ended) -> TrialResult:
    what = {"judge": judge.name, "step": end.reading.step if end.reading else "", "why": end.why}
    if end.state is not State.DONE:
        return TrialResult(False, gettext("%(judge)s answered, but gave no verdict: %(why)s.") % what)
    if end.outcome is not Outcome.A:
        return TrialResult(
            False, gettext("%(judge)s answered and was understood, but took seven for two and two.") % what
        )
    return TrialResult(True, gettext("%(judge)s answered and was understood (read as %(step)s).") % what)
