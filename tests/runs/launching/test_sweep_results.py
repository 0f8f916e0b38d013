"""Results on a sweep's page: the metric, the heat map, parallel coordinates, comparisons, files and empty states."""

from __future__ import annotations

import csv
import math

import pytest
from django.urls import reverse

from runs.launching.sweeps import commands
from runs.launching.sweeps.commands import NewSweep
from runs.launching.sweeps.options import SweepMetric
from runs.launching.sweeps.table import cell_rows
from runs.models import Run, Series, Sweep
from tests.cases import each_case
from tests.runs.full_runs import evaluation, record
from tests.runs.launching.test_sweep_page import make_sweep
from workers.config import preset
from workers.records import Metric

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
HOSTILE = "<script>alert(1)</script>"


def launch(experiment, grid=None, cells=(), seeds=(0,)):
    new = NewSweep(
        base=preset("es-micro").config, grid=grid or {}, cells=list(cells), seeds=list(seeds), preset="es-micro",
        at_once=4,
    )  # fmt: skip
    return commands.launch_sweep(new, experiment, experiment.owner)


def measure(sweep, key="reward/mean"):
    """Give each run of the sweep two values of a metric: 1 above its number at first, then its number."""
    for n, run in enumerate(sweep.runs.order_by("pk")):
        record(run, [Metric(step, {key: value}, {}) for step, value in ((0, n + 1.0), (5, float(n)))])


def add_runs(experiment, cells, seeds=(0,)):
    """Create a sweep of many runs with a reward each, quickly."""
    sweep = Sweep.objects.create(
        experiment=experiment, name="many", base={}, cells=list(cells), seeds=list(seeds), at_once=1,
        created_by=experiment.owner,
    )  # fmt: skip
    runs = Run.objects.bulk_create(
        Run(
            experiment=experiment, name=f"run {n}", method="es", seed=seed, config={}, state="succeeded", sweep=sweep,
            cell=cell, created_by=experiment.owner,
        )
        for n, (cell, seed) in enumerate((cell, seed) for cell in cells for seed in seeds)
    )  # fmt: skip
    Series.objects.bulk_create(
        Series(run=run, key="reward/mean", points=1, last_step=0, last_value=n, min_value=n, max_value=n)
        for n, run in enumerate(runs)
    )
    return sweep


def page_of(client, sweep, **query):
    response = client.get(sweep.get_absolute_url(), query)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_heat_map_shows_mean_deviation_and_count(ada_client, experiment):
    sweep = launch(experiment, {"es.sigma": [0.1, 0.2], "es.population": [4, 8]}, seeds=[0, 1])
    measure(sweep)
    page = page_of(ada_client, sweep)
    assert 'class="heat-9 is-best"' in page and "higher is better" in page
    # The runs of the first cell are the first of each seed: 0 and 4.
    assert 'title="es.sigma 0.1, es.population 4: mean 2, standard deviation 2.83, seeds 0, 1"' in page
    assert page.count("<small> n = 2 </small>") == 4


def test_metric_and_summary_are_selected(ada_client, experiment):
    sweep = make_sweep(experiment)
    measure(sweep, "kl")
    page = page_of(ada_client, sweep, metric="kl", summary="max")
    assert "ranked by the mean of <code>kl</code>" in page and "lower is better" in page
    assert "<code>sigma=0.1</code> <strong>2</strong>" in page
    assert "<option selected>kl</option>" in page


def test_summary_best_follows_the_good_direction():
    assert SweepMetric("kl", "best").field == "min_value"
    assert SweepMetric("reward/mean", "best").field == "max_value"
    assert "best" not in dict(SweepMetric("response/tokens_mean").summaries)


def test_unknown_options_are_refused(ada_client, experiment):
    sweep = make_sweep(experiment)
    measure(sweep)
    for query, message in (({"summary": "nosuch"}, "summary must be one of last, best, min, max"),
                           ({"metric": "nosuch"}, "metric must be one of reward/mean")):  # fmt: skip
        response = ada_client.get(sweep.get_absolute_url(), query)
        assert response.status_code == 404 and message in response.content.decode()
    file = reverse("sweep-table", args=[sweep.pk])
    assert ada_client.get(file, {"as": "xls"}).status_code == 404
    assert ada_client.get(file, {"as": "csv", "summary": "nosuch"}).status_code == 404


def test_keys_of_the_heat_map_are_selected_and_never_equal(ada_client, experiment):
    sweep = launch(experiment, {"es.sigma": [0.1, 0.2], "es.population": [4, 8], "es.iterations": [2, 3]})
    measure(sweep)
    page = page_of(ada_client, sweep, rows="es.population", columns="es.iterations")
    assert "Each cell pools over all values of <strong>es.sigma</strong>" in page
    page = page_of(ada_client, sweep, rows="es.sigma", columns="es.sigma")
    assert page.count("selected>es.sigma</option>") == 1
    assert "rows must be one of" in page_of(ada_client, sweep, rows="nosuch")


