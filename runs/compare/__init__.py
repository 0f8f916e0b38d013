"""Runs beside each other, as rows: where they ended and how far from a baseline, and where their configs differ."""

from runs.compare.baseline_table import BaselineRow, Cell, Setting, standings
from runs.compare.cautions import cautions
from runs.compare.config_diff import ConfigDiff, config_diff
from runs.compare.environments import Difference, RanOn, differences, in_words, newest_of, ran_on
from runs.compare.final_results import OUTCOMES, Final, Outcome, finals

__all__ = [
    "OUTCOMES",
    "BaselineRow",
    "Cell",
    "ConfigDiff",
    "Difference",
    "Final",
    "Outcome",
    "RanOn",
    "Setting",
    "cautions",
    "config_diff",
    "differences",
    "finals",
    "in_words",
    "newest_of",
    "ran_on",
    "standings",
]
