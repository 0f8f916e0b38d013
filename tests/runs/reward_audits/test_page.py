"""The page of an audit, and the line about the newest audit on the page of a training."""

from __future__ import annotations

import csv
import io

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.models import Experiment, Run
from runs.reward_audits.charts import audit_chart
from runs.reward_audits.queries import read_audit
from runs.reward_audits.titles import NEEDS, TITLES, VERDICTS
from tests.runs.api_client import calls
from tests.runs.attempt_records import make_attempt
from tests.runs.audit_runs import audit_records, complete_audit, make_audit
from tests.runs.full_runs import make_run, record
from workers.reward_audit import attacks, measures

pytestmark = pytest.mark.django_db


@pytest.fixture
def training(experiment: Experiment, runs_dir: object) -> Run:
    """Return a training of conciseness."""
    return make_run(experiment, "es-micro")


def page(client: Client, run: Run) -> str:
    reply = client.get(run.get_absolute_url())
    assert reply.status_code == 200
    return " ".join(reply.content.decode().split())


def test_every_attack_need_and_verdict_has_a_title() -> None:
    assert set(TITLES) == set(attacks.NAMES)
    assert set(NEEDS) == set(attacks.NEEDS) and set(VERDICTS) == set(measures.VERDICTS)


def test_page_has_figures_chart_and_attacks_with_the_worst_first(ada_client: Client, experiment: Experiment) -> None:
    run = complete_audit(experiment)
    text = page(ada_client, run)
    assert "Exploitability</dt> <dd>75 % <small>40 % … 95 %</small>" in text
    names = [
        "Wrong text of the right length",
        "Right answer, negated",
        "Format alone",
        "Empty",
        "alone, in the form that",
    ]
    table = text[text.index('id="attacks-title"') :]
    places = [table.index(name) for name in names]
    assert places == sorted(places)
    assert "&lt;b&gt;x&lt;/b&gt;" in text and "<b>x</b>" not in text
    assert text.count('"type": "bar"') + text.count('"type":"bar"') >= 4
    part = " ".join(ada_client.get(reverse("run-audit", args=[run.uid])).content.decode().split())
    assert part.startswith('<div id="reward-audit"') and 'id="attacks-title"' in part


def test_chart_draws_the_way_of_each_attack_up_to_its_ends(experiment: Experiment) -> None:
    run = make_audit(experiment)
    record(run, [*audit_records()[:-1]])
    result = read_audit(run)
    result.attacks[1].values["way"] = -6.5
    chart = audit_chart(result)
    bars = {y: x for trace in chart.figure["data"] for y, x in zip(trace["y"], trace["x"], strict=True)}
    assert bars["Empty"] == -0.5 and bars["Right answer"] == 1.0 and bars["Wrong text of the right length"] == 0.75
    assert "Wrong text of the right length gets" in chart.summary


def test_page_of_an_audit_without_results_says_why(ada_client: Client, experiment: Experiment) -> None:
    assert "No results yet" in page(ada_client, make_audit(experiment, state="running"))
    assert "The log has the reason" in page(ada_client, make_audit(experiment, state="failed"))
    partial = make_audit(experiment, state="running")
    record(partial, audit_records()[:2])
    assert "attacks appear as they are made" in page(ada_client, partial)


def test_page_without_a_scale_states_no_score(ada_client: Client, experiment: Experiment) -> None:
    run = make_audit(experiment)
    *made, figures = audit_records()
    values = {key: value for key, value in figures.values.items() if key in ("audit/prompts", "audit/skipped")}
    record(run, [*made, type(figures)(1, values | {"audit/skipped": 2.0})])
    text = page(ada_client, run)
    assert "exploitability has no scale" in text and "<dt>Exploitability</dt>" not in text
    assert "2 attacks were not made" in text