def test_cell_pooled_over_different_measurements_has_no_mean(ada_client, experiment):
    grid = {"es.sigma": [0.1, 0.2], "es.population": [4], "evaluation.temperature": [0.5, 1.0]}
    sweep = launch(experiment, grid)
    measure(sweep, "kl")
    page = page_of(ada_client, sweep, metric="kl", rows="es.sigma", columns="es.population")
    assert page.count('<span class="unlike">≠ measured differently</span>') == 2
    assert "These values were measured differently" in page
    page = page_of(ada_client, sweep, metric="kl", rows="es.sigma", columns="evaluation.temperature")
    assert '<span class="unlike">≠ measured differently</span>' not in page


def test_partial_run_and_value_that_is_not_a_number_have_no_mean(experiment):
    sweep = make_sweep(experiment, sigmas=[0.1], seeds=[0, 1, 2])
    first, second, third = sweep.runs.order_by("pk")
    for run, value in ((first, 1.0), (second, 5.0), (third, math.nan)):
        record(run, [Metric(0, {"reward/mean": value}, {})])
    Run.objects.filter(pk=second.pk).update(state="partial")
    (row,) = cell_rows(sweep)
    assert (row.summary.mean, row.summary.n, row.summary.total) == (1.0, 1, 3)
    assert [run.is_unusable for run in row.runs] == [False, False, True]


def test_empty_state_names_the_metrics_that_runs_have(ada_client, experiment):
    sweep = make_sweep(experiment)
    page = page_of(ada_client, sweep)
    assert "No run of this sweep has reward/mean yet." in page and 'class="heat"' not in page
    measure(sweep, "kl")
    page = page_of(ada_client, sweep)
    assert 'href="?metric=kl">kl</a>' in page
    assert 'class="heat"' in page_of(ada_client, sweep, metric="kl")


def test_listed_cells_may_lack_keys(ada_client, experiment):
    cells = [{"es.sigma": 0.1, "es.population": 4}, {"es.sigma": 0.2}, {"es.noise": "low_rank"}]
    sweep = launch(experiment, cells=cells)
    measure(sweep)
    page = page_of(ada_client, sweep)
    assert "not set" in page and 'class="is-empty"' in page and "low_rank" in page


def test_sweep_of_one_cell_has_no_parallel_coordinates(ada_client, experiment):
    sweep = make_sweep(experiment, sigmas=[0.1])
    measure(sweep)
    page = page_of(ada_client, sweep)
    assert 'class="heat"' in page and "Parallel coordinates" not in page


def test_many_cells_are_drawn_in_part(ada_client, experiment):
    sweep = add_runs(experiment, [{"a": n, "b": f"v{n % 80}"} for n in range(640)])
    page = page_of(ada_client, sweep)
    assert "The 200 best of 640 cells" in page and page.count('data-stops="') == 200
    assert "a has many values; they are combined into ranges." in page and "57 more values" in page
    assert "Compare 50 of 640 runs" in page


def test_number_of_queries_does_not_depend_on_the_number_of_runs(ada_client, experiment, django_assert_max_num_queries):
    sweep = add_runs(experiment, [{"a": n} for n in range(300)], seeds=[0, 1])
    for address, most in (
        (sweep.get_absolute_url(), 18), (reverse("sweep-results", args=[sweep.pk]), 8),
        (reverse("sweep-standing", args=[sweep.pk]), 16), (reverse("sweep-table", args=[sweep.pk]), 8),
    ):  # fmt: skip
        with django_assert_max_num_queries(most):
            assert ada_client.get(address).status_code == 200


def test_runs_are_compared_as_a_whole_and_by_cell(ada_client, experiment):
    sweep = make_sweep(experiment)
    page = page_of(ada_client, sweep)
    runs = list(sweep.runs.order_by("pk"))
    own = [run.uid for run in runs if run.cell == {"es.sigma": 0.1}]
    address = f"/compare/?run={own[0]}&amp;run={own[1]}&amp;show=all"
    assert f'href="{address}">Compare<span' in page
    assert all(run.uid in page.partition("</h1>")[2].partition("</a>")[0] for run in runs)
    assert ada_client.get(address.replace("&amp;", "&")).status_code == 200


