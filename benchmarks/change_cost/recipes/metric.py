"""A metric with title, unit, direction, help, section, and a tile for the runs of two tasks."""

from benchmarks.change_cost.recipe import Create, Edit, Recipe

ROW = """    Metric(
        "response/refused_ratio", _("Refusals"), SHARE_OF_RESPONSES, _("Share of held-out responses that decline."),
        LOWER, is_share=True, section="held-out", headline=("safety", "conciseness"),
    ),
    Metric(PASS,"""

TEST = '''"""The share of refusals: a metric on the page of a run, in tables and in comparisons."""

import pytest
from django.test import Client

from runs.models import Experiment, Run
from tests.runs.full_runs import make_run, record
from workers.records import Metric

pytestmark = pytest.mark.django_db


def refusing_run(experiment: Experiment, preset: str, seed: int, *ratios: float) -> Run:
    run = make_run(experiment, preset, seed)
    record(run, [Metric(i, {"reward/mean": 1.0, "response/refused_ratio": r}) for i, r in enumerate(ratios)])
    return run


def test_share_of_refusals_is_shown_wherever_metrics_are(ada_client: Client, experiment: Experiment) -> None:
    safe = refusing_run(experiment, "es-safety-tiny", 0, 0.5, 0.25, 0.75)
    concise = refusing_run(experiment, "es-tiny", 1, 0.4)

    for run, percent in ((safe, "75\\u202f%"), (concise, "40\\u202f%")):
        page = ada_client.get(run.get_absolute_url())
        (tile,) = (tile for tile in page.context["tiles"] if tile.title == "Refusals")
        assert tile.last_text == percent and f'id="chart-{tile.chart}"' in page.content.decode()
    curves = ada_client.get(f"{safe.get_absolute_url()}curves/")
    held_out = next(section for section, _varying, _zeros in curves.context["sections"] if section.slug == "held-out")
    chart = held_out.charts[-1]
    assert (chart.title, chart.figure["layout"]["yaxis"]["tickformat"]) == ("Refusals", ".0%")
    assert chart.help.startswith("Share of held-out responses that decline.")

    columns = {"col": ["response/refused_ratio", "response/refused_ratio.best"], "sort": "response/refused_ratio"}
    table = ada_client.get(experiment.get_absolute_url(), columns).context["table"]
    assert [heading.column.title for heading in table.headings] == ["Run", "Refusals", "Refusals best"]
    assert [[cell.value for cell in row.cells] for row in table.rows] == [[0.4, 0.4], [0.75, 0.25]]
    assert "75\\u202f%" in ada_client.get(experiment.get_absolute_url(), columns).content.decode()

    compared = ada_client.get("/compare/", {"run": [safe.uid, concise.uid]})
    outcomes = {outcome.heading: outcome.higher_is for outcome, _ways in compared.context["standing_heads"]}
    assert outcomes["Refusals"] == "worse"
    assert "Refusals" in [placed.chart.title for placed in compared.context["placed_charts"]]


def test_runs_of_other_tasks_have_no_tile_of_refusals(ada_client: Client, experiment: Experiment) -> None:
    run = refusing_run(experiment, "es-countdown-tiny", 0, 0.5)
    titles = [tile.title for tile in ada_client.get(run.get_absolute_url()).context["tiles"]]
    assert titles == ["Held-out reward"]
'''

RECIPE = Recipe(
    title="a metric with title, direction, section and tile",
    name="response/refused_ratio",
    before="4–9 files",
    goal=1,
    steps=(
        Edit("runs/metrics/catalogue.py", "    Metric(PASS,", ROW),
        Create("tests/runs/metrics/test_refusals.py", TEST),
    ),
    tests=("tests/runs/metrics/test_refusals.py", "tests/runs/metrics/test_catalogue.py"),
)
