"""Comparison of runs: final results, distance from a baseline, environments and differences of configs."""

from runs.compare.baseline_table import BaselineChoice, BaselineRow, Cell, Setting, choose_baseline, standings
from runs.compare.cautions import cautions
from runs.compare.charts import CHART_PX, TABLE_PX, charts_for_names, comparison_groups
from runs.compare.config_diff import ConfigDiff, config_diff
from runs.compare.environments import (
    AttemptEnvironment,
    Difference,
    describe_differences,
    environment_differences,
    load_environments,
    newest_environments,
)
from runs.compare.final_results import OUTCOMES, Final, finals
from runs.compare.keys import key_names, key_sections
from runs.compare.labels import distinct_names
from runs.compare.options import ComparisonSettings, comparison_grouping, parse_settings, shared_group_keys
from runs.compare.page import page_context, standings_context
from runs.compare.selection import Choice, chart_query, parse_choice

__all__ = [
    "CHART_PX",
    "OUTCOMES",
    "TABLE_PX",
    "AttemptEnvironment",
    "BaselineChoice",
    "BaselineRow",
    "Cell",
    "Choice",
    "ComparisonSettings",
    "ConfigDiff",
    "Difference",
    "Final",
    "Setting",
    "cautions",
    "chart_query",
    "charts_for_names",
    "choose_baseline",
    "comparison_grouping",
    "comparison_groups",
    "config_diff",
    "describe_differences",
    "distinct_names",
    "environment_differences",
    "finals",
    "key_names",
    "key_sections",
    "load_environments",
    "newest_environments",
    "page_context",
    "parse_choice",
    "parse_settings",
    "shared_group_keys",
    "standings",
    "standings_context",
]
