"""Formulas in files for spreadsheets: no cell of any CSV that the site or the command line writes is run as one.

The class is CSV injection (CWE-1236): names, keys, tags and responses are written by people and models.
"""

from __future__ import annotations

import csv
import io
import sys
from collections import defaultdict
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from esweb.cli.__main__ import main
from judging.boards import keep
from judging.models import ChosenPrompt, Snapshot, Tournament, Verdict, Voter
from runs import access
from runs.access import Scope, link_text
from runs.charts import Table
from runs.compare.charts.methods import CHARTS
from runs.experiments.lambda_page.charts import NAMES
from runs.models import Experiment, Prompt, Run
from runs.responses.collapse import tasks
from tests.esweb.test_every_address_is_closed import routes
from tests.judging.bulk_verdicts import cast, once
from tests.judging.synthetic_votes import invented
from tests.judging.tournament_factory import held, rubric
from tests.runs import checkpoint_files, full_runs
from tests.runs.attempt_records import answer
from tests.security.test_nobody_sees_what_is_hidden import whole
from workers.csv_cells import inert
from workers.records import Metric

BEGINS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
FORMULAS = [f"{begin}cmd|' /C calc'!A{n}" for n, begin in enumerate(BEGINS)]
KEYS = ["=x/mean", "+x/mean", "-x/mean", "@x/mean"]
CHART_NAMES = [*CHARTS, *KEYS[:2], *NAMES, "reward/mean", "population", "collapse/shared"]
BOARD_CHARTS = ("steps", "time")
TABLES = ("standings", "pairs", "wins", "categories")
ROUTES = {
    "run-chart", "run-collapse-chart", "experiment-chart", "experiment-lambda-chart", "compare-chart", "shared-chart",
    "viewer-export", "viewer-scatter", "time-machine-chart", "tournament-board-chart", "tournament-board-file",
    "tournament-board-history-chart", "tournament-file", "api:export_judgments",
}  # fmt: skip
HOLDS_TEXT = ROUTES - {"run-collapse-chart", "time-machine-chart", "experiment-chart"}
"""Routes whose files hold what people or models wrote; the others hold numbers by keys of the site."""


def is_formula(cell: str) -> bool:
    """Return whether a spreadsheet would run the cell."""
    try:
        float(cell)
    except ValueError:
        return cell.startswith(BEGINS)
    return cell.startswith(("\t", "\r", "\n"))


def formulas_in(text: str) -> list[str]:
    """Return the cells of a CSV text, the head's too, that a spreadsheet would run."""
    return [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row if is_formula(cell)]


def hostile_runs(experiment: Experiment) -> list[Run]:
    """Return runs whose every text begins as a formula does."""
    runs = []
    for n, formula in enumerate(FORMULAS):
        run = full_runs.make_run(experiment, "es-micro", n, "succeeded")
        options = {"system_prompt": formula}
        run.config = {**run.config, "task": {"name": "conciseness", "options": options}}
        run.name, run.note, run.tags = formula, formula, [formula[:40]]
        run.save()
        parts = {"cost": -1.5}
        said = [
            answer(step, formula, prompt=formula, prompt_id=formula, target=formula, parts=parts) for step in (0, 5)
        ]
        said.append(answer(5, "-3", sample=1))
        measured = [Metric(5, dict.fromkeys(KEYS, -0.5)), Metric(5, {"lambda": 1.0, "cost/mean": -1.0})]
        full_runs.record(run, [*full_runs.a_bit_of_everything(), *measured, *said])
        runs.append(run)
    Prompt.objects.update(categories=FORMULAS)
    tasks.measure_collapse()
    return runs


def hostile_tournament(owner: User, experiment: Experiment) -> Tournament:
    """Return a closed tournament with a board, whose contestants, voters and categories are formulas."""
    tournament = held(owner, experiment, prompts=12, contestants=4)
    for contestant, formula in zip(tournament.contestants.all(), FORMULAS, strict=False):
        contestant.name = formula
        contestant.save()
    ChosenPrompt.objects.filter(tournament=tournament).update(categories=FORMULAS)
    cast(tournament, rubric("helpfulness"), once(invented(150, contestants=4, prompts=12)))
    for voter, formula in zip(Voter.objects.filter(tournament=tournament), FORMULAS, strict=False):
        voter.imported_name = formula
        voter.save()
    keep(tournament, rubric("helpfulness"))
    Snapshot.objects.update(at=timezone.now() - timedelta(hours=1))
    Verdict.objects.filter(pk=Verdict.objects.latest("pk").pk).update(replaced_at=timezone.now())
    keep(tournament, rubric("helpfulness"))
    return tournament


