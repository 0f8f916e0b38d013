"""The runs table as a file: CSV with stable heads and full digits, LaTeX as the page shows it."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.models import Experiment, Run
from tests.cases import each_case
from tests.runs.compare.test_conditions import summary
from tests.runs.full_runs import evaluation, make_run, record

pytestmark = pytest.mark.django_db
THIRD = 1 / 3


@pytest.fixture
def three(experiment: Experiment) -> list[Run]:
    runs = [make_run(experiment, "es-tiny", seed) for seed in range(2)] + [make_run(experiment, "grpo-tiny", 2)]
    for run, kl in zip(runs, (THIRD, 1.0, 2.0), strict=True):
        summary(run, "kl", kl)
    return runs


def file_of(client: Client, experiment: Experiment, **query: Any) -> str:
    reply = client.get(reverse("experiment-table", args=[experiment.pk]), {"as": "csv", **query})
    assert reply.status_code == 200, reply.content
    return reply.content.decode()


def rows_of(client: Client, experiment: Experiment, **query: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file_of(client, experiment, **query))))


def test_csv_holds_every_matching_run_with_full_digits(
    ada_client: Client, experiment: Experiment, three: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.compare.run_table.table.RUNS_PER_PAGE", 1)
    rows = rows_of(ada_client, experiment, q="kl<2", sort="-kl", col=["seed", "kl", "kl.best", "es.sigma", "created"])
    assert list(rows[0]) == [
        "uid", "name", "seed", "kl", "kl measured", "kl.best", "kl.best measured", "es.sigma", "created",
    ]  # fmt: skip
    assert [(row["uid"], row["seed"], float(row["kl"])) for row in rows] == [
        (three[1].uid, "1", 1.0), (three[0].uid, "0", THIRD),
    ]  # fmt: skip
    assert rows[0]["created"] == three[1].created_at.isoformat(timespec="seconds")
    assert rows[0]["kl measured"].startswith("origin=evaluator; estimator=exact")


def test_csv_has_no_number_where_there_is_no_value(ada_client: Client, experiment: Experiment) -> None:
    make_run(experiment)
    (row,) = rows_of(ada_client, experiment, col=["kl", "kl@5", "grpo.beta", "reward/mean"])
    assert {row[key] for key in ("kl", "kl@5", "grpo.beta", "reward/mean", "kl measured")} == {""}


def test_csv_runs_no_formula(ada_client: Client, experiment: Experiment) -> None:
    run = make_run(experiment)
    Run.objects.filter(pk=run.pk).update(name="=cmd|' /C calc'!A0", tags=["+x"])
    (row,) = rows_of(ada_client, experiment, col=["tag"])
    assert (row["name"], row["tag"]) == ("'=cmd|' /C calc'!A0", "'+x")


def test_csv_of_a_pinned_table_has_differences(ada_client: Client, experiment: Experiment, three: list[Run]) -> None:
    rows = rows_of(ada_client, experiment, q="kl>1", col=["kl", "method"], pin=three[1].uid)
    assert list(rows[0]) == ["uid", "name", "kl", "kl measured", "kl difference", "method"]
    assert [(row["uid"], row["kl difference"]) for row in rows] == [(three[1].uid, ""), (three[2].uid, "1.0")]


def test_csv_of_groups_has_every_spread(ada_client: Client, experiment: Experiment, three: list[Run]) -> None:
    rows = rows_of(ada_client, experiment, group=["preset", "es.sigma"], col=["kl"])
    assert list(rows[0]) == [
        "preset", "es.sigma", "runs", "kl mean", "kl std", "kl se", "kl ci95", "kl n", "kl step", "kl measured",
    ]  # fmt: skip
    sd = (1.0 - THIRD) / math.sqrt(2)
    assert [float(rows[0][f"kl {name}"]) for name in ("mean", "std", "se")] == pytest.approx(
        [(1.0 + THIRD) / 2, sd, sd / math.sqrt(2)]
    )
    assert (rows[0]["preset"], rows[0]["runs"], rows[0]["kl n"]) == ("es-tiny", "2", "2")
    assert (rows[1]["kl mean"], rows[1]["kl std"], rows[1]["es.sigma"]) == ("2.0", "", "")


def test_latex_of_runs_shows_the_displayed_columns(
    ada_client: Client, experiment: Experiment, three: list[Run]
) -> None:
    Run.objects.filter(pk=three[0].pk).update(name="50% \\input{x}")
    text = file_of(ada_client, experiment, q="kl<2", col=["seed", "kl.best"], **{"as": "latex"})
    assert "\\begin{tabular}{lrr}" in text and "Run & Seed & KL best \\\\" in text
    assert "50\\% \\textbackslash{}input\\{x\\} & $0$ & $0.333$ \\\\" in text
    assert "% esweb, Concise: q=kl<2 col=seed col=kl.best" in text and "% 2 of 2 rows." in text


def test_latex_of_groups_has_the_chosen_spread_and_n(
    ada_client: Client, experiment: Experiment, three: list[Run]
) -> None:
    query = {"group": "preset", "col": ["kl"], "spread": "se", "as": "latex"}
    text = file_of(ada_client, experiment, **query)
    assert "Preset & Runs & KL \\\\" in text
    assert "es-tiny & $2$ & $0.667 \\pm 0.333$ ($n = 2$) \\\\" in text
    assert "grpo-tiny & $1$ & $2$ ($n = 1$) \\\\" in text
    assert "% ± is the standard error of the mean" in text


def test_file_has_the_name_of_the_experiment(ada_client: Client, experiment: Experiment, three: list[Run]) -> None:
    for form, media, ending in (("csv", "text/csv", "csv"), ("latex", "application/x-tex", "tex")):
        reply = ada_client.get(reverse("experiment-table", args=[experiment.pk]), {"as": form})
        assert reply["Content-Type"] == f"{media}; charset=utf-8"
        assert reply["Content-Disposition"] == f'attachment; filename="concise-runs.{ending}"'


@each_case(
    ("query", "words"),
    [
        ({"as": "pdf"}, "as must be one of csv, latex, not &#x27;pdf&#x27;"),
        ({"q": "state:x"}, "q: state must be one of"), ({"sort": "nothing"}, "sort must be one of the columns"),
        ({"as": "latex", "pin": "nothing"}, "This experiment has no run nothing to pin"),
    ],
)  # fmt: skip
def test_file_of_an_invalid_address_is_not_found(
    ada_client: Client, experiment: Experiment, three: list[Run], query: dict[str, str], words: str
) -> None:
    reply = ada_client.get(reverse("experiment-table", args=[experiment.pk]), {"as": "csv", **query})
    assert reply.status_code == 404 and words in reply.content.decode()


def test_file_of_a_private_experiment_is_not_found(bo_client: Client, private_experiment: Experiment) -> None:
    assert bo_client.get(reverse("experiment-table", args=[private_experiment.pk]), {"as": "csv"}).status_code == 404


def test_address_without_a_form_leads_to_the_csv(ada_client: Client, experiment: Experiment) -> None:
    address = reverse("experiment-table", args=[experiment.pk])
    assert ada_client.get(address, {"q": "kl<1"})["Location"] == f"{address}?q=kl%3C1&as=csv"


def test_file_takes_as_many_queries_for_a_hundred_runs(ada_client: Client, experiment: Experiment) -> None:
    def queries(**query: Any) -> int:
        with CaptureQueriesContext(connection) as captured:
            file_of(ada_client, experiment, col=["kl", "kl@5", "tag"], **query)
        return len(captured)

    for seed in range(2):
        record(make_run(experiment, seed=seed), [evaluation(0, -1.0)])
    few = [queries(), queries(group="seed")]
    for seed in range(2, 100):
        record(make_run(experiment, seed=seed), [evaluation(0, -1.0)])
    assert [queries(), queries(group="seed")] == few
    assert len(rows_of(ada_client, experiment)) == 100


def test_page_links_to_both_files_of_the_same_table(
    ada_client: Client, experiment: Experiment, three: list[Run]
) -> None:
    page = ada_client.get(experiment.get_absolute_url(), {"q": "kl<2", "sort": "kl"}).content.decode()
    for form in ("csv", "latex"):
        assert f"/table/?q=kl&lt;2&amp;sort=kl&amp;as={form}" in page
