"""Rows -> figures: plain dicts of plotly JSON, each with its words and its table. No Plotly is imported here."""

from runs.charts.axes import MEASURES, Look
from runs.charts.chart import Chart, Table
from runs.charts.comparison import CHARTS, compare, keys_of
from runs.charts.groups import Group, groups_of, label
from runs.charts.marks import Mark, marks
from runs.charts.measurement import with_provenance
from runs.charts.overlay import MAIN_KEYS, OverlayOptions, overlay
from runs.charts.population import population_chart
from runs.charts.reward_cost import Cloud, reward_cost
from runs.charts.sections import SYSTEM, Plan, Section, plans
from runs.charts.single import Spec, drawn
from runs.charts.words import number, share

__all__ = [
    "CHARTS",
    "MAIN_KEYS",
    "MEASURES",
    "SYSTEM",
    "Chart",
    "Cloud",
    "Group",
    "Look",
    "Mark",
    "OverlayOptions",
    "Plan",
    "Section",
    "Spec",
    "Table",
    "compare",
    "drawn",
    "groups_of",
    "keys_of",
    "label",
    "marks",
    "number",
    "overlay",
    "plans",
    "population_chart",
    "reward_cost",
    "share",
    "with_provenance",
]
