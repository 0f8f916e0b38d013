"""Charts as plain dicts of plotly JSON, each with its summary and its table. No Plotly is imported here."""

from runs.charts.axes import ACCURACY, MEASURES, REWARD, Look, Measure
from runs.charts.chart import MEASURED, MINUS, THIN, X_WORDS, Cell, Chart, Table, course, number, numbers, share, spoken
from runs.charts.groups import Curves, Group, groups_of, label, line, look
from runs.charts.marks import Mark, marks
from runs.charts.measurement import averaged, ways_of, with_partial, with_provenance, without_means
from runs.charts.overlay import MAIN_KEYS, OverlayOptions, overlay
from runs.charts.phases import PHASES
from runs.charts.run_lines import TITLES, Spec, draw_charts
from runs.charts.style import METHODS, axis, colour, layout

__all__ = [
    "ACCURACY",
    "MAIN_KEYS",
    "MEASURED",
    "MEASURES",
    "METHODS",
    "MINUS",
    "PHASES",
    "REWARD",
    "THIN",
    "TITLES",
    "X_WORDS",
    "Cell",
    "Chart",
    "Curves",
    "Group",
    "Look",
    "Mark",
    "Measure",
    "OverlayOptions",
    "Spec",
    "Table",
    "averaged",
    "axis",
    "colour",
    "course",
    "draw_charts",
    "groups_of",
    "label",
    "layout",
    "line",
    "look",
    "marks",
    "number",
    "numbers",
    "overlay",
    "share",
    "spoken",
    "ways_of",
    "with_partial",
    "with_provenance",
    "without_means",
]
