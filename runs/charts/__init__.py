"""Rows -> figures: plain dicts of plotly JSON, each with its words and its table. No Plotly is imported here."""

from runs.charts.axes import MEASURES, Look
from runs.charts.chart import Chart, Table
from runs.charts.groups import Group, groups_of, label
from runs.charts.marks import Mark, marks
from runs.charts.measurement import with_provenance
from runs.charts.overlay import MAIN_KEYS, OverlayOptions, overlay
from runs.charts.run_lines import Spec, drawn
from runs.charts.wording import number, share

__all__ = [
    "MAIN_KEYS",
    "MEASURES",
    "Chart",
    "Group",
    "Look",
    "Mark",
    "OverlayOptions",
    "Spec",
    "Table",
    "drawn",
    "groups_of",
    "label",
    "marks",
    "number",
    "overlay",
    "share",
    "with_provenance",
]
