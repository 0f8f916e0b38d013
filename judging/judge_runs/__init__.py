"""Run model judges on tournaments and gold sets: questions, cost, rate limits and results. Jobs call `work`."""

from judging.judge_runs.calibration import RepeatConsistency, measure, measure_repeats
from judging.judge_runs.commands import RETRIED_STATES, CannotAsk, cancel, pause, resume, start
from judging.judge_runs.questions import count_planned, fill
from judging.judge_runs.results import transcript
from judging.judge_runs.rule_judge import NotRulesJudge, judge_all
from judging.judge_runs.status import AssignmentStatus, Estimate, estimate, get_status
from judging.judge_runs.trial import TrialResult, run_trial
from judging.judge_runs.worker import work

__all__ = [
    "RETRIED_STATES",
    "AssignmentStatus",
    "CannotAsk",
    "Estimate",
    "NotRulesJudge",
    "RepeatConsistency",
    "TrialResult",
    "cancel",
    "count_planned",
    "estimate",
    "fill",
    "get_status",
    "judge_all",
    "measure",
    "measure_repeats",
    "pause",
    "resume",
    "run_trial",
    "start",
    "transcript",
    "work",
]
