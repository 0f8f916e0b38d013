"""Runs beside each other, as rows: where they ended and how far from a baseline, and where their configs differ."""

from runs.compare.cautions import cautions
from runs.compare.config_diff import ConfigDiff, config_diff
from runs.compare.finals import OUTCOMES, Final, Outcome, finals
from runs.compare.standings import Cell, Setting, Standing, standings

__all__ = [
    "OUTCOMES",
    "Cell",
    "ConfigDiff",
    "Final",
    "Outcome",
    "Setting",
    "Standing",
    "cautions",
    "config_diff",
    "finals",
    "standings",
]
