"""An evaluation that ended early is partial wherever answers of a step are displayed, and is not the last one."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from runs.ingest import save_scores
from runs.models import Experiment, Prompt, Response, Run
from runs.responses.collapse import tasks
from tests.runs.api_client import calls
from tests.runs.evaluation_records import answers, make_planned_run, resume, write
from tests.runs.viewer_responses import address

pytestmark = pytest.mark.django_db
PART = "3 of 8 responses"
PARTIAL = f'◐</span>partial</span> <small class="quiet">{PART}</small>'


def words(response: HttpResponse) -> str:
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


@pytest.fixture
def run(experiment: Experiment, runs_dir: Path) -> Run:
    """Whole evaluations at steps 0 and 10; it was killed after three of the eight answers at step 20."""
    return write(make_planned_run(experiment), answers(0), answers(10), answers(20, 3), state="lost")


@pytest.fixture
def resumed(run: Run) -> Run:
    """Return the run after a resume that evaluated step 20 again."""
    resume(run)
    return write(run, answers(20), state="succeeded")


def test_responses_of_a_run_begin_with_the_last_whole_evaluation(ada_client: Client, run: Run) -> None:
    page = ada_client.get(reverse("run-responses", args=[run.uid]))
    assert page.context["response_step"] == 10
    assert PARTIAL not in words(page)
    assert f'<option value="20"> 20 – {PART}</option>' in words(page)
    assert PARTIAL in words(ada_client.get(reverse("run-responses", args=[run.uid]), {"step": "20"}))


def test_columns_of_the_viewer_are_the_last_whole_evaluations(ada_client: Client, run: Run) -> None:
    page = ada_client.get(address(run))
    assert [column.step for column in page.context["columns"].all] == [10]
    assert PARTIAL not in words(page)
    assert PARTIAL in words(ada_client.get(address(f"{run.uid}@20")))


def test_scatter_reports_a_partial_share(ada_client: Client, experiment: Experiment, runs_dir: Path) -> None:
    costly = [replace(response, parts={"cost": 1.0}) for response in answers(20, 3)]
    run = write(make_planned_run(experiment), answers(0), costly, state="lost")
    page = ada_client.get(address(f"{run.uid}@20", route="viewer-scatter"))
    assert f"0 % of the dots at cost 0 or less (partial, {PART})" in words(page)


def test_files_of_answers_name_what_is_missing(ada_client: Client, run: Run) -> None:
    text = ada_client.get(address(run, f"{run.uid}@20", route="viewer-export", form="csv")).content.decode()
    assert {(row["step"], row["partial"]) for row in csv.DictReader(text.splitlines())} == {("10", ""), ("20", PART)}


def test_api_names_what_is_missing_and_what_is_superseded(ada: User, run: Run) -> None:
    there = f"/api/v1/runs/{run.uid}/responses"
    reply = calls(ada, "read").get(there, {"step": 20}).json()
    assert reply["partial"] == [{"step": 20, "answers": 3, "whole": 8}]
    first = calls(ada, "read").get(there, {"limit": 1}).json()
    assert calls(ada, "read").get(there, {"cursor": first["next"]}).json()["partial"] is None
    resume(run)
    write(run, answers(20))
    reply = calls(ada, "read").get(there, {"step": 20}).json()
    assert reply["partial"] == []
    assert [response["is_superseded"] for response in reply["items"]] == [True] * 3 + [False] * 8


def test_collapse_leaves_partial_evaluations_out_of_its_charts(ada_client: Client, run: Run) -> None:
    tasks.measure_collapse()
    page = ada_client.get(reverse("run-collapse", args=[run.uid]))
    assert page.context["at"].step == 10
    assert PARTIAL not in words(page)
    assert f"Left out of the charts, because responses are missing: step 20 ({PART})" in words(page)
    assert PARTIAL in words(ada_client.get(reverse("run-collapse", args=[run.uid]), {"step": "20"}))
    chart = reverse("run-collapse-chart", args=[run.uid])
    rows = ada_client.get(chart, {"name": "collapse/shared", "as": "csv"}).content.decode().splitlines()[1:]
    assert {row.split(",")[1] for row in rows} == {"0.0", "10.0"}


def test_collapse_takes_no_partial_evaluation_for_the_base_model(ada_client: Client, experiment: Experiment) -> None:
    killed = write(make_planned_run(experiment), answers(0, 3), state="lost")
    whole = write(make_planned_run(experiment, seed=1), answers(0), state="succeeded")
    later = write(make_planned_run(experiment, seed=2), answers(10), state="succeeded")
    tasks.measure_collapse()
    assert killed.pk < whole.pk
    there = reverse("run-collapse", args=[later.uid])
    assert ada_client.get(there).context["base"].label == f"step 0 of {whole.name}"
    base_words = ada_client.get(there, {"baseline": killed.uid}).context["base"].label
    assert base_words == f"step 0 of {killed.name} (partial, {PART})"


def test_time_machine_opens_at_a_whole_evaluation(ada_client: Client, run: Run) -> None:
    there = reverse("time-machine", args=[Prompt.objects.get(name="p0").word])
    page = ada_client.get(there, {"run": run.uid})
    assert page.context["step"] == 10
    assert PARTIAL not in words(page)
    assert PARTIAL in words(ada_client.get(there, {"run": run.uid, "step": "20"}))


def test_means_of_scores_name_what_is_missing(ada_client: Client, run: Run) -> None:
    ids = Response.objects.filter(run=run).exclude(step=0, sample=1).values_list("pk", flat=True)
    save_scores("beaver", [(pk, key, 1.0) for pk in ids for key in ("reward", "cost")])
    page = ada_client.get(reverse("run-scores", args=[run.uid]))
    assert {row["step"]: row["missing"] for row in page.context["page"]} == {0: "4 of 8 responses", 10: "", 20: PART}
    assert PARTIAL in words(page)
    assert [step for step, evaluation in page.context["steps"] if evaluation.is_partial] == [20]


def test_after_a_resume_the_evaluation_is_whole_everywhere(ada_client: Client, resumed: Run) -> None:
    tasks.measure_collapse()
    prompt = Prompt.objects.get(name="p0")
    for there in (
        *(reverse(name, args=[resumed.uid]) for name in ("run-responses", "run-collapse")), address(resumed),
        f"{reverse('time-machine', args=[prompt.word])}?run={resumed.uid}", reverse("run-scores", args=[resumed.uid]),
    ):  # fmt: skip
        page = words(ada_client.get(there))
        assert "◐</span>partial" not in page and PART not in page, there
    assert ada_client.get(address(resumed)).context["columns"].all[0].step == 20
    assert ada_client.get(reverse("run-collapse", args=[resumed.uid])).context["measures"].answers == 8
