"""Asks model judges: what there is to ask, at whose cost, how often, and what came of it. Jobs call `work`."""

from judging.judge_runs.calibration import Repeated, measure, repeated
from judging.judge_runs.commands import AGAIN, CannotAsk, Order, cancel, go_on, pause, start
from judging.judge_runs.questions import fill, planned
from judging.judge_runs.results import transcript
from judging.judge_runs.rule_judge import NotByRules, judge_all
from judging.judge_runs.status import AssignmentStatus, Estimate, estimate, standing, standings
from judging.judge_runs.trial import TrialResult, try_out
from judging.judge_runs.worker import work

__all__ = [
    "AGAIN",
    "AssignmentStatus",
    "CannotAsk",
    "Estimate",
    "NotByRules",
    "Order",
    "Repeated",
    "TrialResult",
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
