"""Tabs of a run's page, each with its own address, and what its head offers."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from runs.models import Experiment, Run
from runs.run_page.tabs import TABS
from tests.cases import each_case
from tests.runs.full_runs import a_bit_of_everything, make_run, record
from workers.records import Metric

pytestmark = pytest.mark.django_db
ROUTES = [route for route, _ in TABS.values()]


@pytest.fixture
def run(experiment: Experiment, runs_dir: Path) -> Run:
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    return run


def page(client: Client, run: Run, route: str = "run", **headers: str) -> str:
    response = client.get(reverse(route, args=[run.uid]), headers=headers)
    assert response.status_code == 200
    return response.content.decode()


@each_case("route", ROUTES)
def test_every_tab_is_a_page_that_marks_itself_as_current(ada_client: Client, run: Run, route: str) -> None:
    text = page(ada_client, run, route)
    assert "<h1>" in text and f'<a href="{reverse(route, args=[run.uid])}" aria-current="page"' in text
    assert text.count('aria-current="page"') == 1
    assert all(f'href="{reverse(other, args=[run.uid])}"' in text for other in ROUTES)


@each_case("route", [route for route in ROUTES if route != "run-config"])
def test_htmx_gets_a_part_of_a_tab_that_no_cache_takes_for_the_page(ada_client: Client, run: Run, route: str) -> None:
    response = ada_client.get(reverse(route, args=[run.uid]), headers={"hx-request": "true"})
    assert b"<h1>" not in response.content and response.content.strip()
    assert "HX-Request" in response["Vary"]


@pytest.mark.parametrize(("part", "tab"), [("run-state", "run"), ("run-past", "run-log")])
def test_parts_opened_directly_lead_to_their_tab(ada_client: Client, run: Run, part: str, tab: str) -> None:
    assert ada_client.get(reverse(part, args=[run.uid]))["Location"] == reverse(tab, args=[run.uid])


def test_overview_has_tiles_and_charts_of_what_the_task_measures(ada_client: Client, run: Run) -> None:
    text = page(ada_client, run)
    for words in ("Held-out reward", "Accuracy", "KL, nats per token"):
        assert f"<dt>{words}</dt>" in text
    assert [f'id="chart-{name}"' in text for name in ("reward", "accuracy", "kl", "length")] == [True] * 3 + [False]


def test_safety_run_shows_safe_ratio_and_cost(ada_client: Client, experiment: Experiment, runs_dir: Path) -> None:
    safe = make_run(experiment, "es-safety-tiny")
    values = {"reward/mean": 1.0, "safety/safe_ratio": 0.75, "cost/mean": -0.5, "accuracy/contains": 0.1, "kl": 0.0}
    record(safe, [Metric(0, values)])
    text = page(ada_client, safe)
    assert "<dt>Safe ratio</dt>" in text and "<dt>Cost</dt>" in text and "<dt>Accuracy</dt>" not in text
    assert 'id="chart-safety-safe_ratio"' in text and 'id="chart-cost-mean"' in text


def test_run_of_another_tool_shows_its_first_charts(ada_client: Client, experiment: Experiment, runs_dir: Path) -> None:
    foreign = make_run(experiment)
    record(foreign, [Metric(0, {f"loss/part{i}": 1.0 for i in range(6)})])
    text = page(ada_client, foreign)
    assert text.count('<section class="chart"') == 4


def test_charts_of_the_overview_come_alone_for_their_section(ada_client: Client, run: Run) -> None:
    text = page(ada_client, run, **{"hx-request": "true", "hx-target": "key-charts"})
    assert 'id="chart-reward"' in text and "<dt>" not in text


def test_overview_names_the_settings_that_differ_from_the_defaults(ada_client: Client, run: Run) -> None:
    run.config["es"]["sigma"] = 0.0625
    run.save()
    text = page(ada_client, run)
    assert "<dt>es.sigma</dt><dd>0.0625</dd>" in text
    assert "<dt>evaluation.temperature</dt>" not in text


def test_finished_run_without_points_does_not_promise_any(ada_client: Client, experiment: Experiment, runs_dir: Path):
    empty = make_run(experiment, seed=3, state="failed")
    for route in ("run", "run-curves"):
        text = page(ada_client, empty, route)
        assert "Nothing was measured" in text and "Nothing measured yet" not in text


def test_finished_run_folds_metrics_that_stayed_at_zero(ada_client: Client, run: Run) -> None:
    record(run, [Metric(step, {"loss/a": float(step), "loss/b": 0.0, "loss/c": 0.0}) for step in (1, 2)])
    assert "stayed at 0" not in page(ada_client, run, "run-curves")
    Run.objects.filter(pk=run.pk).update(state="succeeded")
    text = " ".join(page(ada_client, run, "run-curves").split())
    varying, _, folded = text.partition('data-slug="of-loss-zeros"')
    assert "2 metrics stayed at 0: <span>loss/b,</span> <span>loss/c</span>" in folded
    assert 'id="chart-loss-a"' in varying and 'id="chart-loss-b"' in folded


def edit(client: Client, run: Run, **fields: str) -> int:
    before = {"initial-name": run.name, "initial-tags": ", ".join(run.tags), "initial-note": run.note}
    data = {"name": run.name, "tags": ", ".join(run.tags), "note": run.note}
    return client.post(reverse("run-edit", args=[run.uid]), before | data | fields).status_code


def test_run_is_renamed_tagged_and_annotated(ada_client: Client, run: Run) -> None:
    assert edit(ada_client, run, name="σ halved", tags="baseline, very wide", note="**Good.**") == 302
    run.refresh_from_db()
    assert (run.name, run.tags, run.note) == ("σ halved", ["baseline", "very wide"], "**Good.**")
    assert LogEntry.objects.filter(object_id=run.pk).count() == 1
    text = page(ada_client, run, "run-log")
    assert "σ halved</h1>" in " ".join(text.split()).replace(" </h1>", "</h1>")
    assert "<strong>Good.</strong>" in text and "?q=tag%3Abaseline" in text and "?q=tag%3A%22very+wide%22" in text


def test_what_another_user_changed_meanwhile_stays(ada_client: Client, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(note="Written meanwhile.")
    assert edit(ada_client, run, name="renamed") == 302
    run.refresh_from_db()
    assert (run.name, run.note) == ("renamed", "Written meanwhile.")


def test_invalid_edit_keeps_what_was_typed(ada_client: Client, run: Run) -> None:
    data = {"name": "", "tags": "a" * 60, "note": "typed"}
    response = ada_client.post(reverse("run-edit", args=[run.uid]), data)
    text = response.content.decode()
    assert response.status_code == 400
    assert "This field is required." in text and "A tag has at most 50 characters" in text
    assert ">\ntyped</textarea>" in text and "a" * 60 in text
    run.refresh_from_db()
    assert run.name == "es-tiny seed 0"


def test_only_the_owner_edits(bo_client: Client, run: Run) -> None:
    assert 'id="edit-dialog"' not in page(bo_client, run)
    assert bo_client.get(reverse("run-edit", args=[run.uid])).status_code == 403
    assert edit(bo_client, run, name="taken") == 403
    run.refresh_from_db()
    assert run.name == "es-tiny seed 0"
