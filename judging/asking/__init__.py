"""Asks model judges: what there is to ask, at whose cost, how often, and what came of it. Jobs call `work`."""

from judging.asking.assignments import AGAIN, CannotAsk, Order, cancel, go_on, pause, start
from judging.asking.by_rules import NotByRules, judge_all
from judging.asking.calibrating import measure
from judging.asking.questions import fill, planned
from judging.asking.repeating import Repeated, repeated
from judging.asking.standing import Estimate, Standing, estimate, standing, standings
from judging.asking.transcript import transcript
from judging.asking.trying import Tried, try_out
from judging.asking.working import work

__all__ = [
    "AGAIN",
    "CannotAsk",
    "Estimate",
    "NotByRules",
    "Order",
    "Repeated",
    "Standing",
    "Tried",
    "cancel",
    "estimate",
    "fill",
    "go_on",
    "judge_all",
    "measure",
    "pause",
    "planned",
    "repeated",
    "standing",
    "standings",
    "start",
    "transcript",
    "try_out",
    "work",
]
