"""Flags of runs whose evaluations look as if the training cheats. Only this package writes flags."""

from runs.flags.check import check_all_due, check_now, check_run, mark_ended
from runs.flags.commands import CannotChangeThresholds, CannotDismiss, dismiss, set_thresholds, undo_dismissal
from runs.flags.queries import FlagView, flags_of_run, open_flags, thresholds_of
from runs.flags.sentences import reason_of, test_of, title_of

__all__ = [
    "CannotChangeThresholds",
    "CannotDismiss",
    "FlagView",
    "check_all_due",
    "check_now",
    "check_run",
    "dismiss",
    "flags_of_run",
    "mark_ended",
    "open_flags",
    "reason_of",
    "set_thresholds",
    "test_of",
    "thresholds_of",
    "title_of",
    "undo_dismissal",
]
