"""Formulas in files for spreadsheets: no cell of any CSV of the site or the command line is a formula.

The class is CSV injection (CWE-1236): names, keys, tags and responses are written by users and models.
"""

from __future__ import annotations

import csv
import io
import sys
from collections import defaultdict
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.template.response import SimpleTemplateResponse
from django.test import Client
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from esweb_client.cli.__main__ import main
from judging.boards import save_board
from judging.models import ChosenPrompt, Contestant, Snapshot, Tournament, Verdict, Voter
from runs import access
from runs.access import Scope, link_text
from runs.charts import CHARTS, Table
from runs.experiments.lambda_page.charts import NAMES
from runs.models import Attempt, Experiment, LabelItem, LabelSet, Prompt, Run
from runs.responses.collapse import tasks
from tests.cases import each_case
from tests.esweb.test_access_of_routes import routes
from tests.judging.bulk_verdicts import cast, first_votes
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import make_tournament, rubric
from tests.runs import checkpoint_files, full_runs
from tests.runs.attempt_records import answer
from tests.runs.evaluation_runs import make_evaluation, record_steps
from tests.runs.labels.label_cases import items_of, label, make_set
from tests.runs.probe_runs import make_probe_run
from tests.security.test_random_reads import read_all
from workers.csv_cells import inert
from workers.records import Attack, Metric, Probe, ProbeValue

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
FORMULAS = [f"{start}cmd|' /C calc'!A{n}" for n, start in enumerate(FORMULA_STARTS)]
KEYS = ["=x/mean", "+x/mean", "-x/mean", "@x/mean"]
COLLAPSE = "collapse/shared"
CHART_NAMES = [*CHARTS, *KEYS[:2], *NAMES, "reward/mean", "population", COLLAPSE]
BOARD_CHARTS = ("steps", "time")
TABLES = ("standings", "pairs", "wins", "categories", "controlled", "online")
ROUTES = {
    "run-chart", "run-collapse-chart", "experiment-chart", "experiment-lambda-chart", "compare-chart", "shared-chart",
    "experiment-table", "viewer-export", "viewer-scatter", "time-machine-chart", "tournament-board-chart",
    "tournament-board-file", "tournament-board-history-chart", "compare-table", "tournament-file",
    "api:export_judgments", "costs-table", "evaluations-chart", "evaluations-table", "probes-chart", "probes-table",
    "run-audit-chart", "run-audit-table", "run-evaluations-table", "run-ratings-table", "label-file",
    "api:export_labels", "api:make_label",
}  # fmt: skip
ROUTES_WITH_TEXT = ROUTES - {"run-collapse-chart", "time-machine-chart", "experiment-chart", "compare-table"}
"""Routes whose files hold texts of users or models; the others hold numbers by keys of the site."""


def names_for(route: str) -> set[str | None]:
    """Return the charts to request there, besides the file without a name. `make soak` requests all charts everywhere.

    A chart is written by the same code on every page, so that each is requested on one page, and those whose keys are
    formulas on all of them.
    """
    if route == "experiment-lambda-chart":
        return {None, *NAMES}
    if route == "experiment-chart":
        return {None, *CHART_NAMES}
    if route in ("run-chart", "compare-chart", "shared-chart"):
        return {None, *KEYS[:2], "reward/mean"}
    own = {"evaluations-chart": "pass@k", "probes-chart": f"reward:{FORMULAS[0]}", "run-collapse-chart": COLLAPSE}
    return {None, *BOARD_CHARTS, own.get(route)}


def is_formula(cell: str) -> bool:
    """Return whether a spreadsheet would run the cell."""
    try:
        float(cell)
    except ValueError:
        return cell.startswith(FORMULA_STARTS)
    return cell.startswith(("\t", "\r", "\n"))


def find_formulas(text: str) -> list[str]:
    """Return the cells of a CSV text, the head's too, that a spreadsheet would run."""
    return [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row if is_formula(cell)]