def test_refreshed_parts_keep_metric_and_keys(ada_client, experiment):
    sweep = launch(experiment, {"es.sigma": [0.1, 0.2], "es.population": [4, 8]})
    measure(sweep, "kl")
    query = {"metric": "kl", "rows": "es.population", "columns": "es.sigma"}
    part = ada_client.get(reverse("sweep-results", args=[sweep.pk]), query).content.decode()
    assert 'data-rows="es.population" data-columns="es.sigma"' in part and "<html" not in part
    part = ada_client.get(reverse("sweep-standing", args=[sweep.pk]), query).content.decode()
    assert "<code>kl</code>" in part and "<html" not in part


def test_refreshed_parts_keep_the_page_of_cells(ada_client, experiment):
    sweep = add_runs(experiment, [{"a": n} for n in range(60)])
    page = page_of(ada_client, sweep, page=2, metric="kl")
    assert f'hx-get="/sweeps/{sweep.pk}/results/?page=2"' in page
    assert "51–60 of 60 cells shown" in ada_client.get(f"/sweeps/{sweep.pk}/results/?page=2").content.decode()


def test_csv_holds_every_digit_of_every_cell(ada_client, experiment):
    sweep = launch(experiment, cells=[{"es.sigma": 0.1, "es.antithetic": True}, {"es.sigma": 0.2}], seeds=[0, 1])
    first, second = (run for run in sweep.runs.order_by("pk") if run.cell == {"es.sigma": 0.2})
    record(first, [evaluation(5, 1 / 3)])
    record(second, [evaluation(5, 2 / 3)])
    response = ada_client.get(reverse("sweep-table", args=[sweep.pk]), {"as": "csv"})
    assert response["Content-Disposition"] == f'attachment; filename="sweep-{sweep.pk}-reward-mean-last.csv"'
    rows = list(csv.DictReader(response.content.decode().splitlines()))
    assert rows[0]["es.antithetic"] == "true" and (rows[0]["runs"], rows[0]["reward/mean n"]) == ("2", "0")
    assert (rows[1]["es.sigma"], rows[1]["es.antithetic"]) == ("0.2", "")
    assert (rows[1]["reward/mean mean"], rows[1]["reward/mean n"]) == ("0.5", "2")
    assert rows[1]["seed 0"] == repr(1 / 3) and rows[1]["seed 1"] == repr(2 / 3)


def test_latex_merges_mean_deviation_and_count(ada_client, experiment):
    sweep = make_sweep(experiment)
    measure(sweep)
    text = ada_client.get(reverse("sweep-table", args=[sweep.pk]), {"as": "latex"}).content.decode()
    assert r"$1 \pm 1.41$ ($n = 2$)" in text and f"% Sweep {sweep.pk}: es-micro sweep" in text
    assert "seed 0" not in text


def test_hostile_texts_are_escaped(ada_client, experiment):
    sweep = add_runs(experiment, [{HOSTILE: HOSTILE}, {HOSTILE: "b"}])
    for address in (sweep.get_absolute_url(), reverse("sweep-results", args=[sweep.pk])):
        page = ada_client.get(address, {"metric": HOSTILE}).content.decode()
        assert HOSTILE not in page
        assert HOSTILE not in ada_client.get(address).content.decode()


def test_strangers_see_no_results(cy_client, private_experiment):
    sweep = make_sweep(private_experiment)
    for route in ("sweep-results", "sweep-table"):
        assert cy_client.get(reverse(route, args=[sweep.pk])).status_code == 404


@each_case(
    ("values", "state", "reason"),
    [
        ({}, "failed", "The runs of this sweep ended without values of reward/mean."),
        ({"kl": 1.0}, "cancelled", "The runs of this sweep ended without values of reward/mean."),
        ({"reward/mean": math.nan}, "succeeded", "None of the values of reward/mean is a finite number."),
        (
            {"reward/mean": 1.0},
            "partial",
            "Only partial runs have reward/mean, and no mean includes them.",
        ),
    ],
)
def test_ended_sweep_without_values_expects_none(ada_client, experiment, values, state, reason):
    sweep = launch(experiment, {"es.sigma": [0.1, 0.2]})
    if values:
        record(sweep.runs.first(), [Metric(5, values, {})])
    sweep.runs.update(state=state)
    page = page_of(ada_client, sweep)
    assert f"<strong>{reason}</strong>" in page
    assert "appears with the first" not in page and " yet" not in page
    assert ("The runs have these metrics:" in page) == bool(values)


def test_heat_map_expects_values_of_open_runs_alone(ada_client, experiment):
    sweep = launch(experiment, {"es.sigma": [0.1, 0.2, 0.3]})
    first, second, _third = sweep.runs.order_by("pk")
    record(first, [Metric(5, {"reward/mean": 1.0}, {})])
    Run.objects.filter(pk=second.pk).update(state="failed")
    page = page_of(ada_client, sweep)
    assert 'title="es.sigma 0.2: no value, seed 0"' in page and 'title="es.sigma 0.3: no value yet, seed 0"' in page
