"""The config of an external run is any JSON object: no page and no read of the API may fail because of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client

from judging.models import Tournament
from runs import access
from runs.access import Scope, link_text
from runs.flags import check_all_due
from runs.ingest import compaction
from runs.models import Experiment, Response, Run
from tests.esweb.test_access_of_routes import routes
from tests.judging.sample_tournament import meeting
from tests.runs import checkpoint_files, full_runs
from tests.runs.api_client import calls
from tests.runs.external_runs import HOSTILE_CONFIGS, METHODS, make_external_run
from tests.security.random_requests import READ
from tests.security.sample_rows import STEP

pytestmark = pytest.mark.usefixtures("local", "runs_dir")
NAMES = {*READ[0], *READ[1]}
COLUMNS = (
    "state", "tag", "note", "created", "by", "recipe", "preset", "method", "seed", "origin", "model.path", "task.name",
    "es.sigma", "es.iterations", "grpo.lora", "compute.gpus", "evaluation.samples", "a.b", "reward/mean.min", "kl.max",
    "loss.last", "loss@5", "time", "flags", "learning_rate", "task",
)  # fmt: skip
SORTS = ("seed", "-method", "es.sigma", "-model.path", "reward/mean.max", "task.name", "-step", "name", "time")
FILTERS = (
    "es.sigma>0.1", "task.name:safety", "model.path:gpt2", "seed:-1", "method:ppo,es", "preset:none", "origin:external",
    "es.iterations:many", "gpt2", "reward/mean.max>-50", "compute.gpus>=1", "learning_rate<1", "state:running,lost",
)  # fmt: skip
GROUPS = ("recipe", "state", "method", "task.name", "model.path", "es.sigma", "seed", "origin", "learning_rate")
STATES = ("running", "lost", "succeeded", "failed", "interrupted", "cancelled")


@pytest.fixture
def client(ada: User) -> Client:
    """Return the browser of Ada as an administrator. A failed request is a response of status 500."""
    access.give_role(ada, "admin")
    browser = Client(raise_request_exception=False)
    browser.force_login(ada)
    return browser


def runs_of_each_config(experiment: Experiment, methods_of_a_config: int) -> list[Run]:
    """Return external runs of each hostile config: of so many of es, grpo and another method, which take turns."""
    runs = []
    for n, config in enumerate(HOSTILE_CONFIGS.values()):
        states = list(zip(("es", "grpo", METHODS[n % 2]), STATES, strict=False))
        selected = [states[(n + k) % len(states)] for k in range(methods_of_a_config)]
        runs += [make_external_run(experiment, config=config, method=method, state=s) for method, s in selected]
    return runs


@pytest.fixture(params=[1, pytest.param(3, marks=pytest.mark.soak)], ids=["one-method", "every-method"])
def of_each_config(request: pytest.FixtureRequest, experiment: Experiment) -> list[Run]:
    """Return external runs of each hostile config."""
    return runs_of_each_config(experiment, request.param)


@pytest.fixture
def of_all_configs(experiment: Experiment) -> list[Run]:
    """Return an external run of each hostile config, each of another method, and a launched run."""
    kinds = zip(HOSTILE_CONFIGS.values(), METHODS, STATES, strict=True)
    runs = [make_external_run(experiment, config=c, method=m, state=s, seed=n) for n, (c, m, s) in enumerate(kinds, -1)]
    launched = full_runs.make_run(experiment)
    full_runs.record(launched, full_runs.a_bit_of_everything())
    return [*runs, launched]


def test_page_of_an_external_run_is_served_for_every_config(
    client: Client, ada: User, of_each_config: list[Run]
) -> None:
    for run in of_each_config:
        check_served(client, addresses_of_run(ada, run))


def test_comparison_of_external_runs_is_served(
    client: Client, experiment: Experiment, of_all_configs: list[Run]
) -> None:
    check_served(client, addresses_of_comparisons(experiment, of_all_configs))


def test_table_of_external_runs_is_served(client: Client, experiment: Experiment, of_all_configs: list[Run]) -> None:
    check_served(client, addresses_of_tables(experiment))


def test_page_of_the_site_with_external_runs_is_served(
    client: Client, ada: User, experiment: Experiment, of_all_configs: list[Run]
) -> None:
    check_served(client, addresses_of_site(experiment, meeting(ada, experiment).tournament))


def test_action_on_an_external_run_is_refused_or_done_for_every_config(ada: User, of_each_config: list[Run]) -> None:
    script, statuses = calls(ada, "admin"), {}
    script.raise_request_exception = False
    for run in of_each_config:
        for path, body in actions(run):
            statuses[path, run.uid] = script.post(f"/api/v1/{path}", body, content_type="application/json").status_code
    assert {request: status for request, status in statuses.items() if status >= 500 or status == 401} == {}


def actions(run: Run) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the address and the body of what a script may request of the run."""
    path = f"runs/{run.uid}"
    yield from ((f"{path}/{name}", {}) for name in ("cancel", "resume", "hold", "release", f"checkpoints/{STEP}"))
    yield f"{path}/move", {"cluster": "local"}
    yield f"{path}/clone", {"config": {"compute": {"cluster": "local"}, "model": {"path": "tiny"}}, "seed": 1}
    yield f"{path}/scorings", {"scorer": "toy"}
    contestants = [{"run": run.uid, "step": step, "split": "eval"} for step in (0, STEP)]
    yield "tournaments", {"name": "x", "criterion": "helpfulness", "contestants": contestants}