def hostile_runs(experiment: Experiment) -> list[Run]:
    """Return runs with a formula in every text."""
    runs = []
    for n, formula in enumerate(FORMULAS):
        run = full_runs.make_run(experiment, "es-micro", n, "succeeded")
        options = {"system_prompt": formula}
        run.config = {**run.config, "task": {"name": "conciseness", "options": options}}
        run.name, run.note, run.tags = formula, formula, [formula[:40]]
        run.save()
        parts = {"cost": -1.5}
        responses = [
            answer(step, formula, prompt=formula, prompt_id=formula, target=formula, parts=parts) for step in (0, 5)
        ]
        responses.append(answer(5, "-3", sample=1))
        metrics = [Metric(5, dict.fromkeys(KEYS, -0.5)), Metric(5, {"lambda": 1.0, "cost/mean": -1.0})]
        full_runs.record(run, [*full_runs.a_bit_of_everything(), *metrics, *responses])
        runs.append(run)
    Run.objects.filter(pk=runs[1].pk).update(parent=runs[0])
    hostile_evaluation(runs[0])
    hostile_probe(experiment)
    full_runs.record(runs[0], [Attack(1, "empty", "nothing", "harmless", 1, response=FORMULAS[0], failure=FORMULAS[1])])
    Attempt.objects.update(started_at=timezone.now())
    Experiment.objects.update(name=FORMULAS[0])
    Prompt.objects.update(categories=FORMULAS)
    tasks.measure_collapse()
    return runs


def hostile_evaluation(training: Run) -> None:
    """Create an evaluation of two steps with a formula in every text; only the second solves its prompt."""
    run = make_evaluation(training.experiment, training, FORMULAS[0])
    record_steps(run, {0: [0], 5: [4]})
    task = {"name": FORMULAS[1], "prefill": FORMULAS[2], "options": {FORMULAS[3]: FORMULAS[4]}}
    run.config = {**run.config, "task": task, "evaluate": {"prior_tasks": [], "base": FORMULAS[0]}}
    run.save()
    texts = dict.fromkeys(("prompt", "prompt_id", "target"), FORMULAS[0])
    responses = [answer(step, sample=1, parts={"correct": float(step == 5)}, **texts) for step in (0, 5)]
    full_runs.record(run, list(responses))


def hostile_probe(experiment: Experiment) -> None:
    """Create a probe run with a formula in every text that a record may have."""
    formulas = [formula for formula in FORMULAS if formula[0] not in "\t\r\n"]
    values = tuple(ProbeValue(-0.5, 4, formula, formula, x=-1.0) for formula in formulas)
    results = [
        Probe(5, "interpolation", measure, f"{formulas[0]}@5", values, f"{formulas[1]}@5", formulas[2])
        for measure in ("reward", formulas[3])
    ]
    full_runs.record(make_probe_run(experiment, name=FORMULAS[0]), list(results))


def hostile_labels(owner: User) -> LabelSet:
    """Return a set whose questions, responses and notes are formulas, in an experiment of its own."""
    label_set = make_set(Experiment.objects.create(name="Labels", owner=owner), tuple(FORMULAS), readers=1)
    for item, formula in zip(items_of(label_set), FORMULAS, strict=True):
        LabelItem.objects.filter(pk=item.pk).update(question=formula, run_name=formula, prompt_name=formula, run=None)
        label(item, owner, "wrong", note=formula)
    return label_set


def hostile_tournament(owner: User, experiment: Experiment) -> Tournament:
    """Return a closed tournament with a board, whose contestants, voters and categories are formulas."""
    tournament = make_tournament(owner, experiment, prompts=12, contestants=4)
    Tournament.objects.update(name=FORMULAS[0])
    for contestant, formula in zip(tournament.contestants.all(), FORMULAS, strict=False):
        contestant.name = formula
        contestant.save()
    ChosenPrompt.objects.filter(tournament=tournament).update(categories=FORMULAS)
    cast(tournament, rubric("helpfulness"), first_votes(make_random_votes(150, contestants=4, prompts=12)))
    for voter, formula in zip(Voter.objects.filter(tournament=tournament), FORMULAS, strict=False):
        voter.imported_name = formula
        voter.save()
    save_board(tournament, rubric("helpfulness"))
    Snapshot.objects.update(at=timezone.now() - timedelta(hours=1))
    Verdict.objects.filter(pk=Verdict.objects.latest("pk").pk).update(replaced_at=timezone.now())
    save_board(tournament, rubric("helpfulness"))
    return tournament