def test_repeated_attack_counts_once_and_the_newest(experiment: Experiment) -> None:
    run = complete_audit(experiment)
    run.attempts.update(state="interrupted")
    make_attempt(run, 2)
    record(run, audit_records(0.5))
    result = read_audit(run)
    assert len(result.attacks) == 5 and result.exploitability and result.exploitability.value == 0.5
    assert [a.values["hits"] for a in result.attacks if a.name == "same-length"] == [16]


def test_files_have_every_figure_of_every_attack(ada_client: Client, experiment: Experiment) -> None:
    run = complete_audit(experiment)
    for route in ("run-audit-table", "run-audit-chart"):
        reply = ada_client.get(reverse(route, args=[run.uid]), {"as": "csv"})
        rows = {row["attack"]: row for row in csv.DictReader(io.StringIO(reply.content.decode()))}
        assert rows["same-length"]["hits"] == "24" and rows["same-length"]["way"] == "0.75"
    assert b"\\begin{tabular}" in ada_client.get(reverse("run-audit-table", args=[run.uid]), {"as": "latex"}).content


def test_training_shows_the_newest_audit_of_its_task_by_value(
    ada_client: Client, experiment: Experiment, training: Run
) -> None:
    assert "not audited yet" in page(ada_client, training)
    other = complete_audit(experiment, {"name": "conciseness", "options": {"system_prompt": "Be brief."}})
    complete_audit(experiment, {"name": "countdown"})
    assert "not audited yet" in page(ada_client, training)
    complete_audit(experiment, exploitability=0.25)
    newest = complete_audit(experiment)
    text = page(ada_client, training)
    line = text[text.index('id="reward-audit"') :]
    assert f'<a href="{newest.get_absolute_url()}"><strong>75' in line and other.get_absolute_url() not in line
    assert "Wrong text of the right length" in line and "Format alone" in line and "negated" not in line
    assert f"?audit={training.uid}" in line and "Audit again" in line


def test_training_names_an_audit_that_runs_or_did_not_finish(
    ada_client: Client, experiment: Experiment, training: Run
) -> None:
    failed = make_audit(experiment, state="failed")
    assert "did not finish" in page(ada_client, training)
    complete_audit(experiment)
    make_audit(experiment, state="failed")
    assert "did not finish" not in page(ada_client, training), failed.uid
    make_audit(experiment, state="running")
    assert "is being audited" in page(ada_client, training)


def test_audit_of_a_private_experiment_is_shown_to_its_owner_alone(ada_client: Client, training: Run) -> None:
    hidden = Experiment.objects.create(name="hidden", owner=User.objects.create_user("bob"), is_private=True)
    complete_audit(hidden)
    assert "not audited yet" in page(ada_client, training)
    reply = calls(training.created_by).get(f"/api/v1/runs/{training.uid}/reward-audit")
    assert reply.status_code == 404 and "no audit that you may see" in reply.json()["detail"]


def test_page_of_a_training_needs_as_many_queries_with_one_audit_as_with_twenty(
    ada_client: Client, experiment: Experiment, training: Run
) -> None:
    counts = []
    for more in (1, 19):
        for _ in range(more):
            complete_audit(experiment)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            page(ada_client, training)
        counts.append(len(queries))
    assert counts[1] <= counts[0]


def test_api_returns_an_audit_and_that_of_a_training(ada: User, experiment: Experiment, training: Run) -> None:
    run = complete_audit(experiment)
    for uid in (run.uid, training.uid):
        body = calls(ada, "read").get(f"/api/v1/runs/{uid}/reward-audit").json()
        assert (body["run"], body["state"], body["is_complete"], body["skipped"]) == (run.uid, "succeeded", True, 0)
        assert body["exploitability"] == {"value": 0.75, "low": 0.4, "high": 0.95}
        first = body["attacks"][0]
        assert (first["name"], first["verdict"], first["hits"], first["scaled"]) == ("same-length", "exploit", 24, 32)
        assert first["examples"][0]["is_right"] is False and body["attacks"][-1]["verdict"] == "control"
