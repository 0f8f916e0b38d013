"""Values that were measured differently: files and tables report it, and no mean is taken over them."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils.translation import override

from runs.access import Scope, link_text
from runs.charts import Chart, ChartOptions, group_charts, groups_of
from runs.models import Experiment, Import, Run
from tests.runs.full_runs import evaluation, make_run, record
from tests.runs.sample_curves import curve, unsaved_run
from workers.records import Metric

pytestmark = pytest.mark.django_db
GREEDY = "origin=evaluator; estimator=mean; decoding=greedy"
EXACT = "origin=evaluator; estimator=exact; decoding=sampled; temperature=1.0; samples=4"
IMPORTED = "origin=import; estimator=mean; decoding=unknown"
IMPORTED_KL = "origin=import; estimator=unknown; decoding=unknown"


@pytest.fixture
def native(experiment: Experiment) -> Run:
    run = make_run(experiment, state="succeeded")
    record(run, [evaluation(0, -40), evaluation(5, -10), Metric(5, {"train/loss": 1.0, "cost/mean": 0.5}, {})])
    return run


@pytest.fixture
def imported(native: Run) -> Run:
    """Create another seed of the same setting, read from a log that does not state how it was measured."""
    run = make_run(native.experiment, seed=1, state="succeeded")
    Import.objects.create(run=run, kind="log", name="es.log", sha256="0" * 64, bytes=1, part=0)
    record(run, [evaluation(0, -40), evaluation(5, -20)])
    return run


def rows_of(client: Client, address: str, **query: Any) -> list[dict[str, str]]:
    reply = client.get(address, {**query, "as": "csv"})
    assert reply.status_code == 200
    return list(csv.DictReader(io.StringIO(reply.content.decode())))


def charts(runs: list[Run], origins: dict[int, str], values: dict[str, float]) -> dict[str, Chart]:
    curves = [curve(run, key, [value, value + i]) for i, run in enumerate(runs) for key, value in values.items()]
    return {
        c.name: c
        for c in group_charts(groups_of(runs), {run.pk for run in runs}, curves, ChartOptions(), origins=origins)
    }


def test_csv_of_a_run_has_the_provenance_of_each_point(ada_client: Client, native: Run) -> None:
    address = reverse("run-chart", args=[native.uid])
    assert {row["measured"] for row in rows_of(ada_client, address, name="reward")} == {GREEDY}
    assert {row["measured"] for row in rows_of(ada_client, address, name="kl")} == {EXACT}
    assert {row["measured"] for row in rows_of(ada_client, address, name="cost/mean")} == {GREEDY}
    assert "measured" not in rows_of(ada_client, address, name="train/loss")[0]


def test_csv_of_a_comparison_has_the_provenance_of_each_run(ada_client: Client, native: Run, imported: Run) -> None:
    rows = rows_of(ada_client, reverse("compare-chart"), run=[native.uid, imported.uid], name="kl")
    assert {(row["run"], row["measured"]) for row in rows} == {(native.name, EXACT), (imported.name, IMPORTED_KL)}


def test_csv_of_a_shared_comparison_has_provenance(ada: User, client: Client, native: Run, imported: Run) -> None:
    text = link_text(ada, Scope.COMPARE, [native.uid, imported.uid], "day")
    rows = rows_of(client, reverse("shared-chart", args=[text]), name="reward/mean")
    assert {row["measured"] for row in rows} == {GREEDY, IMPORTED}


def test_csv_is_the_same_in_every_language_and_the_table_has_words(ada_client: Client, native: Run) -> None:
    address = reverse("run-chart", args=[native.uid])
    table = ada_client.get(address, {"name": "kl", "as": "table"}).content.decode()
    assert "<td>exact, 4 samples a prompt at T = 1</td>" in table and "origin=" not in table
    with override("de"):
        assert {row["measured"] for row in rows_of(ada_client, address, name="kl")} == {EXACT}


def test_tradeoff_points_have_their_provenance(ada_client: Client, native: Run, imported: Run) -> None:
    address = reverse("experiment-chart", args=[native.experiment.pk])
    rows = rows_of(ada_client, address, name="tradeoff")
    assert list(rows[0]) == ["group", "run", "kl", "reward", "measured kl", "measured reward"]
    assert {(row["run"], row["measured kl"], row["measured reward"]) for row in rows} == {
        (native.name, EXACT, GREEDY), (imported.name, IMPORTED_KL, IMPORTED),
    }  # fmt: skip
    page = ada_client.get(address, {"name": "tradeoff"}).content.decode()
    summary = page.partition("</p>")[0]
    assert (
        "These series were measured differently" in summary and "1 run: exact, 4 samples a prompt at T = 1" in summary
    )
    assert "KL: exact, 4 samples a prompt at T = 1; reward: greedy" in page
    assert "KL: unknown estimator, decoding unknown, imported; reward:" in page


def test_chart_has_no_mean_over_runs_measured_differently() -> None:
    runs = [unsaved_run("es-tiny", seed) for seed in range(2)]
    values = {"reward/mean": -10.0, "kl": 0.1}
    mixed = charts(runs, {runs[0].pk: "evaluator", runs[1].pk: "import:log"}, values)
    names = [trace["name"] for trace in mixed["reward"].figure["data"]]
    assert names == ["es-tiny, es-tiny 0 (n = 1)", "es-tiny, es-tiny 1 (n = 1)"]
    assert [(row[0], row[1], row[-1].origin) for row in mixed["reward"].table.rows if row[2] == 5.0] == [
        ("es-tiny, es-tiny 0", 1, "evaluator"), ("es-tiny, es-tiny 1", 1, "import"),
    ]  # fmt: skip
    for name in ("reward", "kl", "tradeoff"):
        summary = mixed[name].summary
        assert summary.startswith("These series were measured differently") and "(n = 2)" not in summary
        assert "No mean of es-tiny, because its runs were measured differently" in summary
    assert mixed["accuracy"].summary == "These runs have no values for this chart yet."


def test_chart_keeps_the_mean_over_runs_measured_alike() -> None:
    runs = [unsaved_run("es-tiny", seed) for seed in range(2)]
    values = {"reward/mean": -10.0, "kl": 0.1}
    alike = charts(runs, {run.pk: "evaluator" for run in runs}, values)
    assert [trace["name"] for trace in alike["reward"].figure["data"]][-1] == "es-tiny (n = 2)"
    assert alike["reward"].table.rows[0][-1].decoding == "greedy"
    assert not any("No mean" in chart.summary for chart in alike.values())
    assert alike["tradeoff"].figure["data"][0]["hovertemplate"] == "reward %{y:.4g} at KL %{x:.3g}"


def test_runs_without_the_series_do_not_take_the_mean_away() -> None:
    runs = [unsaved_run("es-tiny", seed) for seed in range(3)]
    curves = [curve(run, "reward/mean", [-10, -5]) for run in runs[:2]]
    origins = {runs[0].pk: "evaluator", runs[1].pk: "evaluator", runs[2].pk: "import:log"}
    (chart,) = group_charts(groups_of(runs), {run.pk for run in runs}, curves, ChartOptions(), ["reward"], origins)
    assert chart.summary == "es-tiny rose from −10 to −5 (n = 2)."
