"""Final results and differences of configs as CSV and LaTeX."""

import csv
import io

import pytest
from django.urls import reverse
from scipy import stats

from tests.cases import each_case
from tests.runs.compare.test_pages import address
from tests.runs.full_runs import evaluation, make_run, record
from workers.records import Metric

pytestmark = pytest.mark.django_db


@pytest.fixture
def runs(experiment):
    """Return three seeds of ES and two of GRPO with their last rewards, and a run without records."""
    ends = {("es-tiny", 0): -7.0, ("es-tiny", 1): -9.0, ("es-tiny", 2): -8.25, ("grpo-tiny", 0): -20.0,
            ("grpo-tiny", 1): -23.0}  # fmt: skip
    out = [make_run(experiment, name, seed, "succeeded") for name, seed in ends]
    for run, last in zip(out, ends.values(), strict=True):
        record(run, [evaluation(0, -40.0), evaluation(5, last)])
    return [*out, make_run(experiment, "grpo-tiny", 2)]


def rows_of(client, runs, **query):
    response = client.get(address(runs, "compare-table", **query))
    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def test_final_results_are_a_row_for_each_metric_and_group(ada_client, runs):
    rows = rows_of(ada_client, runs, table="results")
    assert [(row["metric"], row["runs"], row["value n"]) for row in rows[:2]] == [
        ("reward/mean", "A B C", "3"), ("reward/mean", "D E F", "2"),
    ]  # fmt: skip
    es, grpo = rows[:2]
    assert (es["baseline"], es["difference"], es["welch p"]) == ("baseline", "", "")
    assert float(es["value mean"]) == pytest.approx(-24.25 / 3, rel=1e-15)
    assert (grpo["seeds"], grpo["value mean"], grpo["step"], grpo["permutation p"]) == ("0, 1", "-21.5", "5", "")
    p = stats.ttest_ind([-20.0, -23.0], [-7.0, -9.0, -8.25], equal_var=False).pvalue
    assert float(grpo["welch p"]) == pytest.approx(p)
    assert float(grpo["difference"]) == pytest.approx(-21.5 + 24.25 / 3, rel=1e-15)
    assert float(grpo["value std"]) == pytest.approx(4.5**0.5)


def test_missing_value_is_no_number(ada_client, runs):
    rows = rows_of(ada_client, runs[-1:], table="results")
    assert {(row["value mean"], row["value n"]) for row in rows if row["metric"] != "seconds"} == {("", "0")}


def test_safety_runs_have_rows_of_safe_ratio_and_cost(ada_client, experiment):
    safe = make_run(experiment, "es-safety-tiny", 0, "succeeded")
    record(safe, [Metric(5, {"reward/mean": 1.0, "safety/safe_ratio": 0.75, "cost/mean": -1.5})])
    rows = rows_of(ada_client, [safe], table="results")
    assert {row["metric"]: row["value mean"] for row in rows} == {
        "reward/mean": "1.0", "kl": "", "safety/safe_ratio": "0.75", "cost/mean": "-1.5", "seconds": "",
    }  # fmt: skip
    latex = ada_client.get(address([safe], "compare-table", table="results", **{"as": "latex"})).content.decode()
    assert r"safety/safe\_ratio & " in latex and "$-1.50$ ($n = 1$)" in latex
    mixed = [safe, make_run(experiment)]
    assert "accuracy/right" in {row["metric"] for row in rows_of(ada_client, mixed, table="results")}


def test_config_has_a_column_for_each_config(ada_client, runs):
    rows = {row["setting"]: row for row in rows_of(ada_client, runs, table="config")}
    columns = list(rows["method"])
    assert len(columns) == 3
    assert columns[1].endswith("(A B C)")
    assert list(rows["seed"].values())[1:] == ["0, 1, 2", "0, 1, 2"]
    assert list(rows["es.sigma"].values())[1:] == ["0.01", ""]


def test_tables_are_offered_as_latex(ada_client, runs):
    response = ada_client.get(address(runs, "compare-table", table="results", baseline=runs[3].uid, **{"as": "latex"}))
    text = response.content.decode()
    assert response["Content-Disposition"].endswith('.tex"')
    assert r"\begin{tabular}" in text
    assert f"% baseline: {runs[3].uid}" in text
    assert r"$-21.5 \pm 2.12$ ($n = 2$)" in text
    page = ada_client.get(address(runs)).content.decode()
    for name in ("results", "config"):
        assert f"table={name}&amp;as=latex" in page


@each_case(
    ("query", "message"),
    [
        ({"table": "curves"}, "table must be one of results, config, not"),
        ({"as": "xlsx"}, "as must be one of csv, latex, not"),
        ({"config": "some"}, "config must be one of"),
        ({"baseline": "nosuchrun1"}, "baseline must be"),
    ],
)
def test_unknown_choice_is_refused_with_the_valid_ones(ada_client, runs, query, message):
    response = ada_client.get(address(runs, "compare-table", **query))
    assert response.status_code == 404
    assert message in response.content.decode()


def test_files_need_runs_that_the_user_may_see(ada_client, cy_client, private_experiment):
    assert ada_client.get(reverse("compare-table")).status_code == 404
    secret = make_run(private_experiment)
    response = cy_client.get(address([secret], "compare-table"))
    assert response.status_code == 404
    assert secret.name not in response.content.decode()
