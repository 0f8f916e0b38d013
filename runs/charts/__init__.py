"""Charts as plain dicts of plotly JSON, each with its summary and its table. No Plotly is imported here."""

from runs.charts.absence import explain_absence
from runs.charts.axes import SCALES, ChartOptions
from runs.charts.chart import MEASURED, X_WORDS, Chart, chart_slug, numbers, places, spoken
from runs.charts.default_charts import default_charts, default_measures, expected_keys, leave_out_empty
from runs.charts.descriptions import course
from runs.charts.group_charts import CHARTS, draw_names, group_charts, keys_for_chart
from runs.charts.group_ends import GroupEnd, read_group_ends
from runs.charts.groups import Curves, Group, groups_by, groups_of, label, line, look
from runs.charts.line_styles import styled_groups
from runs.charts.marks import Mark, marks
from runs.charts.measurement import averaged, ways_of, with_partial, with_provenance, without_means
from runs.charts.overlay import overlay
from runs.charts.phases import PHASES
from runs.charts.run_lines import Spec, draw_charts
from runs.charts.style import axis, colour, layout
from runs.tables import MINUS, THIN, Cell, Table, latex, number, share

__all__ = [
    "CHARTS",
    "MEASURED",
    "MINUS",
    "PHASES",
    "SCALES",
    "THIN",
    "X_WORDS",
    "Cell",
    "Chart",
    "ChartOptions",
    "Curves",
    "Group",
    "GroupEnd",
    "Mark",
    "Spec",
    "Table",
    "averaged",
    "axis",
    "chart_slug",
    "colour",
    "course",
    "default_charts",
    "default_measures",
    "draw_charts",
    "draw_names",
    "expected_keys",
    "explain_absence",
    "group_charts",
    "groups_by",
    "groups_of",
    "keys_for_chart",
    "label",
    "latex",
    "layout",
    "leave_out_empty",
    "line",
    "look",
    "marks",
    "number",
    "numbers",
    "overlay",
    "places",
    "read_group_ends",
    "share",
    "spoken",
    "styled_groups",
    "ways_of",
    "with_partial",
    "with_provenance",
    "without_means",
]
