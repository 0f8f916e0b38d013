"""Runs beside each other, as rows: where they ended and how far from a baseline, and where their configs differ."""

from runs.compare.baseline_table import BaselineRow, Cell, Setting, standings
from runs.compare.cautions import cautions
from runs.compare.config_diff import ConfigDiff, config_diff
from runs.compare.environments import Difference, RanOn, differences, in_words, newest_of, ran_on
from runs.compare.final_results import OUTCOMES, Final, Outcome, finals
from runs.compare.keys import key_names, key_sections
from runs.compare.options import Settings, settings_of
from runs.compare.page import CHART_PX, TABLE_PX, charts_of, page_context, standings_context
from runs.compare.selection import Choice, choice_of, query_of

__all__ = [
    "CHART_PX",
    "OUTCOMES",
    "TABLE_PX",
    "BaselineRow",
    "Cell",
    "Choice",
    "ConfigDiff",
    "Difference",
    "Final",
    "Outcome",
    "RanOn",
    "Setting",
    "Settings",
    "cautions",
    "charts_of",
    "choice_of",
    "config_diff",
    "differences",
    "finals",
    "in_words",
    "key_names",
    "key_sections",
    "newest_of",
    "page_context",
    "query_of",
    "ran_on",
    "settings_of",
    "standings",
    "standings_context",
]