@pytest.mark.django_db
@pytest.mark.usefixtures("local", "runs_dir")
@pytest.mark.parametrize("is_long", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["short", "every-name"])
def test_csv_routes_contain_no_formulas(ada: User, ada_client: Client, experiment: Experiment, is_long: bool) -> None:
    runs = hostile_runs(experiment)
    tournament = hostile_tournament(ada, experiment)
    Contestant.objects.filter(pk=tournament.contestants.earliest("place").pk).update(run=runs[0])
    label_set = hostile_labels(ada)
    uids = [run.uid for run in runs]
    link = link_text(ada, Scope.COMPARE, uids[:8], "day")
    digest = Prompt.objects.filter(text=FORMULAS[0]).get().digest
    chart_queries = [
        {"as": "csv"},
        {"as": "csv", "by": "experiment", "since": "all"},
        {"as": "csv", "name": "pass@k"},
        {"as": "csv", "table": "solved"},
        {"as": "csv", "name": f"reward:{FORMULAS[0]}", "measure": "interpolation/reward"},
        {"as": "csv", "run": uids[:6]},
        *({"as": "csv", "run": uids[:6], "name": name} for name in CHART_NAMES),
    ]
    board_queries = [{"as": "csv", "criterion": "helpfulness", "table": table} for table in TABLES]
    board_queries += [{"as": "csv", "criterion": "helpfulness", "name": name} for name in BOARD_CHARTS]
    file_queries = [{"form": "csv", "run": uids[:6]}, {"form": "csv", "names": "1", "all": "1", "every": "true"}]
    files: dict[str, list[str]] = defaultdict(list)
    parameters = {"uid": uids[0], "key": f"esweb-{uids[0]}-a1", "n": 1, "step": 5, "text": link, "digest": digest,
             "form": "csv"}  # fmt: skip
    experiment_addresses = dict(routes({**parameters, "pk": experiment.pk}))
    tournament_addresses = dict(routes({**parameters, "pk": tournament.pk}))
    label_addresses = dict(routes({**parameters, "pk": label_set.pk}))
    for route in sorted(experiment_addresses):
        is_tournament_route = route.startswith("tournament") or "judgments" in route
        address = (tournament_addresses if is_tournament_route else experiment_addresses)[route]
        address = label_addresses[route] if "label" in route else address
        queries = [*(board_queries if is_tournament_route else chart_queries), *file_queries]
        if not is_long:
            queries = [query for query in queries if query.get("name") in names_for(route)]
        # Pages are no files: their HTML is left out.
        with mock.patch.object(SimpleTemplateResponse, "rendered_content", ""):
            for query in queries if route in ROUTES else queries[-1:]:
                reply = ada_client.get(address, query)
                if reply.headers.get("Content-Type", "").startswith("text/csv"):
                    content = read_all(reply) if reply.streaming else reply.content  # type: ignore[arg-type]
                    files[route].append(content.decode())
                checkpoint_files.close(reply)
    formulas = {route: [cell for text in texts for cell in find_formulas(text)] for route, texts in files.items()}
    assert {route: cells for route, cells in formulas.items() if cells} == {}
    assert set(files) == ROUTES, "a route that writes CSV is to be tested here"
    assert {
        route for route, texts in files.items() if any("'=" in text or "'+" in text for text in texts)
    } >= ROUTES_WITH_TEXT


@pytest.mark.parametrize("kind", ["series", "responses"])
@pytest.mark.django_db(transaction=True)
def test_cli_csv_contains_no_formulas(
    ada: User, local: object, experiment: Experiment, live_server: LiveServer, runs_dir: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str,
) -> None:  # fmt: skip
    uids = [run.uid for run in hostile_runs(experiment)]
    monkeypatch.setenv("ESWEB_URL", live_server.url)
    monkeypatch.setenv("ESWEB_TOKEN", access.issue(ada, "read")[1])
    assert main(["export", *uids, "--what", kind, "--format", "csv"]) == 0, sys.stderr
    text = capsys.readouterr().out
    assert find_formulas(text) == [] and "'=" in text
    assert ",-0.5," in text if kind == "series" else ",-3," in text


@each_case("number", [-1, -1.5, "-3", "+4.25", "-1e-9", None, 0, True])
def test_negative_number_is_unchanged(number: object) -> None:
    assert inert(number) is number


@each_case("text", [*FORMULAS, "-", "--1", "-1+1", "+1-1", "-3 ", "=1", "-1\n=2", "-1e"])
def test_formula_text_gets_apostrophe(text: str) -> None:
    assert inert(text) == f"'{text}"


def test_table_header_contains_no_formula() -> None:
    """Columns may be named after users' texts, for example contestants in a table of wins."""
    assert find_formulas(Table(tuple(FORMULAS), (tuple(FORMULAS),)).csv()) == []
