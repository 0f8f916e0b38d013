"""`esweb score`, against the real server."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User

from esweb_client.cli.errors import BAD_INPUT, ENDED_BADLY, REFUSED
from runs.models import Experiment, Run, Scoring
from runs.responses.scoring import tasks
from runs.service_registry import commands
from runs.service_registry.commands import Registration
from tests.cli.background import repeating
from tests.cli.conftest import RunCli
from tests.runs.viewer_responses import make_response, model
from tests.workers.scorer.scripted_scorer import lengths, scripted_scorer


@pytest.fixture
def scored_run(token: str, experiment: Experiment) -> Run:
    return model(experiment, "es", [make_response(n, f"answer {n}", 0.5, 1.0) for n in range(5)])


def test_responses_are_scored_and_scorings_are_listed(run_cli: RunCli, scored_run: Run, ada: User) -> None:
    with scripted_scorer(lengths) as scorer:
        commands.register(ada, Registration("scorer", "beaver", "0123456789", scorer.url))
        assert "scorers: beaver" in run_cli("score", scored_run.uid)[1]
        with repeating(tasks.score_answers):
            arguments = ("--scorer", "beaver", "--split", "eval", "--step", "500", "--watch", "--every", "0.1")
            code, out, _ = run_cli("score", scored_run.uid, *arguments)
    lines = out.splitlines()
    assert code == 0 and lines[0].endswith("beaver  going  0 of 5 responses scored")
    assert lines[-1].endswith("beaver  done  5 of 5 responses scored")
    code, _, err = run_cli("score", scored_run.uid, "--scorer", "beaver")
    assert code == REFUSED and "has already scored all 5 responses" in err
    (item,) = json.loads(run_cli("score", scored_run.uid, "--json")[1])["items"]
    assert (item["scorer"], item["state"], item["done"]) == ("beaver", "done", 5)


def test_cancelled_scoring_has_its_exit_code(run_cli: RunCli, scored_run: Run, ada: User) -> None:
    commands.register(ada, Registration("scorer", "beaver", "0123456789", "http://127.0.0.1:9"))

    def cancel() -> None:
        Scoring.objects.update(state="cancelled")

    with repeating(cancel):
        assert run_cli("score", scored_run.uid, "--scorer", "beaver", "--watch", "--every", "0.1")[0] == ENDED_BADLY


def test_options_without_a_scorer_are_refused(run_cli: RunCli, scored_run: Run) -> None:
    code, _, err = run_cli("score", scored_run.uid, "--watch")
    assert code == BAD_INPUT and "--watch needs --scorer NAME" in err
    code, _, err = run_cli("score", scored_run.uid, "--scorer", "nobody")
    assert code == BAD_INPUT and "nobody" in err