def test_background_work_accepts_every_config(of_each_config: list[Run]) -> None:
    for run in of_each_config:
        compaction.compact(run.pk)
    check_all_due(60.0)
    assert not Run.objects.filter(pk__in=[run.pk for run in of_each_config], batches__isnull=False).exists()
    assert all(Run.objects.get(pk=run.pk).flag_check.checked_at for run in of_each_config)


def check_served(client: Client, addresses: Iterable[str]) -> None:
    """Check that every address has a page or is refused, and that most have one."""
    statuses = {}
    for address in dict.fromkeys(addresses):
        response = client.get(address)
        statuses[address] = response.status_code
        checkpoint_files.close(response)
    failed = {address: status for address, status in statuses.items() if status >= 500}
    assert failed == {}
    served = sum(status < 400 for status in statuses.values())
    assert served > len(statuses) / 2, statuses


def addresses_of_run(ada: User, run: Run) -> Iterator[str]:
    """Yield every address of the run, and the pages that are filled from it."""
    rows = {"uid": run.uid, "key": f"esweb-{run.uid}-a1", "n": 1, "step": STEP, "text": "nothing"}
    yield from (address for name, address in routes(rows) if name in NAMES and run.uid in address)
    launch = f"/experiments/{run.experiment_id}/launch/"
    yield from (f"{launch}?{name}={run.uid}" for name in ("clone", "evaluate", "probe"))
    for name in ("reward/mean", "loss", "kl"):
        yield f"/runs/{run.uid}/chart/?{urlencode({'name': name})}"
        yield f"/api/v1/series?{urlencode({'run': run.uid, 'key': name})}"
    yield f"/judging/new/?run={run.uid}"
    yield f"/responses/?run={run.uid}&run={run.uid}@0"
    yield f"/palette/?q={run.uid}"
    yield f"/share/?page=run&run={run.uid}"
    yield f"/shared/{link_text(ada, Scope.RUN, [run.uid], 'day')}/"
    response = Response.objects.filter(run=run).first()
    assert response is not None
    yield f"/prompts/{response.prompt.word}/?run={run.uid}"


def addresses_of_comparisons(experiment: Experiment, runs: list[Run]) -> Iterator[str]:
    """Yield comparisons of the runs, and of all runs of their experiment."""
    named = [("run", run.uid) for run in runs]
    for path in ("/compare/", "/responses/", "/responses/export/", "/judging/new/", "/responses/scatter/"):
        yield f"{path}?{urlencode(named)}"
    yield f"/compare/?experiment={experiment.pk}&show=all&config=everything"
    yield f"/compare/?{urlencode([*named, ('config', 'everything'), ('baseline', runs[0].uid)])}"
    for name in ("settings", "results", "config"):
        yield f"/compare/table/?{urlencode([*named, ('name', name), ('as', 'csv')])}"
    for group in GROUPS:
        yield f"/compare/?{urlencode([*named, ('group', group)])}"
    for name in ("reward/mean", "loss", "kl"):
        yield f"/compare/chart/?{urlencode([*named, ('name', name), ('as', 'csv')])}"
        yield f"/compare/chart/?{urlencode([*named, ('name', name), ('group', 'recipe')])}"
        yield f"/api/v1/series?{urlencode([*named, ('key', name)])}"


def addresses_of_tables(experiment: Experiment) -> Iterator[str]:
    """Yield the table of the experiment with every column, order, filter and group."""
    page = f"/experiments/{experiment.pk}/"
    for columns in (COLUMNS[:13], COLUMNS[13:]):
        yield f"{page}?{urlencode([('col', column) for column in columns])}"
        yield f"{page}table/?{urlencode([*(('col', column) for column in columns), ('as', 'csv')])}"
    yield from (f"{page}?{urlencode({'sort': order})}" for order in SORTS)
    yield from (f"{page}?{urlencode({'group': group})}" for group in GROUPS)
    yield from (f"{page}?{urlencode({'q': query})}" for query in FILTERS)
    yield f"/api/v1/runs?experiment={experiment.pk}"


def addresses_of_site(experiment: Experiment, tournament: Tournament) -> Iterator[str]:
    """Yield the pages of the site, of the experiment and of a tournament."""
    rows = {"n": 1, "step": STEP, "text": "nothing", "uid": "nosuch", "key": "nosuch"}
    for pk, part in ((experiment.pk, "/experiments/"), (tournament.pk, "/judging/"), (tournament.pk, "/tournaments/")):
        yield from (address for name, address in routes({**rows, "pk": pk}) if name in NAMES and part in address)
    yield from (
        "/",
        "/?whose=mine&since=7d",
        "/experiments/",
        "/queue/",
        "/costs/?by=experiment&since=all",
        "/palette/",
    )
    yield from ("/standing/", "/bin/", "/services/", "/api/v1/queue", "/api/v1/costs", "/api/v1/runs", "/judging/")
