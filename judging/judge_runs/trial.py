"""One small question to a judge, to see whether it can be asked: what it says in words, and what was understood."""

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
"""Somebody waits for the page."""


@dataclass(frozen=True)
class TrialResult:
    """What came of it, for people."""

    went_well: bool
    words: str


def try_out(judge: Judge) -> TrialResult:
    """Asks once, outside all limits; the answer is kept nowhere."""
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
