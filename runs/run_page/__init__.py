"""The page of one run: its state, curves, population, engines, environment, config and log."""

from runs.run_page.charts.population import population_chart
from runs.run_page.charts.sections import SYSTEM, Plan, Section, plans
from runs.run_page.config import config_sections
from runs.run_page.curves import arrange_sections, curve_chart, curve_names, curve_sections, own_run_chart
from runs.run_page.status import status_context

__all__ = [
    "SYSTEM",
    "Plan",
    "Section",
    "arrange_sections",
    "config_sections",
    "curve_chart",
    "curve_names",
    "curve_sections",
    "own_run_chart",
    "plans",
    "population_chart",
    "status_context",
]