@pytest.mark.django_db
@pytest.mark.usefixtures("local", "runs_dir")
def test_no_csv_of_any_route_holds_a_formula(ada: User, ada_client: Client, experiment: Experiment) -> None:
    runs = hostile_runs(experiment)
    tournament = hostile_tournament(ada, experiment)
    uids = [run.uid for run in runs]
    link = link_text(ada, Scope.COMPARE, uids[:8], "day")
    digest = Prompt.objects.filter(text=FORMULAS[0]).get().digest
    chart_queries = [
        {"as": "csv"},
        {"as": "csv", "run": uids[:6]},
        *({"as": "csv", "run": uids[:6], "name": name} for name in CHART_NAMES),
    ]
    board_queries = [{"as": "csv", "criterion": "helpfulness", "table": table} for table in TABLES]
    board_queries += [{"as": "csv", "criterion": "helpfulness", "name": name} for name in BOARD_CHARTS]
    file_queries = [{"form": "csv", "run": uids[:6]}, {"form": "csv", "names": "1", "all": "1", "every": "true"}]
    files: dict[str, list[str]] = defaultdict(list)
    there = {"uid": uids[0], "key": f"esweb-{uids[0]}-a1", "n": 1, "step": 5, "text": link, "digest": digest,
             "form": "csv"}  # fmt: skip
    of_experiments = dict(routes({**there, "pk": experiment.pk}))
    of_tournaments = dict(routes({**there, "pk": tournament.pk}))
    for route in sorted(of_experiments):
        is_of_tournament = route.startswith("tournament") or "judgments" in route
        address = (of_tournaments if is_of_tournament else of_experiments)[route]
        queries = [*(board_queries if is_of_tournament else chart_queries), *file_queries]
        for query in queries if route in ROUTES else queries[-1:]:
            reply = ada_client.get(address, query)
            if reply.headers.get("Content-Type", "").startswith("text/csv"):
                content = whole(reply) if reply.streaming else reply.content  # type: ignore[arg-type]
                files[route].append(content.decode())
            checkpoint_files.close(reply)
    formulas = {route: [cell for text in texts for cell in formulas_in(text)] for route, texts in files.items()}
    assert {route: cells for route, cells in formulas.items() if cells} == {}
    assert set(files) == ROUTES, "a route that writes CSV is to be tested here"
    assert {
        route for route, texts in files.items() if any("'=" in text or "'+" in text for text in texts)
    } >= HOLDS_TEXT


@pytest.mark.parametrize("what", ["series", "responses"])
@pytest.mark.django_db(transaction=True)
def test_no_csv_of_the_command_line_holds_a_formula(
    ada: User, local: object, experiment: Experiment, live_server: LiveServer, runs_dir: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], what: str,
) -> None:  # fmt: skip
    uids = [run.uid for run in hostile_runs(experiment)]
    monkeypatch.setenv("ESWEB_URL", live_server.url)
    monkeypatch.setenv("ESWEB_TOKEN", access.issue(ada, "read")[1])
    assert main(["export", *uids, "--what", what, "--format", "csv"]) == 0, sys.stderr
    text = capsys.readouterr().out
    assert formulas_in(text) == [] and "'=" in text
    assert ",-0.5," in text if what == "series" else ",-3," in text


@pytest.mark.parametrize("number", [-1, -1.5, "-3", "+4.25", "-1e-9", None, 0, True])
def test_negative_number_is_written_as_it_is(number: object) -> None:
    assert inert(number) is number


@pytest.mark.parametrize("text", [*FORMULAS, "-", "--1", "-1+1", "+1-1", "-3 ", "=1", "-1\n=2", "-1e"])
def test_text_that_begins_as_a_formula_gets_an_apostrophe(text: str) -> None:
    assert inert(text) == f"'{text}"


def test_head_of_a_table_holds_no_formula() -> None:
    """Columns may be named after what people wrote, as a table of wins is after its contestants."""
    assert formulas_in(Table(tuple(FORMULAS), (tuple(FORMULAS),)).csv()) == []
